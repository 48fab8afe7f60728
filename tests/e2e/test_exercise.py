"""The exercise of docs/on-call.md, step by step, on a stack that has just seen a demo's overflow.

Its times are a quarter of the printed ones. With TRITONOBS_EXERCISE=printed they are as printed, after the
real demo: a quarter of an hour.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tritonobs.units import format_duration, parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

PAGE = (Path(__file__).parents[2] / "docs" / "on-call.md").read_text(encoding="utf-8")
EXERCISE = PAGE.split("## A 15-minute exercise")[1].split("### Other ports")[0]
AS_PRINTED = os.environ.get("TRITONOBS_EXERCISE") == "printed"
FASTER = 1 if AS_PRINTED else 4
TIMES = {"--duration", "--since", "--window"}
"""Options whose times are shortened; `--step` of `limits suggest` stands nowhere and is added."""
PATIENCE_SECONDS = 600.0
CALM_SECONDS, OVERFLOW_SECONDS = 180.0 if AS_PRINTED else 80.0, 20.0
TRIES, OF_THE_MACHINE = 3, {"slow_machine", "cpu_starved", "queue_saturation"}
"""What a busy machine adds to any verdict."""


def _commands(step: str) -> list[list[str]]:
    """The commands that stand below the heading of a step, in order."""
    text = EXERCISE.split(f"**{step}")[1].split("**", 2)[1].split("\n**")[0]
    lines = re.findall(r"^    (tritonobs .+)$", text.split("Stop the stack")[0], re.MULTILINE)
    inline = re.findall(r"`(tritonobs [^`]+)`", text)
    return [shlex.split(line)[1:] for line in (lines or inline)]


def _shortened(words: list[str]) -> list[str]:
    """The same command with its times a part as long."""
    return [
        format_duration(float(parse_duration(word)) / FASTER) if before in TIMES else word
        for before, word in zip(["", *words], words, strict=False)
    ]


def _run(folder: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tritonobs", *_shortened(words)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


@contextmanager
def _loaded(folder: Path, words: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Load in the background. Ctrl-C would not end it where the tests run in the background themselves."""
    load = subprocess.Popen(
        [sys.executable, "-m", "tritonobs", *words],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield load
    finally:
        load.terminate()
        load.wait(60)


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a running stack, over whose limit somebody has just been: the demo, or as much load."""
    folder = tmp_path_factory.mktemp("exercise")
    started = [["demo", "--keep"]] if AS_PRINTED else [["up", "--free-ports", "--detach"]]
    overflow = ["load", "--qps", "20", "--duration", f"{OVERFLOW_SECONDS * FASTER:.0f}s"]
    try:
        for words in started:
            done = _run(folder, words)
            assert done.returncode == 0, done.stdout + done.stderr
        if not AS_PRINTED:
            assert _run(folder, overflow).returncode in {0, 1}
        yield folder
    finally:
        _run(folder, ["down"])


@pytest.fixture(name="usual", scope="module")
def _usual(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The first load of the page, of the second terminal, after the minutes in which nothing is wrong."""
    line, *_ = re.findall(r"^    (tritonobs load .+)$", EXERCISE, re.MULTILINE)
    with _loaded(folder, shlex.split(line)[1:]) as load:
        until = time.monotonic() + CALM_SECONDS
        while time.monotonic() < until:
            time.sleep(1.0)
            assert load.poll() is None
        yield load


def _causes(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The checks that are named as causes, but for what a busy machine adds."""
    named = re.findall(r"^  (\w+), confidence \d+%", done.stdout, re.MULTILINE)
    return [check for check in named if check not in OF_THE_MACHINE]


def test_commands_without_options_find_the_stack_that_runs_here(folder: Path) -> None:
    """What the demo prints at its end can be copied."""
    done = _run(folder, ["status"])

    assert done.returncode == 0, done.stdout + done.stderr
    assert _run(folder, ["top", "--once"]).returncode == 0


@pytest.mark.usefixtures("usual")
def test_step_1_nothing_is_wrong(folder: Path) -> None:
    """The overflow of the demo is not a part of the baseline."""
    (words,) = _commands("1. ")
    done = _run(folder, words)

    assert done.returncode in {0, 1}, done.stdout + done.stderr
    assert _causes(done) == [], done.stdout


@pytest.mark.usefixtures("usual")
@pytest.mark.parametrize(
    ("step", "check"),
    [
        pytest.param("2. ", "error_surge", id="bad images"),
        pytest.param("3. ", "larger_inputs", id="larger images"),
        pytest.param("4. ", "qps_limit", id="too much"),
    ],
)
def test_a_step_names_the_cause_the_page_promises(folder: Path, step: str, check: str) -> None:
    """Load and triage as printed; the page says what triage says.

    A busy machine gets another try, after a calm: what is tried again must not stand in its own baseline.
    """
    load, *rest = [words for words in _commands(step) if words[:2] != ["limits", "suggest"]]
    for attempt in range(TRIES):
        time.sleep(CALM_SECONDS if attempt else 0.0)
        sent = _run(folder, load)
        assert sent.returncode in {0, 1}, sent.stderr
        done = _run(folder, rest[0])
        if _causes(done):
            break

    assert f"`{check}`" in EXERCISE
    assert _causes(done)[:1] == [check], done.stdout
    for words in rest[1:]:
        assert _run(folder, words).returncode == 0


def test_step_4_ends_with_a_limit_found_by_load(folder: Path, usual: subprocess.Popen[bytes]) -> None:
    """When the usual load has ended. Eight steps, fewer when nothing is answered any more."""
    usual.terminate()
    usual.wait(60)
    (words,) = [words for words in _commands("4. ") if words[:2] == ["limits", "suggest"]]
    done = _run(folder, words if AS_PRINTED else [*words, "--step", "3s"])

    assert done.returncode in {0, 3}, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_step_5_a_limit_is_tried_on_what_happened(folder: Path) -> None:
    """There would have been alerts: exit status 1, and a table."""
    (words,) = _commands("5. ")
    done = _run(folder, words)

    assert done.returncode == 1, done.stdout + done.stderr


def test_every_command_of_the_page_is_read(folder: Path) -> None:
    """Options that do not exist would end with 2."""
    assert folder.exists()
    for step in ("1. ", "2. ", "3. ", "4. ", "5. "):
        assert _commands(step)
