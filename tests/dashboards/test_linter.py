"""The seventeen rules of Grafana's dashboard-linter (0.2), as far as they concern boards of Prometheus.

Excluded are four, with the reasons that `dashboards/generated/.lint` gives to the linter itself.
"""

from __future__ import annotations

import re

import pytest
import yaml

from tritonobs import assets

# The linter's own list is longer; these are the units our boards may use, all of them on it.
UNITS = {
    "none",
    "string",
    "short",
    "s",
    "reqps",
    "reqpm",
    "eps",
    "epm",
    "mpm",
    "opm",
    "percentunit",
    "bytes",
    "watt",
    "celsius",
}
UNITS |= {"dthms", "dtdhms", "hertz", "Bps"}
RATES = re.compile(r"\b(?:rate|irate)\(\s*[\w:]+(?:\{[^}]*\})?\[([^\]]+)\]")
COUNTERS = re.compile(r"(?<![:\w])(\w+_total)\b(?!:)(?:\{[^}]*\})?(\[)?")


def variables(board):
    """Variables that are asked of Prometheus."""
    return [one for one in board["templating"]["list"] if one["type"] == "query"]


def test_template_datasource_rule(boards):
    """One templated data source, named and labelled as the linter wants."""
    for board in boards.values():
        (source,) = [one for one in board["templating"]["list"] if one["type"] == "datasource"]
        assert (source["name"], source["label"], source["query"]) == (
            "datasource",
            "Data source",
            "prometheus",
        )


def test_template_label_promql_rule(boards):
    """Variables ask with functions that Prometheus' data source knows."""
    for board in boards.values():
        for one in variables(board):
            assert re.match(r"(label_values|query_result)\(.+\)$", one["query"], re.DOTALL)


def test_template_on_time_change_reload_rule(boards):
    """Choices follow the time range."""
    for board in boards.values():
        assert {one["refresh"] for one in variables(board)} <= {2}


def test_panel_datasource_rule(boards, panels):
    """Every panel, query, variable and annotation uses the data source that was chosen."""
    chosen = {"type": "prometheus", "uid": "${datasource}"}
    for _, panel in panels:
        assert panel["datasource"] == chosen
        assert [target["datasource"] for target in panel["targets"]] == [chosen] * len(panel["targets"])
    for board in boards.values():
        for one in (*variables(board), *board["annotations"]["list"]):
            assert one["datasource"] == chosen


def test_panel_title_description_rule(panels):
    """No panel without either."""
    assert [panel for _, panel in panels if not panel["title"] or not panel["description"]] == []


def test_panel_units_rule(panels):
    """A unit on every panel and every column."""
    for board, panel in panels:
        columns = [
            one["value"]
            for override in panel["fieldConfig"]["overrides"]
            for one in override["properties"]
            if one["id"] == "unit"
        ]
        units = {panel["fieldConfig"]["defaults"]["unit"], *columns}
        assert units <= UNITS, (board, panel["title"])


def test_panel_no_targets_rule(panels):
    """Every panel asks something, each query under a letter of its own."""
    for board, panel in panels:
        letters = [target["refId"] for target in panel["targets"]]
        assert letters, (board, panel["title"])
        assert len(letters) == len(set(letters))


def test_target_logql_rules(boards):
    """No query goes to Loki, so both rules about LogQL have nothing to say."""
    assert {one["query"] for board in boards.values() for one in board["templating"]["list"][:1]} == {
        "prometheus"
    }


def test_target_rate_interval_rule(queries):
    """`rate` looks back over `$__rate_interval`, which always holds four scrapes."""
    wrong = {
        (query.board, query.place, window)
        for query in queries
        for window in RATES.findall(query.expr)
        if window != "$__rate_interval"
    }

    assert wrong == set()


def test_target_counter_agg_rule(queries):
    """A counter is never drawn as it is."""
    wrong = {
        (query.board, query.place, name)
        for query in queries
        for name, bracket in COUNTERS.findall(query.expr)
        if not bracket
    }

    assert wrong == set()


def test_uneditable_dashboard(boards):
    """Boards are changed where they are made."""
    assert {board["editable"] for board in boards.values()} == {False}


@pytest.mark.parametrize(
    "sort", ["graph", "singlestat", "table-old", "heatmap-old", "text", "grafana-piechart-panel"]
)
def test_no_panel_is_of_a_removed_sort(panels, sort):
    """Nothing of Angular's, which Grafana 12 no longer draws."""
    assert [panel["title"] for _, panel in panels if panel["type"] == sort] == []


def test_every_exclusion_has_a_reason():
    """The four rules about `job` and `instance` are excluded, in writing."""
    lint = yaml.safe_load((assets.folder("dashboards") / "generated" / ".lint").read_text())

    assert set(lint["exclusions"]) == {
        "template-job-rule",
        "template-instance-rule",
        "target-job-rule",
        "target-instance-rule",
    }
    assert all(len(one["reason"]) > 40 for one in lint["exclusions"].values())
