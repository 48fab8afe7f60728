"""Whatever the files are, each is a clear line or nothing, and the rest is read."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.linting import ids, linted
from tritonobs.extensions.lint.configuration import files_of
from tritonobs.extensions.lint.formats import github_of, json_of, line_of, sarif_of
from tritonobs.extensions.lint.linter import MAX_BYTES, Options, lint_files

WRONG = "groups: [{name: g, rules: [{alert: A, expr: 'nv_gpu_utilization > 80'}]}]\n"
BAD = {
    "no YAML": ("a: [1\nb: nv_gpu_utilization", "not YAML"),
    "a tab": ("a:\n\tb: nv_gpu_utilization", "not YAML"),
    "no JSON": ('{"panels": [nv_gpu_utilization', "not JSON"),
    "half a board": ('{"title": "b", "panels": [{"targets": [{"expr": "nv_gpu_utilization"', "not JSON"),
    "an unknown alias": ("a: *b # nv_", "not YAML"),
    "a circle": ("a: &a [*a] # nv_", "more than 100 levels"),
    "deep": ("[" * 100_000 + "]" * 100_000, "nested"),
    "a bomb": (
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(
            f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 10)}]\n" for n in range(7)
        ),
        "more than 500,000 values",
    ),
    "a control character": ("a: \x01 # nv_", "not YAML"),
}


@pytest.mark.parametrize(("text", "says"), BAD.values(), ids=BAD)
def test_what_cannot_be_read_is_one_line(text, says):
    """With the parser's place, and never more than that."""
    problems = linted(text, "bad.yaml").problems

    assert len(problems) == 1
    assert (problems[0].id, says in problems[0].finding.message) == ("unreadable", True)
    assert "\n" not in line_of(problems[0])


def test_the_rest_is_read(tmp_path):
    """One bad file of three."""
    (tmp_path / "a.yaml").write_text("nv_gpu_utilization: [")
    (tmp_path / "b.yaml").write_text(WRONG)
    (tmp_path / "c.json").write_bytes(b"\xff\xfe nv_gpu_utilization")
    (tmp_path / "d.json").write_bytes(b"\xff\xfe of another system")

    result = lint_files(files_of([tmp_path]), Options())

    assert [one.id for one in result.problems] == ["unreadable", "ratio-and-percent", "unreadable"]


def test_a_file_of_many_megabytes_is_one_line(tmp_path):
    """It is not read into memory."""
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES * 6)

    (problem,) = lint_files(files_of([tmp_path]), Options()).problems

    assert "more than 16777216 bytes" in problem.finding.message


def test_links_are_no_way_out_and_no_circle(tmp_path):
    """A link to a folder is not followed, one to a file outside is not read."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret.yaml").write_text(WRONG)
    (inside / "rules.yaml").write_text(WRONG)
    (inside / "circle").symlink_to(inside)
    (inside / "folder").symlink_to(outside)
    (inside / "file.yaml").symlink_to(outside / "secret.yaml")
    (inside / "again.yaml").symlink_to(inside / "rules.yaml")
    (inside / "gone.yaml").symlink_to(inside / "nowhere.yaml")

    result = lint_files(files_of([inside]), Options())

    assert (result.files, len(result.problems)) == (1, 1)
    assert Path(result.problems[0].finding.place.file).parent == inside


def test_a_folder_that_cannot_be_read_is_a_line(tmp_path, monkeypatch):
    """As root every folder can be, so the system's answer is made here."""
    (tmp_path / "closed").mkdir()

    def refuse(path, real=os.scandir):
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)

    (problem,) = lint_files(files_of([tmp_path]), Options()).problems

    assert (problem.id, problem.finding.place.file) == ("unreadable", str(tmp_path / "closed"))


def test_a_pipe_is_not_waited_for(tmp_path):
    """Named itself, it is a line; found in a folder, nothing."""
    os.mkfifo(tmp_path / "pipe.yaml")

    (problem,) = lint_files([(tmp_path / "pipe.yaml", True)], Options()).problems

    assert "pipe" in problem.finding.message
    assert lint_files(files_of([tmp_path]), Options()).problems == ()


TEMPLATES = {
    "control": "groups:\n{{- if .on }}\n- rules: [{alert: A, expr: nv_gpu_utilization > 80}]\n{{- end }}",
    "in an expression": "groups: [{rules: [{alert: A, expr: 'nv_gpu_utilization > {{ .Values.most }}'}]}]",
    "in a query": "triggers: [{type: prometheus, metadata: {query: 'nv_gpu_utilization{a=\"{{ .a }}\"}'}}]",
}


