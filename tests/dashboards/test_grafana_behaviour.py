"""What Grafana does with a board, as seen in a real one (11.1), held as checks on the boards' JSON.

A board that breaks one of these loads without an error and shows nothing, or something wrong.
"""

from __future__ import annotations

import re

import pytest

from tritonobs import names
from tritonobs.render.grafana import SOURCE, load_boards
from tritonobs.render.rules import evaluate_mixin


def variables_of(board):
    """The board's variables by name."""
    return {variable["name"]: variable for variable in board["templating"]["list"]}


def handed_over(address):
    """The variables in a link, each with the variable whose value it hands over."""
    pairs = dict(re.findall(r"var-(\w+)=\$\{(\w+)\}", address))
    return pairs | {name: name for name in re.findall(r"\$\{(\w+):queryparam\}", address)}


def empties(boards, name, address):
    """What a link from this board hands over that the other board cannot use."""
    uid = re.match(r"/d/([\w-]+)\?", address)[1]
    here = variables_of(boards[name])
    there = variables_of(next(board for board in boards.values() if board["uid"] == uid))
    found = []
    for target, source in handed_over(address).items():
        if target not in there or source not in here:
            found.append(f"{target} from {source}: no such variable")
        elif target != "datasource" and here[source]["includeAll"] and not there[target]["includeAll"]:
            found.append(f"{target} from {source}: All into a choice of one")
    return found


def test_links_between_boards_hand_over_what_the_other_board_understands(boards):
    """`All` in a choice of one model leaves 18 of 21 panels without data."""
    links = [(name, link["url"]) for name, board in boards.items() for link in board["links"]]
    assert len(links) == len(names.BOARDS) * (len(names.BOARDS) - 1)
    assert {url: empties(boards, name, url) for name, url in links if empties(boards, name, url)} == {}


def test_the_check_of_links_sees_all_handed_to_one(boards):
    """The link of release 0.5.0: every variable by its name."""
    assert empties(boards, "fleet", "/d/tritonobs-model?${cluster:queryparam}&${model:queryparam}") == [
        "model from model: All into a choice of one"
    ]


def test_a_model_survives_boards_that_are_about_none(boards):
    """Model, Hosts, Model: the same model, version and stage."""
    to_hosts = next(link["url"] for link in boards["model"]["links"] if "tritonobs-hosts" in link["url"])
    back = next(link["url"] for link in boards["hosts"]["links"] if "tritonobs-model" in link["url"])
    assert handed_over(to_hosts)["focus"] == "model"
    assert handed_over(back)["model"] == "focus"
    for name in ("version", "stage", "slo"):
        assert name in handed_over(to_hosts)
        assert name in handed_over(back)


def alert_links():
    """The board that each alert links to, as its template says it."""
    rules = evaluate_mixin({"grafanaUrl": "https://grafana"})
    rules = [rule for file in rules.values() for group in file["groups"] for rule in group["rules"]]
    return {rule["alert"]: rule["annotations"]["dashboard_url"] for rule in rules if "alert" in rule}


def test_a_link_of_an_alert_never_chooses_an_empty_label():
    """`var-version=` shows nothing; without the label the link says All."""
    for alert, link in alert_links().items():
        for name in re.findall(r"var-(\w+)=", link):
            value = "{{ with $labels.NAME }}{{ . | urlquery }}{{ else }}$__all{{ end }}"
            assert f"var-{name}={value.replace('NAME', name)}" in link, alert


def test_an_alert_about_the_fleet_links_to_the_fleet():
    """A board about one model has nothing to show for it."""
    link = alert_links()["TritonQpsAboveLimit"]
    assert link.startswith("{{ if $labels.model }}https://grafana/d/tritonobs-model?")
    assert "{{ else }}https://grafana/d/tritonobs-fleet?var-cluster=" in link


def test_built_boards_name_their_data_source():
    """The first Prometheus by name may be another one."""
    for board in load_boards({"source": SOURCE}).values():
        assert "datasource" not in variables_of(board)
        assert "${datasource" not in str(board)
        assert {panel["datasource"]["uid"] for panel in board["panels"] if "datasource" in panel} == {SOURCE}


def test_boards_for_mixin_users_let_them_choose(boards):
    """Nobody else has our uid."""
    for board in boards.values():
        assert "datasource" in variables_of(board)
        assert SOURCE not in str(board)


def words_lost(panel):
    """Whether Grafana forgets what the values of this timeline are called."""
    defaults = panel["fieldConfig"]["defaults"]
    merged = panel["options"].get("mergeValues") and defaults["color"]["mode"] == "thresholds"
    return bool(defaults.get("mappings")) and merged


def test_states_keep_their_words_and_colours(panels):
    """Merged values with colours by threshold become "-∞+" in one colour."""
    timelines = [(board, panel) for board, panel in panels if panel["type"] == "state-timeline"]
    assert timelines
    assert [panel["title"] for _, panel in timelines if words_lost(panel)] == []


def test_the_check_of_states_sees_colours_by_threshold():
    """The timeline of release 0.5.0."""
    defaults = {"color": {"mode": "thresholds"}, "mappings": [{"type": "value"}]}
    assert words_lost({"fieldConfig": {"defaults": defaults}, "options": {"mergeValues": True}})


@pytest.mark.parametrize("board", names.BOARDS)
def test_marks_are_lines_and_few(boards, board):
    """A mark with values at two moments in a row is a band: ten alerts paint every graph red."""
    for mark in boards[board]["annotations"]["list"]:
        assert set(re.findall(r"\boffset (\d+m)", mark["expr"])) == {mark["step"]}, mark["name"]
        assert "warning" not in mark["expr"] or not mark["enable"]
