"""What can be taken out can be taken out: each extension by itself, and all of them together."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tritonobs import registry

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import without  # noqa: E402 (tools are programs and no package)

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


@pytest.fixture(name="tree")
def _tree(tmp_path):
    """A copy of the tree. It goes, because the last test looks for the practice stack's made-up secrets."""
    folder = tmp_path / "tree"
    without.copy_tree(folder)
    yield folder
    shutil.rmtree(folder)


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
    there = subprocess.run(
        [sys.executable, "-c", "from tritonobs.cli import COMMANDS; print(*COMMANDS)"],
        capture_output=True,
        text=True,
        check=True,
    )

    without.take_out(tree, names)
    done = _loaded(tree)

    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1:] != []
    assert set(done.stdout.splitlines()[-1].split()) == set(there.stdout.split()) - gone


def test_what_the_heart_imports_cannot_be_taken_out(tree):
    """The planted defect: one import of the heart, late as they often are, is seen."""
    without.take_out(tree, ("history",))
    limits = tree / "tritonobs" / "cli" / "limits.py"
    limits.write_text(limits.read_text() + "\n\nfrom tritonobs.extensions.history import suggest  # noqa\n")

    done = _loaded(tree)

    assert done.returncode == 1
    assert "tritonobs.extensions.history" in done.stderr


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


def test_each_question_has_one_answer():
    """Two would make the answer depend on an order."""
    answered = [question for one in registry.extensions().values() for question in one.answers]

    assert sorted(answered) == sorted(registry.QUESTIONS)
