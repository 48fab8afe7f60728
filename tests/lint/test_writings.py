"""Expressions as others write them: factors, hidden queries, dialects, adapters, records of records."""

import json

import pytest
import yaml

from support.linting import alert, fixed, ids, keda, linted, panel, query
from tritonobs.extensions.lint.linter import Options, lint_files

SUCCESS = "sum by (model) (rate(nv_inference_request_success[5m]))"
FAILURE = "sum by (model) (rate(nv_inference_request_failure[5m]))"
DURATION = "sum by (model) (rate(nv_inference_request_duration_us[5m]))"
MEAN = f"{DURATION} / {SUCCESS}"
SHARE = f"{FAILURE} / ({SUCCESS} + {FAILURE})"
FLOW = "rate(nv_inference_request_success[5m])"
BLOCKS = 'nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="%s"}'


def _said(text, file="rules.yml"):
    """The ids of errors and warnings."""
    return {one.id for one in linted(text, file).problems if one.finding.severity.name != "INFO"}


def _group(rules, **more):
    return yaml.safe_dump({"groups": [{"name": "g", "rules": rules, **more}]}), "rules.yml"


def _panel(title="A panel", unit="ms", **more):
    return {"title": title, "fieldConfig": {"defaults": {"unit": unit}}, **more}


def _board(*panels):
    return json.dumps({"title": "board", "schemaVersion": 39, "panels": list(panels)}, indent=1), "board.json"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (panel(f"1 - {SHARE} / (1 - 0.99)", "percentunit"), set()),
        (panel(f"1 - {SHARE} / 0.001", "percentunit"), set()),
        (panel("sum(nv_gpu_power_usage) * 1.4", "watt"), set()),
        (panel("nv_gpu_utilization / 0.8", "percentunit"), set()),
        (panel("nv_gpu_memory_used_bytes / 2", "bytes"), set()),
        (panel(f"3 * {MEAN}", "µs"), set()),
        (panel(f"{SHARE} * 100", "percentunit"), {"wrong-unit"}),
        (panel(f"{MEAN} / (1000 * 1000)", "ms"), {"wrong-unit"}),
        (panel("nv_gpu_memory_used_bytes / 1024 / 1024", "bytes"), {"wrong-unit"}),
    ],
)
def test_only_the_step_between_two_units_changes_the_unit(text, said):
    """A budget, a margin or a mean of two is shown in what it was."""
    assert _said(*text) == said


def test_a_board_of_an_error_budget_is_not_touched(tmp_path):
    """`--fix` once wrote percent there, so that 40 % became 0.4 %."""
    expr = f"1 - {SHARE} / (1 - 0.99)"
    assert fixed(tmp_path, *panel(expr, "percentunit")) == (set(), expr, "percentunit")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (alert(f"100 * {SHARE} > 0.5", summary="more than 0.5 % of the requests fail"), set()),
        (alert("nv_gpu_utilization * 100 < 0.5"), set()),
        (alert(f"{SHARE} / (1 - 0.99) > 0.9"), set()),
        (alert("nv_gpu_utilization * 100 > 0.8"), {"ratio-and-percent"}),
        (keda("avg(DCGM_FI_DEV_GPU_UTIL)", threshold="0.8", ignoreNullValues="false"), {"ratio-and-percent"}),
        (keda("avg(DCGM_FI_DEV_GPU_UTIL)", threshold="80", ignoreNullValues="false"), set()),
    ],
)
def test_a_percentage_of_failures_may_be_below_one(text, said):
    """A utilisation in percent that is compared with 0.8 is not meant so."""
    assert _said(*text) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (panel(f"sum by ($by) ({SUCCESS})", legend="{{model}}"), set()),
        (panel("sum by (${group:csv}) (rate(nv_inference_count[5m]))", legend="{{model}}"), set()),
        (
            panel(
                "sum by (version, [[by]]) (rate(nv_inference_request_duration_us[5m]))"
                " / sum by (version, [[by]]) (rate(nv_inference_request_success[5m]))",
                "µs",
            ),
            set(),
        ),
        (panel(f"{SUCCESS} / on ($by) {SUCCESS}", legend="{{model}}"), set()),
        (panel(f"sum by (version) ({SUCCESS})", legend="{{model}}"), {"lost-label"}),
    ],
)
def test_a_label_that_a_variable_chooses_may_be_any(text, said):
    """What is grouped by is not known before somebody looks at the board."""
    assert _said(*text) == said


def _hidden(*, hide):
    shown = {"refId": "C", "datasource": {"uid": "__expr__"}, "type": "math", "expression": "$A / 1000"}
    return _board(_panel(targets=[{"refId": "A", "expr": MEAN, "hide": hide}, shown]))


