"""What can be taken out can be taken out: each extension by itself, and all of them together."""

from __future__ import annotations

import ast
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import _gojsonnet
import pytest

from support.case import RECORD, rule_name
from support.needs import BROUGHT, extensions_of, lacks
from tritonobs import names as of_series
from tritonobs import registry
from tritonobs.cli import COMMANDS

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import without  # noqa: E402 (tools are programs and no package)

WITH_RULES = tuple(path.parent.name for path in sorted(ROOT.glob("rules/extensions/*/rules.libsonnet")))
LOADED = """
import importlib, pkgutil, sys
import tritonobs
assert tritonobs.__file__.startswith(sys.argv[1]), tritonobs.__file__
for found in pkgutil.walk_packages(tritonobs.__path__, "tritonobs."):
    if found.name != "tritonobs.__main__":
        importlib.import_module(found.name)
from click.testing import CliRunner
from tritonobs.cli import COMMANDS, group
checked = ["validate", "examples/fleet.yaml"]
built = ["build", "examples/fleet.yaml", "-o", sys.argv[1] + "/built"]
listed = ["limits", "list", "examples/fleet.yaml"]
for words in (*([name, "--help"] for name in COMMANDS), checked, built, listed):
    done = CliRunner().invoke(group, words)
    assert done.exit_code == 0, (words, done.output, done.exception)
print(*COMMANDS)
"""
"""All modules load, every command shows its help, and the heart does its work."""


@pytest.fixture(name="copy", scope="module")
def _copy(tmp_path_factory):
    """A copy of the tree. It goes, because the last test looks for the practice stack's made-up secrets."""
    folder = tmp_path_factory.mktemp("extensions") / "tree"
    without.copy_tree(folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(name="tree")
def _tree(copy):
    """The copy, for a test to change. What it changed is put back: to make all files again takes longer."""
    before = _stamps(copy)
    yield copy
    after = _stamps(copy)
    for path in after.keys() - before.keys():
        path.unlink()
    for path in (path for path, stamp in before.items() if after.get(path) != stamp):
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path.relative_to(copy), path)


def _stamps(tree: Path) -> dict[Path, tuple[int, int]]:
    """Time and size of every file."""
    files = ((path, path.stat()) for path in tree.rglob("*") if path.is_file())
    return {path: (stat.st_mtime_ns, stat.st_size) for path, stat in files}


def _loaded(tree: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LOADED, str(tree)],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("names", [*((name,) for name in registry.NAMES), registry.NAMES], ids="-".join)
def test_the_rest_works_without_it(names, tree):
    """Its commands are gone, and all others are there."""
    gone = {command.name for name in names for command in registry.extensions()[name].commands}

    without.take_out(tree, names)
    done = _loaded(tree)

    assert done.returncode == 0, done.stderr
    # `lint-imports` refuses what a contract allows a module that is not there.
    contracts = (tree / "pyproject.toml").read_text()
    assert [name for name in names if f"tritonobs.extensions.{name}." in contracts] == []
    assert done.stdout.split()[-1:] != []
    assert set(done.stdout.splitlines()[-1].split()) == {*COMMANDS} - gone


def test_what_the_heart_imports_cannot_be_taken_out(tree):
    """The planted defect: one import of the heart, late as they often are, is seen."""
    without.take_out(tree, ("history",))
    limits = tree / "tritonobs" / "cli" / "limits.py"
    limits.write_text(limits.read_text() + "\n\nfrom tritonobs.extensions.history import suggest  # noqa\n")

    done = _loaded(tree)

    assert done.returncode == 1
    assert "tritonobs.extensions.history" in done.stderr


def _rules(tree: Path) -> list[dict[str, object]]:
    """The rules of a tree, without a shard's and those that only agents need."""
    # Not as `tritonobs.render.jsonnet` does it, which knows a file by its name: the tree changes.
    text = _gojsonnet.evaluate_file(str(tree / "rules" / "with_config.jsonnet"), tla_codes={"config": "{}"})
    files = json.loads(text)
    return [
        rule for name in ("records", "alerts") for group in files[name]["groups"] for rule in group["rules"]
    ]


