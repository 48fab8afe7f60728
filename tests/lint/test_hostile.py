"""Files that try to hang, to get out, or to be run: each is a line or nothing, in little time."""

import json
import os
import time
from pathlib import Path

import pytest
import yaml

from support.linting import alert, ids, keda, linted
from tritonobs.errors import FileUnusable
from tritonobs.extensions.lint import linter
from tritonobs.extensions.lint.configuration import files_of
from tritonobs.extensions.lint.linter import Options, fix, lint_files
from tritonobs.extensions.lint.located import Source
from tritonobs.extensions.lint.mixins import Value
from tritonobs.render.jsonnet import Evaluated

WRONG = "groups: [{name: g, rules: [{alert: A, expr: 'nv_gpu_utilization > 80'}]}]\n"
RIGHT = WRONG.replace("80", "0.8")
LONG = 40_000


def _variable(query):
    held = {"type": "query", "name": "v", "query": query}
    return json.dumps({"title": "b", "schemaVersion": 39, "templating": {"list": [held]}, "panels": []})


def _panel(expr):
    return json.dumps({"title": "b", "panels": [{"title": "p", "targets": [{"expr": expr}]}]})


def _routes(pattern, name):
    rules = {"groups": [{"rules": [{"alert": name, "expr": "up == 0"}]}]}
    route = {"route": {"receiver": "a", "match_re": {"alertname": pattern}}}
    return "---\n".join(map(yaml.safe_dump, (rules, route)))


ENDLESS = {
    "spaces in a variable's query": (_variable("label_values(" + "a " * LONG + ", b c)"), "b.json"),
    "commas in a variable's query": (_variable("label_values(" + "a," * LONG + "!)"), "b.json"),
    "brackets in a variable's query": (_variable("query_result(" + ")" * LONG + " " * LONG + "!"), "b.json"),
    "many variables": (_panel("nv_gpu_utilization + " + "$a + " * 9_000 + "1"), "b.json"),
    "variables without an end": (_panel("nv_gpu_utilization + " + "${a + " * 7_000), "b.json"),
    "a text of empty lines": (json.dumps({"triton": "\n" * 10**6 + "x"}), "r.json"),
    "many texts of empty lines": (json.dumps({"triton": ["\n" * 4_000 + "x"] * 500}), "r.json"),
    "placeholders without an end": (
        json.dumps({"rules": [{"seriesQuery": "nv_a", "metricsQuery": "<<.a" * LONG}]}),
        "r.yml",
    ),
    "a pattern of a route": (_routes("Triton(a+)+x", "Triton" + "a" * 60), "r.yml"),
    "another pattern of a route": (_routes("Triton" + "a*" * 40 + "x", "Triton" + "a" * 60), "r.yml"),
    "a pattern that no engine takes": (_routes("Triton" + "(" * 20_000, "Triton"), "r.yml"),
    "a pattern of a label": (alert('nv_gpu_utilization{gpu_uuid=~"(a{9}){9}"} > 0.8')[0], "r.yml"),
    "a long expression": (_panel("nv_gpu_utilization " + "+ 1 " * 10**6), "r.json"),
    "a long file of queries": ("nv_gpu_utilization " * 10**5, "q.promql"),
    "a comment that looks like one of ours": (WRONG + "# tritonobs: " * LONG, "r.yml"),
}


@pytest.mark.parametrize(("text", "file"), ENDLESS.values(), ids=ENDLESS)
def test_no_text_takes_long(text, file):
    """Of this process' own time, because others may be busy."""
    began = time.process_time()

    linted(text, file)

    assert time.process_time() - began < 4


def test_a_long_expression_is_named():
    """As one that is not parsed."""
    (problem,) = linted(*alert("nv_gpu_utilization " + "+ 1 " * 20_000)).problems

    assert (problem.id, "has more than 50,000 characters" in problem.finding.message) == ("unparsed", True)


@pytest.mark.parametrize("open_end", ["x|||\n", "/*", "'", '"', "@'", "//"])
def test_jsonnet_without_an_end_is_read_once(open_end):
    """What is imported as a text need not be jsonnet."""
    text = open_end * 200_000
    value = Value(
        source=Source("a.jsonnet", ""),
        named=True,
        outcome=Evaluated(text="{}", read=("a.jsonnet",)),
        origins=(Source("b.txt", text),),
    )
    (expression,) = _found("nv_gpu_utilization > 80")
    began = time.process_time()

    placed = value.placed(expression)

    assert placed == expression
    assert time.process_time() - began < 4


def _found(expr):
    read = linter.Linter(Options())
    read.read_text(*alert(expr))
    return read._found.expressions


ROUTED = {
    "Triton.*": True,
    "Triton(Busy|Slow)": True,
    "TritonSlow|TritonLate": False,
    "(Triton)+x": True,
    "Triton[": True,
}