def test_a_hidden_query_is_not_what_the_panel_shows():
    """What the server makes of it may have another unit."""
    assert _said(*_hidden(hide=True)) == set()
    assert _said(*_hidden(hide=False)) == {"wrong-unit"}


def test_a_quotient_that_a_transformation_makes():
    """The rate of a duration is then not what is shown; it is with any other transformation."""
    targets = [{"refId": "A", "expr": DURATION}, {"refId": "B", "expr": SUCCESS}]
    for name, said in (("calculateField", set()), ("organize", {"time-per-second"})):
        made = _panel("Latency", "µs", targets=targets, transformations=[{"id": name}])
        assert _said(*_board(made)) == said


def test_a_counter_that_a_stat_panel_takes_the_rise_of():
    """Grafana's `delta` is such a rise; its last value is not."""
    for calculation, said in (("delta", set()), ("lastNotNull", {"raw-counter"})):
        options = {"reduceOptions": {"calcs": [calculation]}}
        held = _panel(unit="short", targets=[{"expr": "nv_inference_request_success"}], options=options)
        assert _said(*_board(held)) == said


METRICSQL = [
    "rate(nv_inference_request_success) > 5",
    "sum(rate(nv_inference_request_failure[5m])) default 0 > 5",
    "increase_pure(nv_inference_request_failure[5m]) > 5",
    "WITH (x = nv_inference_request_success) rate(x[5m]) > 5",
]


@pytest.mark.parametrize("expr", METRICSQL)
def test_the_dialect_of_vmalert_is_not_judged(expr):
    """Where an object or a group says that it is vmalert's; elsewhere Prometheus would refuse it."""
    rule = {"alert": "TritonCase", "expr": expr}
    spec = {"groups": [{"name": "g", "rules": [rule]}]}
    assert ids(yaml.safe_dump({"kind": "VMRule", "spec": spec}), "rule.yaml") == set()
    assert ids(*_group([rule], concurrency=2)) == set()
    assert ids(*_group([rule])) == {"unparsed"}


def test_what_of_the_dialect_is_promql_is_judged():
    """A VMRule is read as other rules are."""
    rule = {"alert": "TritonCase", "expr": "nv_gpu_utilization > 80"}
    spec = {"groups": [{"name": "g", "rules": [rule]}]}
    assert ids(yaml.safe_dump({"kind": "VMRule", "spec": spec}), "rule.yaml") == {"ratio-and-percent"}


@pytest.mark.parametrize("kind", ["graphite", "vlogs"])
def test_groups_of_other_languages_are_left_out(kind):
    """Only Prometheus' is read."""
    rule = {"alert": "TritonCase", "expr": "sumSeries(nv_gpu_utilization.*) > 80"}
    assert ids(*_group([rule], type=kind)) == set()
    assert ids(*_group([rule], type="prometheus")) == set()
    assert ids(*_group([{**rule, "expr": "nv_gpu_utilization > 80"}], type="prometheus")) == {
        "ratio-and-percent"
    }


@pytest.mark.parametrize(
    "metrics_query",
    [
        'sum(<<.Series>>{<<.LabelMatchers>>,container="triton"}) by (<<.GroupBy>>)',
        'sum(<<.Series>>{<<.LabelMatchers>>, model!=""}) by (<<.GroupBy>>, pod)',
        'sum(<<.Series>>{namespace="<< index .LabelValuesByName "namespace" >>"}) by (<<.GroupBy>>)',
        "sum(<< .Series >>{<< .LabelMatchers >>}) by (<< .GroupBy >>)",
    ],
)
def test_every_form_of_an_adapters_query_is_read(metrics_query):
    """The placeholders become what the adapter writes there; a counter is still found."""
    for series, said in (
        ("nv_inference_pending_request_count", set()),
        ("nv_inference_request_success", {"raw-counter"}),
    ):
        rule = {"seriesQuery": f'{series}{{namespace!=""}}', "metricsQuery": metrics_query}
        assert _said(yaml.safe_dump({"rules": [rule]}), "adapter.yaml") == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (alert(f"{MEAN} > 500000 and {DURATION} > 0"), set()),
        (alert(f"{DURATION} / 1e6 > 20", summary="more than 20 requests are processed at once"), set()),
        (alert(f"{DURATION} / 1e6 > 20", summary="the latency is above 20 s"), {"time-per-second"}),
    ],
)
def test_a_guard_and_a_number_in_work_are_no_times(text, said):
    """Seconds a second are how many requests are in work (Little's law)."""
    assert _said(*text) == said


