"""Jsonnet is evaluated, within bounds, and a finding stands where it is written as far as that is certain."""

import json
import os
from pathlib import Path

import pytest

from support.linting import command
from tritonobs import assets
from tritonobs.extensions.lint import mixins
from tritonobs.extensions.lint.configuration import files_of
from tritonobs.extensions.lint.linter import Options, lint_files
from tritonobs.render import jsonnet

WRONG = "nv_gpu_utilization > 80"
ALERT = f"{{ alert: 'Busy', expr: '{WRONG}' }}"
MIXIN = f"{{ prometheusAlerts+:: {{ groups+: [{{ name: 'g', rules: [{ALERT}] }}] }} }}\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def _write(**files):
    """Files by their path, `__` for a slash and `_` at the end for a dot's place."""
    for name, text in files.items():
        path = Path(
            name.replace("__", "/").replace("_libsonnet", ".libsonnet").replace("_jsonnet", ".jsonnet")
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _said(*paths, libraries=(), **options):
    """Place, id and message of each finding."""
    given = [Path(path) for path in paths]
    roots = tuple(path if path.is_dir() else path.parent for path in given)
    asked = Options(roots=roots, libraries=tuple(map(Path, libraries)), **options)
    found = lint_files(files_of(given), asked).problems
    return [(str(one.finding.place), one.id, one.finding.message) for one in found]


def _places(*paths, **options):
    return [(place, name) for place, name, _ in _said(*paths, **options)]


BUSY = "ratio-and-percent"
PLACED = {
    "in quotes": (f"{{ alert: 'A', expr: '{WRONG}' }}", "80"),
    "with labels": ("{ alert: 'A', expr: 'nv_gpu_utilization{gpu_uuid=\"x\"} > 80' }", "80"),
    "with escapes": ('{ alert: "A", expr: "nv_gpu_utilization{gpu_uuid=\\"x\\"} > 80" }', "80"),
    "a block": ("{ alert: 'A', expr: |||\n    nv_gpu_utilization\n      > 80\n  ||| }", "80"),
    "verbatim": ("{ alert: 'A', expr: @'nv_gpu_utilization{gpu_uuid=~\"it''s\"} > 80' }", "80"),
    "with a remark before": (
        "/* don't */ // it's\n# it's\n{ alert: 'A', expr: 'nv_gpu_utilization > 80' }",
        "80",
    ),
    "put together": ("{ alert: 'A', expr: 'nv_gpu_utilization > %d' % 80 }", "A'"),
    "named otherwise": ("{ alert: 'A%s' % '', expr: 'nv_gpu_utilization > %d' % 80 }", ""),
    "named twice": (
        "{ alert: 'A', expr: 'nv_gpu_utilization > %d' % 80 }, { alert: 'A', expr: 'up == 0' }",
        "",
    ),
}


def _at(file, word="80"):
    """Where the word stands in the file; the file itself for no word."""
    before = Path(file).read_text().partition(word)[0] if word else ""
    return f"{file}:{before.count(chr(10)) + 1}:{len(before.rpartition(chr(10))[2]) + 1}" if word else file


@pytest.mark.parametrize(("rule", "word"), PLACED.values(), ids=PLACED)
def test_a_finding_stands_where_it_is_written(rule, word):
    """In the text itself, else beside its name, else in the file as a whole; never at a guess."""
    _write(a_jsonnet=f"{{ groups: [{{ name: 'g', rules: [\n{rule}] }}] }}\n")

    assert [one for one in _said("a.jsonnet") if one[1] == BUSY] == [
        (_at("a.jsonnet", word), BUSY, "A: the value is between 0 and 1: > 80 is never true")
    ]


def test_a_mixin_is_read_although_its_fields_are_hidden():
    """Rules, alerts and boards; the rest of it may be wrong."""
    board = {
        "title": "b",
        "schemaVersion": 39,
        "panels": [{"targets": [{"expr": "nv_cpu_utilization > 90"}]}],
    }
    _write(
        mixin_libsonnet="(import 'alerts.libsonnet') + { grafanaDashboards+:: { 'b.json': import 'b.json' },"
        " prometheusRules+:: { groups+: [{ name: 'r', rules: ["
        "{ record: 'a:b', expr: 'nv_inference_request_success_total' }] }] }, rest: error 'not asked for' }",
        alerts_libsonnet=MIXIN,
    )
    Path("b.json").write_text(json.dumps(board))

    assert _places("mixin.libsonnet") == [
        (_at("alerts.libsonnet"), BUSY),
        (_at("b.json", "90"), BUSY),
        (_at("mixin.libsonnet", "nv_inference"), "unknown-series"),
    ]


def test_alerts_are_read_where_only_the_boards_lack_a_library():
    """As in a checkout without `vendor/`: the import is a finding, and so is an error of the alerts."""
    boards = "{ local g = import 'grafana.libsonnet', grafanaDashboards+:: { 'b.json': g.dashboard('b') } }"
    _write(mixin_libsonnet=f"(import 'alerts.libsonnet') + {boards}", alerts_libsonnet=MIXIN)

    busy, missing = _said("mixin.libsonnet")

    assert busy[:2] == (_at("alerts.libsonnet"), BUSY)
    assert missing[1] == "unreadable"
    assert missing[2].startswith("import 'grafana.libsonnet': is neither")


VALUES = {
    "groups": f"{{ groups: [{{ name: 'g', rules: [{ALERT}] }}] }}",
    "files": f"{{ 'a.yml': std.manifestYamlDoc({{ groups: [{{ name: 'g', rules: [{ALERT}] }}] }}) }}",
    "a text": f"std.manifestYamlDoc({{ groups: [{{ name: 'g', rules: [{ALERT}] }}] }})",
    "a list": f"[{{ kind: 'PrometheusRule', spec: {{ groups: [{{ rules: [{ALERT}] }}] }} }}]",
    "a function": f"function(most=80) {{ groups: [{{ rules: [{ALERT}] }}] }}",
    "a board": f"{{ title: 'b', schemaVersion: 39, panels: [{{ targets: [{{ expr: '{WRONG}' }}] }}] }}",
}


@pytest.mark.parametrize("text", VALUES.values(), ids=VALUES)
def test_any_value_that_holds_expressions_is_read(text):
    """As `jsonnet`, `jsonnet -S` and `jsonnet -m` would write it."""
    _write(a_jsonnet=text)

    assert [name for _, name in _places("a.jsonnet")] == [BUSY]


def test_a_file_that_another_imports_is_a_part_of_it():
    """In a folder each expression is found once, and what no one imports is read by itself."""
    _write(
        m__mixin_libsonnet="import 'parts/alerts.libsonnet'",
        m__parts__alerts_libsonnet=MIXIN,
        m__other_jsonnet=f"// nothing\n// import 'x'\n{MIXIN}",
        m__elsewhere_jsonnet="{ groups: error 'of another system' }",
        m__vendor__not_ours_libsonnet=MIXIN,
    )

    assert _places("m") == [(_at("m/other.jsonnet"), BUSY), (_at("m/parts/alerts.libsonnet"), BUSY)]


def test_files_that_import_each_other_are_read():
    """No one of them comes first."""
    _write(
        m__a_libsonnet="{ other:: import 'b.libsonnet' } + " + MIXIN,
        m__b_libsonnet="{ other:: import 'a.libsonnet' }",
    )

    assert _places("m") == [(_at("m/a.libsonnet"), BUSY)]


@pytest.mark.parametrize("name", ["\0", "x" * 5000, "a/" * 3000, ".", "..", "\\u0000"])
def test_no_name_of_an_import_is_a_traceback(name):
    """It is not found, or is no file."""
    _write(a_jsonnet=f"{{ triton: import '{name}' }}")

    assert _places("a.jsonnet")[0][1] == "unreadable"
    assert _places(".")[0][1] == "unreadable"


def test_imports_are_found_beside_the_file_in_vendor_and_in_given_folders():
    """A `vendor` folder may stand above the file, within the given paths."""
    _write(
        m__deep__a_jsonnet="(import 'b.libsonnet') + (import 'lib/c.libsonnet') + (import 'd.libsonnet')",
        m__deep__b_libsonnet=MIXIN,
        m__vendor__lib__c_libsonnet="{ c: 1 }",
        given__d_libsonnet="{ d: 1 }",
    )

    assert _places("m", libraries=["given"]) == [(_at("m/deep/b.libsonnet"), BUSY)]
    _write(m__vendor__lib__c_libsonnet=MIXIN.replace("Busy", "Late"))
    assert _places("m", libraries=["given"])[-1] == (
        _at("m/vendor/lib/c.libsonnet", "Late"),
        BUSY,
    )
    _write(m__vendor__lib__c_libsonnet="{ c: 1 }")
    (place, name, message), *_ = _said("m")
    assert (place, name) == ("m/deep/a.jsonnet:1:56", "unreadable")
    assert message == (
        "import 'd.libsonnet': is neither beside the file nor in vendor/ or a folder of --jpath"
    )


@pytest.mark.parametrize("how", ["import", "importstr", "importbin"])
def test_nothing_outside_the_given_paths_is_read(how):
    """By a path, an absolute path or a link: its content gets nowhere, and a word says what to do."""
    _write(secret_libsonnet="{ 'tritonsecret': 1 }", m__a_jsonnet="1")
    Path("m/link.libsonnet").symlink_to(Path("secret.libsonnet").absolute())

    for path in ("../secret.libsonnet", str(Path("secret.libsonnet").absolute()), "link.libsonnet"):
        _write(m__a_jsonnet=f"{{ groups: {how} '{path}' }}")
        ((_, name, message),) = _said("m/a.jsonnet")
        assert name == "unreadable"
        assert message == (
            f"import {path!r}: is outside the given paths; give its folder, too, or name it with --jpath"
        )
    _write(
        m__a_jsonnet=MIXIN.replace(
            "prometheusAlerts", f"kept:: {how} '../secret.libsonnet', prometheusAlerts"
        )
    )
    assert [name for _, name in _places("m/a.jsonnet")] == [BUSY]
    assert _said("m/a.jsonnet", ".")[0][1] == BUSY


def test_a_pipe_is_not_imported():
    """Which would wait for ever."""
    os.mkfifo("pipe.libsonnet")
    _write(a_jsonnet="import 'pipe.libsonnet'")

    ((_, _, message),) = _said("a.jsonnet")
    assert "is a pipe; allowed is a regular file" in message


ERRORS = {
    "not jsonnet": ("{ a: 1\n  b: 2 }", "a.jsonnet:2:3", "Expected a comma before next field"),
    "an error": ("{ a: 1,\n  b: error 'most is\n80' }", "a.jsonnet:2:6", "most is 80"),
    "an assertion": ("{ assert 1 > 2 : 'so it is',\n  b: 2 }", "a.jsonnet:1:3", "so it is"),
    "no such field": ("{}.a.b", "a.jsonnet:1:1", "Field does not exist: a"),
    "in an import": ("import 'b.libsonnet'", "b.libsonnet:2:1", "evaluating a.jsonnet: Unexpected"),
    "a loop": ("local f(n) = 1 + f(n); f(1)", "a.jsonnet:1:18", "max stack frames exceeded."),
}


@pytest.mark.parametrize(("text", "place", "says"), ERRORS.values(), ids=ERRORS)
def test_what_has_no_value_is_one_line_of_jsonnet_itself(text, place, says):
    """With the place in the file that has it."""
    _write(a_jsonnet=text, b_libsonnet="{ a: 1 +\n}")

    ((where, name, message),) = _said("a.jsonnet")

    assert (where, name) == (place, "unreadable")
    assert message.startswith(says)
    assert "\n" not in message


@pytest.mark.parametrize("text", ["function(config) config", "{ a: std.extVar('cluster') }"])
def test_what_only_its_user_knows_is_not_guessed_at(text):
    """A remark, which fails nothing, says how to read it."""
    _write(a_jsonnet=text)

    ((_, name, message),) = _said("a.jsonnet")

    assert name == "template"
    assert message.endswith("evaluate it first, as with `jsonnet … | tritonobs lint -`")
    assert ("--ext-str" in message) == ("extVar" in text)


EXTERNAL = """{ prometheusAlerts:: { groups: [{ name: 'g', rules: [
  { alert: 'Busy', expr: 'nv_gpu_utilization{job="%s"} > %d' % [std.extVar('job'), std.extVar('most')] }
] }] } }"""


def test_external_variables_are_given_as_jsonnets_own_command_takes_them(monkeypatch):
    """A text or code; one without a value is that of the environment."""
    _write(a_jsonnet=EXTERNAL)
    monkeypatch.setenv("job", "triton")

    for words in (("--ext-str", "job=triton"), ("--ext-str", "job"), ("--ext-code", "job='a' + 'b'")):
        code, stdout, _ = command(*words, "--ext-code", "most=40 + 40", "a.jsonnet")
        assert (code, "> 80 is never true" in stdout) == (1, True), words
        assert command(*words, "--ext-code", "most=0.8", "a.jsonnet")[0] == 0, words
    assert "Undefined external variable: most" in command("--ext-str", "job", "a.jsonnet")[1]


def test_an_external_variable_without_a_value_is_wrong_usage():
    """And code that is none is a finding of the file that asks for it."""
    _write(a_jsonnet=EXTERNAL)

    assert command("--ext-str", "nowhere", "a.jsonnet")[0] == 2
    assert command("--ext-str", "=x", "a.jsonnet")[0] == 2
    code, stdout, _ = command("--ext-str", "job=a", "--ext-code", "most=(", "a.jsonnet")
    assert (code, "unreadable" in stdout) == (1, True)


def test_code_of_an_external_variable_reads_nothing_else(tmp_path):
    """An import of it is bounded as any other."""
    (tmp_path / "secret.txt").write_text("hunter2")
    _write(m__a_jsonnet="{ a: std.extVar('most') }")

    code, stdout, _ = command("--ext-code", f"most=importstr '{tmp_path / 'secret.txt'}'", "m/a.jsonnet")

    assert code == 1
    assert "is outside the given paths" in stdout
    assert "hunter2" not in stdout


def test_what_a_file_without_a_value_imports_is_read_by_itself():
    """And parts that have none of their own are no one's fault."""
    _write(
        m__a_jsonnet="function(config) (import 'b.libsonnet') + (import 'c.libsonnet')",
        m__b_libsonnet=MIXIN,
        m__c_libsonnet="{ triton: $.missing }",
    )

    assert _places("m") == [("m/a.jsonnet", "template"), (_at("m/b.libsonnet"), BUSY)]


def test_a_library_in_a_folder_need_not_have_a_value():
    """Named itself, it does."""
    _write(m__lib_libsonnet="{ triton: $.missing }")

    assert _places("m") == [("m/lib.libsonnet:1:11", "template")]
    assert _places("m/lib.libsonnet") == [("m/lib.libsonnet:1:11", "unreadable")]


FOREVER = """
local all = std.range(1, 10000);
std.foldl(function(_, a) std.foldl(function(_, b) std.foldl(function(_, c) c, all, b), all, a), all, 0)
"""
"""Days of computing in little memory."""


def test_a_file_that_never_ends_is_ended(monkeypatch):
    """And the next one is read."""
    monkeypatch.setattr(jsonnet, "SECONDS", 0.5)
    _write(a_jsonnet=FOREVER, b_jsonnet=MIXIN)

    assert _said("a.jsonnet", "b.jsonnet")[0] == (
        "a.jsonnet",
        "unreadable",
        "was not evaluated within 0.5 s of computing, the limit",
    )
    assert _places("a.jsonnet", "b.jsonnet")[1] == (_at("b.jsonnet"), BUSY)


@pytest.mark.parametrize(("patience", "said"), [(30, [BUSY]), (1, ["unreadable"])])
def test_only_computing_counts(monkeypatch, patience, said):
    """A busy machine may take longer, though not for ever."""
    monkeypatch.setattr(jsonnet, "SECONDS", 0.5)
    monkeypatch.setattr(jsonnet, "_PATIENCE", patience)
    monkeypatch.setattr(jsonnet, "_CHILD", f"import time; time.sleep(0.6); {jsonnet._CHILD}")
    _write(a_jsonnet=MIXIN)

    assert [name for _, name in _places("a.jsonnet")] == said


def test_many_that_never_end_are_ended_together(monkeypatch):
    """A folder of them takes no longer than the time for all of them."""
    monkeypatch.setattr(mixins, "MOST_SECONDS", 0.5)
    _write(a_jsonnet=FOREVER, b_jsonnet=FOREVER)

    assert [message for _, _, message in _said("a.jsonnet", "b.jsonnet")][1] == (
        "was not evaluated: the 0.5 s of computing for all jsonnet are over"
    )


def test_a_file_that_wants_all_memory_gets_little(monkeypatch):
    """It does not get it from this process."""
    monkeypatch.setattr(jsonnet, "MEMORY_BYTES", 1 << 26)
    _write(a_jsonnet="local f(x) = f(x + x) tailstrict; f('aaaa')")

    ((_, name, message),) = _said("a.jsonnet")

    assert name == "unreadable"
    assert message == "ended the evaluator: it may need more than 64 MiB of memory, the limit"


LATE = """
import resource, sys

class Late:
    __spec__ = None

    def __getattr__(self, name):
        del sys.modules["_gojsonnet"]
        import _gojsonnet
        return getattr(_gojsonnet, name)

def late(*most, bound=resource.setrlimit):
    jsonnet._gojsonnet.evaluate_snippet("", "null")
    bound(*most)

sys.modules["_gojsonnet"], resource.setrlimit = Late(), late
"""
"""The runtime starts between the moment when memory is measured and the moment when it is bounded."""


def test_a_runtime_that_starts_late_has_its_memory(monkeypatch):
    """On a busy machine it reserves its 1.5 GB of addresses long after the library was loaded."""
    late = f"import json, sys; sys.path[:] = json.loads(sys.argv[1]); exec({LATE!r})"
    monkeypatch.setattr(jsonnet, "_CHILD", f"{late}; {jsonnet._CHILD}")
    _write(a_jsonnet="{ triton: std.length(std.makeArray(1000000, function(i) i)) }")

    assert _said("a.jsonnet") == []


def test_a_value_of_any_size_is_refused(monkeypatch):
    """The same limit as for a file."""
    monkeypatch.setattr(jsonnet, "MOST_BYTES", 1000)
    _write(a_jsonnet="{ triton: std.repeat('x', 2000) }")

    assert _said("a.jsonnet")[0][2] == "gives more than 1000 characters, the most that is read"


def test_a_module_in_the_working_folder_is_not_run():
    """The files are of others, and so may be one that is called like a module."""
    _write(a_jsonnet=MIXIN)
    for name in ("json", "resource", "tritonobs"):
        Path(f"{name}.py").write_text("open('was-run', 'w').close()")

    assert _places("a.jsonnet") == [(_at("a.jsonnet"), BUSY)]
    assert not Path("was-run").exists()


def test_a_comment_with_a_reason_silences():
    """In both ways in which jsonnet writes one, where the place is known; a file as a whole anywhere."""
    rules = (
        "{ groups: [{ name: 'g', rules: [\n%s\n{ alert: 'A', expr: 'nv_gpu_utilization > %%d' %% 80 }] }] }"
    )
    for mark in ("#", "//"):
        comment = f"{mark} tritonobs: ignore={BUSY} because of a rehearsal"
        _write(a_jsonnet=rules % comment, b_jsonnet=rules % f"{mark} tritonobs: ignore={BUSY}")
        assert _places("a.jsonnet") == []
        assert _places("b.jsonnet") == [("b.jsonnet:2:1", "bare-suppression"), (_at("b.jsonnet", "A'"), BUSY)]
        unnamed = rules.replace("'A'", "'A%%s' %% ''") % ""
        _write(c_jsonnet=f"{comment.replace('ignore', 'ignore-file')}\n{unnamed}")
        assert _places("c.jsonnet") == []


def test_jsonnet_is_not_mended():
    """What an expression is made of may be used elsewhere, so the finding stays, and so does the file."""
    _write(m__a_jsonnet=MIXIN, given__b_libsonnet="{}")

    code, stdout, stderr = command("--fix", "--jpath", "given", "m")

    assert (code, Path("m/a.jsonnet").read_text()) == (1, MIXIN)
    assert stdout == (
        f"{_at('m/a.jsonnet')}: {BUSY}: Busy: the value is between 0 and 1: > 80 is never true (write 0.8)\n"
    )
    assert stderr == "1 file, 1 expression: 1 finding\n"


def test_nothing_is_wrong_with_our_own_mixin():
    """Its boards lie in another folder, which is given, too."""
    rules, dashboards = (str(assets.folder(name)) for name in ("rules", "dashboards"))

    result = lint_files(files_of([Path(rules)]), Options(roots=(Path(rules), Path(dashboards))))

    assert [str(one.finding) for one in result.problems if one.id != "template"] == []
    assert result.expressions > 400