@pytest.mark.parametrize(("pattern", "there"), ROUTED.items())
def test_a_pattern_that_is_not_tried_is_taken_to_match(pattern, there):
    """Every other is compared with the alerts of the files."""
    assert ("unknown-alert" not in ids(_routes(pattern, "TritonBusy"))) is there


def test_a_tag_of_yaml_runs_nothing(tmp_path, monkeypatch):
    """Nor does it make the file unreadable."""
    monkeypatch.chdir(tmp_path)
    tags = "a: !!python/object/apply:os.system ['touch was-run']\nb: !!python/name:os.system\nc: !x {}\n"

    assert ids(tags + WRONG) == {"ratio-and-percent"}
    assert list(tmp_path.iterdir()) == []


def test_a_chart_is_read_as_far_as_it_can_be(tmp_path):
    """Its templates are named; values, boards in files/ and rules without templates are read."""
    held = {
        "Chart.yaml": "name: triton\nversion: 1.0.0\n",
        "values.yaml": "most: 80  # nv_gpu_utilization\n",
        "templates/_helpers.tpl": '{{- define "triton.name" -}}{{ .Chart.Name }}{{- end -}}\n',
        "templates/rules.yaml": "{{- if .Values.on }}\n"
        + WRONG.replace("80", "{{ .Values.most }}")
        + "{{- end }}\n",
        "templates/plain.yaml": WRONG,
        "files/board.json": _panel("nv_gpu_utilization > 80"),
        "files/half.json": _panel("nv_gpu_utilization")[:-9],
    }
    for name, text in held.items():
        path = tmp_path / "chart" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    found = lint_files(files_of([tmp_path]), Options()).problems

    assert [(Path(one.finding.place.file).name, one.id) for one in found] == [
        ("board.json", "ratio-and-percent"),
        ("half.json", "unreadable"),
        ("plain.yaml", "ratio-and-percent"),
        ("rules.yaml", "template"),
    ]


def test_links_in_a_circle_are_no_files(tmp_path):
    """To itself and to each other; what stands beside them is read."""
    (tmp_path / "a.yaml").symlink_to("a.yaml")
    (tmp_path / "b.yaml").symlink_to("c.yaml")
    (tmp_path / "c.yaml").symlink_to("b.yaml")
    (tmp_path / "d.yaml").write_text(WRONG)

    assert [one.id for one in lint_files(files_of([tmp_path]), Options()).problems] == ["ratio-and-percent"]


def test_nothing_outside_the_given_paths_is_written(tmp_path):
    """A link in a folder leads to a file of others, and one within it to a file of the folder."""
    inside, outside = tmp_path / "in", tmp_path / "out.yaml"
    inside.mkdir()
    outside.write_text(WRONG)
    (inside / "rules.yaml").write_text(WRONG)
    (inside / "link.yaml").symlink_to(outside)
    (inside / "again.yaml").symlink_to("rules.yaml")

    fix(lint_files(files_of([inside]), Options()).problems)

    assert outside.read_text() == WRONG
    assert (inside / "rules.yaml").read_text() == RIGHT
    assert sorted(one.name for one in inside.iterdir()) == ["again.yaml", "link.yaml", "rules.yaml"]
    assert (inside / "again.yaml").is_symlink()


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_fix_that_cannot_be_written_leaves_the_old_file(tmp_path, monkeypatch, step):
    """Whole, and nothing beside it, wherever the disk is full."""
    path = tmp_path / "rules.yaml"
    path.write_text(WRONG)
    problems = lint_files([(path, True)], Options()).problems

    def refuse(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as during:
        if step == "write":
            during.setattr("tempfile.NamedTemporaryFile", refuse)
            during.setattr("tempfile.mkstemp", refuse)
        else:
            during.setattr(os, step, refuse)
        with pytest.raises(FileUnusable, match=r"rules\.yaml: .*No space left on device"):
            fix(problems)

    assert path.read_text() == WRONG
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_was_written_in_between_is_left_alone(tmp_path):
    """Its findings stand where other words are now."""
    path = tmp_path / "rules.yaml"
    path.write_text(WRONG)
    problems = lint_files([(path, True)], Options()).problems
    changed = "# a line more\n" + WRONG
    path.write_text(changed)

    assert fix(problems) == ()
    assert path.read_text() == changed


def test_a_scaler_without_anything_right_is_no_traceback():
    """Every field of another kind."""
    text, file = keda("nv_inference_pending_request_count")
    held = yaml.safe_load(text)
    for wrong in (None, [], {}, 5, "x"):
        for key in ("metadata", "type"):
            trigger = {**held["spec"]["triggers"][0], key: wrong}
            linted(yaml.safe_dump({"kind": "ScaledObject", "spec": {"triggers": [trigger]}}), file)
        for key in ("query", "threshold"):
            trigger = {"type": "prometheus", "metadata": {"query": "up", "threshold": "1", key: wrong}}
            linted(yaml.safe_dump({"kind": "ScaledObject", "spec": {"triggers": [trigger]}}), file)