@pytest.mark.parametrize(
    ("words", "expr", "said"),
    [
        ("mean wait above 30 ms for 30s", f"{MEAN} / 1000 > 30", set()),
        ("above 500 ms for 300 s", f"{MEAN} / 1000 > 500", set()),
        ("above 2 s in the last 300 s", f"{MEAN} / 1e6 > 2", set()),
        ("above 500 ms", f"{MEAN} / 1000 > 0.5", {"threshold-unit"}),
        ("above 0.5 s", f"{MEAN} / 1000 > 0.5", {"threshold-unit"}),
        ("above 0.5 s", f"{MEAN} / 1e6 > 500", {"threshold-unit"}),
        ("takes {{ $value | humanizeDuration }}", f"{MEAN} > 500000", {"threshold-unit"}),
        ("takes {{ $value | humanizeDuration }}", f"{MEAN} / 1e6 > 0.5", set()),
        ("takes {{ $values.B.Value }}ms", f"{MEAN} > 500000", {"threshold-unit"}),
        ("{{ $value | humanizePercentage }} fail", f"100 * {SHARE} > 5", {"threshold-unit"}),
        ("{{ $value }}% fail", f"100 * {SHARE} > 5", set()),
    ],
)
def test_a_text_says_the_threshold_in_its_own_unit(words, expr, said):
    """One quantity that agrees is the threshold; how long something lasts is none."""
    assert _said(*alert(expr, summary=words)) == said


@pytest.mark.parametrize("name", ["triton:generated_tokens:total", "corporate:requests:sum"])
def test_a_word_within_a_word_says_nothing(name):
    """`generated` has `rate` in it."""
    rule = {"record": name, "expr": "sum by (model) (nv_inference_request_success)"}
    assert _said(*_group([rule])) == set()
    assert _said(*_group([{**rule, "record": "model:request_rate:sum"}])) == {"raw-counter"}


@pytest.mark.parametrize(
    "expr",
    [
        f"{BLOCKS % 'used'} / {BLOCKS % 'max'} > 0.9",
        'nv_inference_request_summary_us{quantile="0.99"} / nv_inference_request_summary_us{quantile="0.5"}',
        f"sum by (model, version) {DURATION.removeprefix('sum by (model) ')} / {FLOW}",
        f"{FLOW} / {SUCCESS}",
    ],
)
def test_sides_that_never_match(expr):
    """Another value of a label on each side, and a sum beside what has every label of a scrape."""
    assert _said(*query(expr)) == {"unmatched-join"}


@pytest.mark.parametrize(
    "expr",
    [
        f"{BLOCKS % 'used'} / ignoring (kv_cache_block_type) {BLOCKS % 'max'} > 0.9",
        f"sum by (model) ({BLOCKS % 'used'}) / sum by (model) ({BLOCKS % 'max'}) > 0.9",
        (
            f"sum without (kv_cache_block_type) ({BLOCKS % 'used'})"
            f" / ignoring (kv_cache_block_type) {BLOCKS % 'max'}"
        ),
        f"sum by (model, version, instance, job) {DURATION.removeprefix('sum by (model) ')} / {FLOW}",
    ],
)
def test_sides_that_match(expr):
    """A label that is left out of the comparison, or that is gone."""
    assert "unmatched-join" not in _said(*query(expr))


def test_grafanas_own_labels_are_there():
    """Its alerts have a name and a folder; in a Prometheus the name is not among the labels."""
    words = "{{ $labels.alertname }} in {{ $labels.grafana_folder }} of {{ $labels.cluster }}"
    data = [
        {"refId": "A", "datasourceUid": "p", "model": {"expr": SUCCESS}},
        {
            "refId": "C",
            "datasourceUid": "__expr__",
            "model": {"type": "math", "expression": "$A > 8"},
        },
    ]
    rule = {"title": "Triton", "condition": "C", "data": data, "annotations": {"summary": words}}
    found = linted(yaml.safe_dump({"groups": [{"rules": [rule]}]}), "alerts.yaml").problems
    assert [one.finding.message for one in found] == [
        "Triton: the text names cluster, which the result does not have"
    ]
    hints = {one.finding.hint for one in linted(*alert(f"{SUCCESS} > 8", summary=words)).problems}
    assert "write the alert's name itself" in hints


def test_another_languages_query_in_grafanas_alert_is_left_out():
    """A data source of logs says so within its query."""
    model = {"expr": '{app="triton"} |= "nv_inference_request_failure"', "datasource": {"type": "loki"}}
    rule = {
        "title": "Triton",
        "condition": "A",
        "data": [{"refId": "A", "datasourceUid": "l", "model": model}],
    }
    assert ids(yaml.safe_dump({"groups": [{"rules": [rule]}]}), "alerts.yaml") == set()


