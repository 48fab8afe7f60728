"""How many files one more of something touches, counted by adding it to a copy of the tree.

With all of the touches the tests that ask for completeness pass; without any one of them a test fails and
names it. So the numbers are what is needed, and CONTRIBUTING.md says the same.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))

import without

_CHECK: Final = {
    "tritonobs/extensions/triage/checks/full_moon.py": '''"""The moon is full."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs.extensions.triage.check import LATE, check
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause


@check(order=275, explains=LATE)
def judge(view: View) -> Iterator[Cause]:
    """Nothing, on a healthy fleet."""
    if view.snapshot.model == "moon":
        yield Cause(place=("moon", ""), sentence="the moon is full", confidence=0.5)
''',
    "docs/checks/full_moon.md": "# full_moon\n\nThe moon is full.\n",
    "docs/checks/README.md": "| [full_moon](full_moon.md) | The moon is full. |\n",
    "tests/triage/checks/test_full_moon.py": '''"""The moon."""


def test_a_new_moon_is_no_news(fleet):
    """The silent twin."""
    assert "full_moon" not in fleet.checks()
''',
}
_CHECK_TESTS: Final = ("tests/triage/checks/test_healthy.py", "tests/triage/checks/test_full_moon.py")


@pytest.fixture(name="tree", scope="module")
def _tree(tmp_path_factory):
    """A copy of the tree."""
    folder = tmp_path_factory.mktemp("places") / "tree"
    without.copy_tree(folder)
    return folder


def _passes(tree: Path, tests: tuple[str, ...]) -> bool:
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-x", *tests]
    environment = {**os.environ, "PYTHONPATH": f"{tree}{os.pathsep}{tree / 'tests'}"}
    done = subprocess.run(words, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    return done.returncode == 0


def _add(tree: Path, touches: dict[str, str]) -> dict[Path, str | None]:
    """Make them, and give what was there before."""
    before: dict[Path, str | None] = {}
    for name, text in touches.items():
        path = tree / name
        before[path] = path.read_text(encoding="utf-8") if path.exists() else None
        path.write_text((before[path] or "") + text, encoding="utf-8")
    return before


def _put_back(before: dict[Path, str | None]) -> None:
    for path, text in before.items():
        if text is None:
            path.unlink()
        else:
            path.write_text(text, encoding="utf-8")


def test_one_more_check_of_triage_touches_four_files(tree):
    """The check, its page, its row in the table of pages, its test."""
    assert len(_CHECK) <= 4
    before = _add(tree, _CHECK)
    try:
        assert _passes(tree, _CHECK_TESTS)
    finally:
        _put_back(before)


@pytest.mark.parametrize("left_out", [name for name in _CHECK if not name.startswith("tests/")])
def test_each_touch_of_a_check_is_asked_for(tree, left_out):
    """Who forgets one is told."""
    before = _add(tree, {name: text for name, text in _CHECK.items() if name != left_out})
    try:
        assert not _passes(tree, _CHECK_TESTS)
    finally:
        _put_back(before)
