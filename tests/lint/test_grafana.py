"""Folders of Grafana: boards, panels of the library, and alert rules that Grafana evaluates itself."""

import json
from pathlib import Path

import pytest
import yaml

from support.linting import command, ids, linted, panel

MEAN = (
    "sum by (model) (rate(nv_inference_request_duration_us[5m]))"
    " / sum by (model) (rate(nv_inference_request_success[5m]))"
)
FLOW = "sum by (model) (rate(nv_inference_request_success[5m]))"
REDUCED = {"refId": "B", "datasourceUid": "__expr__", "model": {"type": "reduce", "expression": "A"}}


def _threshold(of, kind="gt", number=80):
    conditions = [{"evaluator": {"type": kind, "params": [number]}}]
    return {"type": "threshold", "expression": of, "conditions": conditions}


def _classic(kind="gt", number=80):
    held = {"evaluator": {"type": kind, "params": [number]}, "query": {"params": ["A"]}}
    return {"type": "classic_conditions", "conditions": [held]}


def _rule(expr, condition, title="Triton case", *between, **more):
    data = [
        {"refId": "A", "datasourceUid": "prometheus", "model": {"expr": expr, "refId": "A"}},
        *between,
        {"refId": "C", "datasourceUid": "__expr__", "model": condition},
    ]
    return {"title": title, "condition": "C", "data": data, **more}


def _file(*rules):
    group = {"name": "triton", "folder": "serving", "interval": "60s", "rules": list(rules)}
    return yaml.safe_dump({"apiVersion": 1, "groups": [group]}, allow_unicode=True), "alerts.yaml"


@pytest.mark.parametrize(
    "rule",
    [
        _rule("nv_gpu_utilization", _threshold("A")),
        _rule("nv_gpu_utilization", _threshold("B"), "Triton case", REDUCED),
        _rule("nv_gpu_utilization", _classic()),
        _rule("nv_gpu_utilization", {"type": "math", "expression": "$A > 80"}),
        _rule("nv_gpu_utilization", {"type": "math", "expression": "${B} >= 80"}, "Triton case", REDUCED),
        _rule("nv_gpu_utilization  # a remark", _threshold("A")),
    ],
    ids=["threshold", "reduced", "classic", "math", "math of what is reduced", "behind a remark"],
)
def test_a_condition_beside_the_query_is_its_comparison(rule):
    """`> 80` of a ratio never fires, however Grafana writes it."""
    assert ids(*_file(rule)) == {"ratio-and-percent"}


@pytest.mark.parametrize(
    "rule",
    [
        _rule("nv_gpu_utilization", _threshold("A", number=0.8)),
        # Two ends are not one comparison.
        _rule("nv_gpu_utilization", _threshold("A", "outside_range")),
        _rule("nv_gpu_utilization", {"type": "math", "expression": "$A * 100 > 80"}),
        _rule("up", _threshold("A")),
        _rule("nv_gpu_utilization", _threshold("nothing")),
    ],
    ids=["right", "a range", "more than a comparison", "of something else", "of no query"],
)
def test_a_condition_that_is_right_or_not_so_plain_is_left_alone(rule):
    """No guess."""
    assert ids(*_file(rule)) == set()


def test_the_title_is_the_text_of_the_alert():
    """A threshold of 500 that the title calls milliseconds."""
    assert ids(*_file(_rule(MEAN, _threshold("A", number=500), "Latency above 500 ms"))) == {"threshold-unit"}
    assert ids(*_file(_rule(MEAN, _threshold("A", number=500_000), "Latency above 500 ms"))) == set()


def test_silence_is_an_alert_of_grafanas_own():
    """Unless the rule says that it is OK."""
    low = _threshold("A", "lt", 1)

    assert ids(*_file(_rule(FLOW, low))) == set()
    assert ids(*_file(_rule(FLOW, low, noDataState="Alerting"))) == set()
    assert ids(*_file(_rule(FLOW, low, noDataState="OK"))) == {"silent-when-gone"}


def test_the_number_of_a_condition_is_mended_where_it_stands(tmp_path):
    """Beside the query, and a second run finds nothing."""
    path = tmp_path / "alerts.yaml"
    path.write_text(_file(_rule("nv_gpu_utilization", _threshold("A")))[0])

    assert command("--fix", str(path))[0] == 0
    assert "- 0.8\n" in path.read_text()
    assert command(str(path))[0] == 0


def test_panels_of_the_library_are_read_with_an_export():
    """They stand beside the panels that use them."""
    board = json.loads(panel("nv_gpu_utilization", "percentunit")[0])
    (own,) = json.loads(panel("nv_gpu_utilization > 80")[0])["panels"]
    board["__elements"] = {"abc": {"name": "GPU", "uid": "abc", "kind": 1, "model": own}}

    assert ids(json.dumps(board), "board.json") == {"ratio-and-percent"}


def test_every_file_of_a_folder_of_grafana_is_read(tmp_path):
    """Half a board is a finding there; in any other folder it is a file of something else."""
    folder = tmp_path / "grafana"
    (folder / "dashboards").mkdir(parents=True)
    (folder / "dashboards" / "triton.json").write_text(panel("nv_gpu_utilization > 80")[0])
    (folder / "dashboards" / "half.json").write_text('{"panels": [')

    code, stdout, stderr = command("--grafana", str(folder))
    other = command(str(folder))[1]

    assert code == 1
    assert [line.split(": ")[1] for line in stdout.splitlines()] == ["unreadable", "ratio-and-percent"]
    assert stderr.startswith("2 files, 1 expression: 2 findings")
    assert [line.split(": ")[1] for line in other.splitlines()] == ["ratio-and-percent"]


def test_a_folder_of_grafana_needs_no_other_path(tmp_path):
    """And one that is not there is wrong usage, as nothing at all is."""
    assert command("--grafana", str(tmp_path)) == (0, "0 files, 0 expressions: nothing found\n", "")
    assert command("--grafana", str(tmp_path / "none"))[0] == 2
    assert command("--grafana", str(tmp_path), "-")[0] == 2
    assert command()[0] == 2


def test_our_own_boards_are_right_as_a_folder_of_grafana():
    """Nothing is found in them."""
    boards = Path(__file__).parent.parent.parent / "dashboards" / "generated"

    assert command("--grafana", str(boards))[:1] == (0,)


def test_a_hostile_rule_is_no_traceback():
    """Fields of any type where texts and lists are expected."""
    for broken in (None, 7, [], {}, [None], "x"):
        rule = _rule("nv_gpu_utilization", _threshold("A"))
        rule["data"][1]["model"] = {"type": "threshold", "expression": broken, "conditions": broken}
        rule["annotations"] = broken
        assert linted(json.dumps({"groups": [{"rules": [rule]}]}), "a.json").files == 1