def test_a_board_in_one_line_of_a_config_map_is_read():
    """As `kubectl create configmap` and minifiers write it."""
    board = json.dumps(json.loads(panel(MEAN, "ms")[0]))
    text = yaml.safe_dump({"kind": "ConfigMap", "data": {"b.json": board}}, width=100_000)
    assert ids(text, "map.yaml") == {"wrong-unit"}


def test_a_panel_of_the_library_is_read():
    """As Grafana's API gives it, alone or in an answer."""
    held = {"name": "latency", "kind": 1, "model": _panel(targets=[{"expr": MEAN}])}
    assert ids(json.dumps(held, indent=1), "panel.json") == {"wrong-unit"}
    assert ids(json.dumps({"result": held}), "panel.json") == {"wrong-unit"}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("indent", ["", "   "])
def test_markdown_with_other_ends_of_lines_and_in_lists(tmp_path, end, indent):
    """Each finding has its place in the file, and is mended there."""
    lines = [
        "1. Look:" if indent else "Look:",
        "",
        "```promql",
        "# a remark",
        "nv_gpu_utilization",
        "> 80",
        "```",
    ]
    page = tmp_path / "page.md"
    page.write_bytes(end.join([lines[0], *(indent + one for one in lines[1:])]).encode())
    (problem,) = lint_files([(page, True)], Options()).problems
    assert (problem.id, problem.finding.place.line) == ("ratio-and-percent", 6)
    assert problem.finding.place.column == len(indent) + 3
    (change,) = problem.changes
    assert (change.was, change.text) == ("80", "0.8")


def test_broken_text_has_its_line(tmp_path):
    """The number of a byte alone is of no use in an editor."""
    (tmp_path / "rules.yml").write_bytes(b"# nv_gpu\n\ngroups: \xff\n")
    (problem,) = lint_files([(tmp_path / "rules.yml", True)], Options()).problems
    assert problem.finding.place.line == 3


RECORDS = {
    "gauge": ("sum by (model) (nv_inference_pending_request_count)", "rate(RECORD[5m]) > 1", "rate-of-gauge"),
    "sum": ("sum by (model) (nv_inference_request_failure)", "rate(RECORD[5m]) > 1", "rate-of-sum"),
    "mean": (MEAN, "avg by (instance) (RECORD) > 500000", "average-of-averages"),
    "flow": (DURATION, "RECORD > 500000", "time-per-second"),
    "model": (SUCCESS, "nv_inference_pending_request_count / RECORD > 5", "unmatched-join"),
    "percent": (f"100 * {SHARE}", "RECORD > 5", "threshold-unit"),
}


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("case", RECORDS)
def test_records_are_followed(case, steps):
    """What is wrong with a series is wrong with a record of it, and of that."""
    expr, asked, said = RECORDS[case]
    names = ["model:one:case", "model:two:case"][:steps]
    rules = [{"record": name, "expr": held} for name, held in zip(names, [expr, *names], strict=False)]
    told = {
        "alert": "Case",
        "expr": asked.replace("RECORD", names[-1]),
        "annotations": {"summary": "{{ $value | humanizePercentage }}"},
    }
    assert said in _said(*_group([*rules, told]))
    assert said not in _said(*_group([told]))


def test_a_file_that_names_records_alone_is_read(tmp_path):
    """It need not have a word of Triton, and stands before or behind that of the records."""
    rules = _group([{"record": "model:mean:us", "expr": MEAN}])[0]
    board = json.loads(panel("model:mean:us", "ms")[0])
    for name in ("a.json", "z.json"):
        (tmp_path / name).write_text(json.dumps(board))
    (tmp_path / "rules.yml").write_text(rules)
    files = [(one, False) for one in sorted(tmp_path.iterdir())]
    found = lint_files(files, Options()).problems
    assert [(one.id, one.finding.place.file) for one in found] == [
        ("wrong-unit", str(tmp_path / name)) for name in ("a.json", "z.json")
    ]


def test_a_record_that_is_two_things_is_not_followed():
    """Nobody knows which; a circle has no beginning."""
    twice = [{"record": "model:x:case", "expr": one} for one in (MEAN, SHARE)]
    asked = {"alert": "Case", "expr": "avg(model:x:case) > 5"}
    assert _said(*_group([*twice, asked])) == set()
    circle = [{"record": f"a:{one}", "expr": f"a:{other} + a:{other}"} for one, other in ("xy", "yx")]
    assert _said(*_group([*circle, {"alert": "Case", "expr": "rate(a:x[5m]) > 1"}])) == set()