@pytest.mark.parametrize("text", TEMPLATES.values(), ids=TEMPLATES)
def test_a_template_is_named_and_not_guessed_at(text):
    """As a remark, which fails nothing."""
    (problem,) = linted(text, "templates/rules.yaml").problems

    assert problem.id == "template"
    assert "helm template" in problem.finding.message
    assert "[info]" in line_of(problem)


def test_what_is_not_about_triton_is_nobody_s_business():
    """Wrong or unparsed, of other systems, of other data sources."""
    target = {"expr": '{app="nv_gpu_"} |= "x"'}
    board = {"title": "b", "panels": [{"datasource": {"type": "loki"}, "targets": [target]}]}
    rules = "groups: [{name: g, rules: [{alert: A, expr: '%s'}]}]"

    assert ids(rules % "rate(http_total)") == set()
    assert ids(rules % "a +") == set()
    assert ids("a: b\nc: [d]") == set()
    assert ids(json.dumps(board), "b.json") == set()
    assert ids(rules % "rate(nv_inference_count)") == {"unparsed"}
    assert ids("groups: [{name: 1, rules: 2}, null]\nroute: 3") == set()


def test_hostile_names_stay_data():
    """In a line, in JSON, in SARIF and in GitHub's commands."""
    name = "A\x1b[31m\n::error::x%0A,\u202e"
    rules = {"groups": [{"name": "g", "rules": [{"alert": name, "expr": "nv_gpu_utilization > 80"}]}]}

    result = linted(json.dumps(rules), "a,b:c.yaml")

    (problem,) = result.problems
    assert "\n" not in line_of(problem)
    (command,) = github_of([problem]).splitlines()
    assert command.startswith("::error file=a%2Cb%3Ac.yaml,line=1,col=")
    assert json.loads(json_of(result))["findings"][0]["message"].startswith(name)
    assert '"uri": "a%2Cb%3Ac.yaml"' in sarif_of(result, "1")


WORDS = st.sampled_from(
    [
        *(
            "sum",
            "rate",
            "(",
            ")",
            "{",
            "}",
            "[5m]",
            "[$__interval]",
            "[1h:5m]",
            "by (model)",
            "without (le)",
            "/",
            "*",
            "+",
        ),
        *(
            "and",
            "unless",
            "or",
            "on (model)",
            "group_left",
            ">",
            "== bool",
            "1",
            "-1",
            "0",
            "1e400",
            "Inf",
            "NaN",
            ",",
        ),
        *(
            "nv_inference_request_success",
            "nv_gpu_utilization",
            "nv_inference_request_failure",
            "nv_inference_nothing",
        ),
        *(
            "histogram_quantile(",
            "clamp_min(",
            "absent(",
            "scalar(",
            "label_replace(",
            '"a"',
            "$x",
            "offset 5m",
            "# c\n",
        ),
        *(
            "nv_inference_first_response_histogram_ms_bucket",
            'nv_inference_request_summary_us{quantile="0.9"}',
            "^",
            "%",
        ),
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS, max_size=14))
def test_no_expression_is_a_traceback(words):
    """Anything that may be written, as an alert and in a board."""
    text = " ".join(words)
    rules = {
        "groups": [{"rules": [{"alert": "A", "expr": text, "annotations": {"a": "500ms {{ $value }}%"}}]}]
    }
    panel = {"title": "Latency", "targets": [{"expr": text}], "fieldConfig": {"defaults": {"unit": "ms"}}}

    linted(json.dumps(rules), "a.json")
    linted(json.dumps({"title": "b", "panels": [panel]}), "b.json")


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.floats(allow_nan=False)
        | st.text(max_size=5)
        | st.just("nv_gpu_utilization > 80"),
        lambda below: (
            st.lists(below, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        *(
                            "panels",
                            "title",
                            "targets",
                            "expr",
                            "rows",
                            "templating",
                            "list",
                            "groups",
                            "rules",
                            "alert",
                        ),
                        *(
                            "route",
                            "routes",
                            "matchers",
                            "match",
                            "type",
                            "metadata",
                            "query",
                            "spec",
                            "metrics",
                            "kind",
                        ),
                        *(
                            "fieldConfig",
                            "defaults",
                            "thresholds",
                            "steps",
                            "value",
                            "yaxes",
                            "format",
                            "datasource",
                        ),
                        *("metricsQuery", "seriesQuery", "name", "annotations", "data", "interval"),
                    ]
                ),
                below,
                max_size=5,
            )
        ),
        max_leaves=20,
    )
)
def test_no_document_is_a_traceback(value):
    """Any shape under the names that are looked for."""
    linted(json.dumps(value), "a.json")
    linted(
        json.dumps(
            {
                "title": "b",
                "panels": [value],
                "templating": {"list": [value]},
                "kind": "HorizontalPodAutoscaler",
            }
        ),
        "b.json",
    )