@cache
def _all_rules() -> list[dict[str, object]]:
    return _rules(ROOT)


def _wrong_rules(tree: Path, names: tuple[str, ...]) -> list[str]:
    """What is left of the rules of extensions that were taken out, and what is missing of all others."""
    rules = _rules(tree)
    left = {rule_name(rule) for rule in rules}
    gone = {rule_name(rule) for rule in _all_rules()} - left
    pages = {page.stem for page in (tree / "docs" / "runbooks").glob("*.md")} - {"README"}
    alerts = {rule["alert"] for rule in rules if "alert" in rule}
    alerts |= {*of_series.SHARD_ALERTS, *of_series.AGENT_ALERTS}
    own = {
        record.format(short="1m", medium="1m")
        for name in names
        for path in (ROOT / "tests" / name).glob("records.py")
        for record in runpy.run_path(str(path))["RECORDS"]
    }
    wrong = [
        *(f"{name} is left" for name in sorted(own & left)),
        *(
            f"rules/extensions/{name} is left"
            for name in names
            if (tree / "rules/extensions" / name).exists()
        ),
        *(f"{name} has no rule that is gone" for name in names if name in WITH_RULES and not gone),
        *(f"{page} has a runbook and no rule" for page in sorted(pages - alerts)),
        *(f"{alert} has a rule and no runbook" for alert in sorted(alerts - pages)),
        *(f"{name} is gone and of no extension" for name in sorted(gone) if ":" in name and name not in own),
    ]
    if [rule for rule in _all_rules() if rule_name(rule) in left] != rules:
        wrong.append("the other rules are not what they were")
    for rule in rules:
        texts = " ".join((str(rule["expr"]), *rule.get("annotations", {}).values()))
        wrong += [f"{rule_name(rule)} reads {name}" for name in RECORD.findall(texts) if name in gone]
    return wrong


@pytest.mark.parametrize("names", [*((name,) for name in WITH_RULES), registry.NAMES], ids="-".join)
def test_rules_go_with_their_extension(names, tree):
    """Its rules and runbooks are gone; the others are the same text and read none of them."""
    without.take_out(tree, names)

    assert _wrong_rules(tree, names) == []


@pytest.mark.parametrize("name", WITH_RULES)
def test_rules_that_stay_behind_are_seen(name, tree):
    """The planted defect: the rules of an extension are not taken out with it."""
    kept = tree / "rules" / "extensions"
    before = tree / "before"
    shutil.copytree(kept, before)
    without.take_out(tree, (name,))
    shutil.rmtree(kept)
    before.rename(kept)

    wrong = _wrong_rules(tree, (name,))

    assert f"rules/extensions/{name} is left" in wrong
    assert any(one.endswith("has a rule and no runbook") for one in wrong)


def test_a_rule_that_reads_a_record_of_an_extension_is_seen(tree):
    """The planted defect: an alert of the heart on traced requests would say nothing without them."""
    alerts = tree / "rules" / "alerts" / "tritonobs.libsonnet"
    record = "model_version:tritonobs_trace_samples:rate5m"
    alerts.write_text(alerts.read_text().replace("'vector(1) == 1'", f"'{record} == 1'"))
    without.take_out(tree, ("traces",))

    assert f"Watchdog reads {record}" in _wrong_rules(tree, ("traces",))


def test_every_folder_of_rules_is_a_line_and_an_extension():
    """A folder without its line is read by nothing; the lines are in the order of the alphabet."""
    lines = re.findall(
        r"^  (\w+): \{ rules: import '\1/rules.libsonnet', thresholds: import '\1/thresholds.json' \},$",
        (ROOT / "rules" / "extensions" / "extensions.libsonnet").read_text(),
        re.MULTILINE,
    )

    assert lines == sorted(path.name for path in (ROOT / "rules" / "extensions").iterdir() if path.is_dir())
    boards = {path.stem for path in (ROOT / "dashboards" / "extensions").glob("[a-z]*.py")}
    assert {*lines} | boards <= {*registry.NAMES}


