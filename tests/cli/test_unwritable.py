"""Output that cannot be written: closed, on a full disk, or with a reader that has left."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import click
import pytest

from tritonobs.cli import COMMANDS, group

FLEET = Path(__file__).parents[2] / "examples" / "fleet.yaml"
FAULTS = {">&-": "Bad file descriptor", ">/dev/full": "No space left on device"}


def _each(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _each(below, (*words, name))


HELPS = [(*words, "--help") for words in _each(group, ())]
RESULTS = [
    ("--version",),
    ("validate", str(FLEET)),
    ("validate", "--format", "json", str(FLEET)),
    ("schema",),
    ("schema", "--markdown"),
    ("completion", "bash"),
    ("limits", "list", str(FLEET)),
]


def ended(words: tuple[str, ...], redirected: str) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of a command under a shell's redirections."""
    command = f"exec {shlex.join((sys.executable, '-m', 'tritonobs', *words))} {redirected}"
    done = subprocess.run(
        ["/bin/bash", "-c", command], capture_output=True, text=True, timeout=240, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_every_command_is_tried() -> None:
    """With the commands of groups."""
    assert {words[0] for words in HELPS if len(words) > 1} == set(COMMANDS)
    assert ("limits", "set", "--help") in HELPS


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        # Each takes a process; what a command does with either fault is the same.
        *(
            pytest.param(words, fault, id=f"{' '.join(words)} {fault}")
            for words in RESULTS
            for fault in FAULTS
        ),
        *(
            pytest.param(words, fault, id=f"{' '.join(words)} {fault}")
            for words, fault in zip(HELPS, cycle(FAULTS), strict=False)
        ),
    ],
)
def test_a_result_that_cannot_be_written_is_said_in_one_line(words: tuple[str, ...], fault: str) -> None:
    """The status says that it could not be done; Python says nothing of its own."""
    status, _, errors = ended(words, fault)

    assert (status, errors.splitlines()) == (3, [f"tritonobs: the output: {FAULTS[fault]}"])


@pytest.mark.parametrize("words", RESULTS[:4], ids=" ".join)
@pytest.mark.parametrize("fault", ["2>&-", "2>/dev/full"])
def test_without_stderr_the_result_is_the_same(words: tuple[str, ...], fault: str) -> None:
    """What would be said beside it goes nowhere."""
    assert ended(words, fault)[:2] == ended(words, "2>/dev/null")[:2]


@pytest.mark.parametrize("redirected", [">&- 2>&-", ">/dev/full 2>/dev/full", "<&- >&- 2>&-"])
def test_without_any_output_the_status_tells(redirected: str) -> None:
    """Also where the numbers of all standard streams are free for files that a command opens."""
    assert ended(("validate", str(FLEET)), redirected)[0] == 3
    assert ended(("validate", "no-such-file.yaml"), redirected)[0] in {1, 2, 3}


def test_a_file_that_is_read_is_not_taken_for_a_closed_stream(tmp_path: Path) -> None:
    """Files get numbers of their own, so nothing is written into them."""
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(FLEET.read_text(encoding="utf-8"), encoding="utf-8")
    ended(("limits", "list", str(fleet)), "<&- >&- 2>&-")

    assert fleet.read_text(encoding="utf-8") == FLEET.read_text(encoding="utf-8")


def test_a_reader_that_leaves_ends_a_command_as_ever() -> None:
    """`| head` is no failure to report."""
    command = f"{shlex.join((sys.executable, '-m', 'tritonobs', 'schema'))} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["/bin/bash", "-c", command], capture_output=True, text=True, timeout=240, check=False
    )

    assert (done.stdout, done.stderr) == ("141\n", "")