def test_every_name_in_the_registry_is_there():
    """Functions are named as text, so a slip would show only in use."""
    for one in registry.extensions().values():
        named = [
            *(command.at for command in one.commands),
            *(target.at for target in one.targets),
            *filter(None, (one.artifacts, one.serve)),
            *one.answers.values(),
        ]
        assert all(callable(registry.resolved(at)) for at in named)
        assert set(one.answers) <= set(registry.QUESTIONS)


def test_every_folder_of_extensions_is_registered():
    """In the order of the alphabet, so that two branches seldom meet."""
    folders = {path.parent.name for path in (ROOT / "tritonobs" / "extensions").glob("*/__init__.py")}

    assert list(registry.NAMES) == sorted(folders)


def test_the_tests_of_every_command_go_with_its_extension():
    """The table by which tests are left out names every command that an extension brings."""
    below = {"limits"}
    brought = {
        f"{command.under} {command.name}" if command.under in below else command.name: name
        for name, one in registry.extensions().items()
        for command in one.commands
    }

    assert dict(BROUGHT) == brought, "BROUGHT in tests/support/needs.py"


def test_a_test_is_left_out_only_where_what_it_needs_is_gone(monkeypatch):
    """By its mark, or by the command that it is given."""

    def item(*needed, **parameters):
        return SimpleNamespace(
            iter_markers=lambda _: [SimpleNamespace(args=needed)], callspec=SimpleNamespace(params=parameters)
        )

    items = [
        item("triage", "lab"),
        item(command=("load", "--qps", "0")),
        item(arguments=("limits", "suggest", "--model", "m")),
        item(command=("limits", "list")),
        item(command="load"),
    ]

    assert not any(map(lacks, items))
    monkeypatch.setattr(registry, "NAMES", ("triage",))
    assert [lacks(one) for one in items] == [True, True, True, False, False]


def test_a_command_in_no_place_is_refused():
    """It would be in no list of commands, and no test would miss it."""
    with pytest.raises(
        ValueError,
        match=r"command price: found under='Fleet file'; allowed are Configure, On call, Practice, limits",
    ):
        registry.Command(under="Fleet file", name="price", help="…", at="…:price", order=1)


def test_each_question_has_one_answer():
    """Two would make the answer depend on an order."""
    answered = [question for one in registry.extensions().values() for question in one.answers]

    assert sorted(answered) == sorted(registry.QUESTIONS)


def _commands(function: ast.FunctionDef) -> set[str]:
    """The extensions whose commands a test gives to `run`, the fixture of the command line."""
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    runs = [call.args for call in calls if ast.unparse(call.func) == "run"]
    lines = ([word.value for word in words if isinstance(word, ast.Constant)] for words in runs)
    return {name for words in lines for name in extensions_of(words)}


def _marked(function: ast.FunctionDef) -> set[str]:
    calls = (node for one in function.decorator_list for node in ast.walk(one) if isinstance(node, ast.Call))
    return {
        ast.literal_eval(name)
        for call in calls
        if ast.unparse(call.func) == "pytest.mark.needs"
        for name in call.args
    }


def test_who_runs_a_command_of_an_extension_goes_with_it():
    """By its file, which imports the extension or is in its folder, or by a mark of its own."""
    stay = []
    for path in sorted(ROOT.glob("tests/**/test_*.py")):
        text = path.read_text(encoding="utf-8")
        goes = {name for name in registry.NAMES if f"tritonobs.extensions.{name}" in text}
        goes |= {path.relative_to(ROOT / "tests").parts[0]}
        for test in ast.walk(ast.parse(text)):
            if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
                lacking = _commands(test) - goes - _marked(test)
                stay += [f"{path.relative_to(ROOT)}::{test.name} needs {name}" for name in lacking]
    assert stay == []
