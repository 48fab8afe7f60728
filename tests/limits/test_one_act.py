"""A limit in the fleet file and its line in the log: both or neither, whatever happens between them."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from tritonobs.errors import FileUnusable
from tritonobs.limits.change import Change, log_of, set_limit, verify_log
from tritonobs.limits.log import LimitsLog, note_of
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FLEET = """\
fleet: f
replicas: [{name: a, url: "http://10.0.0.1"}]
models:
  m:
    qps_limit: 8  # what the GPU takes
"""


@pytest.fixture(name="fleet")
def _fleet(tmp_path: Path) -> Path:
    path = tmp_path / "fleet.yaml"
    path.write_text(FLEET)
    _set(path, 9)
    return path


def _set(path: Path, qps: int, reason: str = "because") -> None:
    set_limit(path, Change(per_second=Decimal(qps), model="m"), who="alice", reason=reason)


def _limit(path: Path) -> Decimal | None:
    return load_fleet(path).models["m"].qps_limit


def _forked(work: Callable[[], None]) -> int:
    """A child that does the work and ends, without the test's own clean-up."""
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            work()
        os._exit(0)
    return child


def _whole(path: Path, *allowed: int) -> None:
    """The file has one of the limits, the log ends with it, nothing is torn and nothing is left over."""
    with log_of(path).turn():
        assert _limit(path) in allowed
    assert verify_log(path)[0] == ()
    assert log_of(path).read()[0][-1].new == str(_limit(path))
    assert sorted(one.name for one in path.parent.iterdir() if one.name != "ballast") == [
        "fleet.limits.jsonl",
        "fleet.yaml",
    ]


def test_killed_before_any_of_its_steps_a_change_happened_or_did_not(fleet: Path) -> None:
    """One run for each time the change touches a file: it is killed there, and what is left is whole."""
    steps = ("open", "os.rename", "os.remove", "os.truncate", "os.mkdir", "tempfile.mkstemp", "fcntl.flock")
    ended, step = -1, 0
    while ended != 0:
        step += 1

        def work(limit: int = 100 + step, at: int = step) -> None:
            seen = 0

            def watch(event: str, _: object) -> None:
                nonlocal seen
                seen += event in steps
                if event in steps and seen == at:
                    os.kill(os.getpid(), signal.SIGKILL)

            sys.addaudithook(watch)
            _set(fleet, limit)

        before = _limit(fleet)
        _, ended = os.waitpid(_forked(work), 0)
        assert before is not None
        _whole(fleet, int(before), 100 + step)
    assert step > 12
    assert _limit(fleet) == 100 + step


def test_killed_at_a_hundred_random_moments_a_change_happened_or_did_not(fleet: Path) -> None:
    """A process that sets one limit after the other, killed whenever."""
    moments = random.Random(15)  # noqa: S311 (moments, no secret)

    def work() -> None:
        for qps in range(1, 1_000):
            _set(fleet, qps)

    for _ in range(100):
        child = _forked(work)
        time.sleep(moments.uniform(0, 0.06))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        _whole(fleet, *range(1, 1_000))


@contextmanager
def _full_disk(_: Path) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = 600
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_limit_on_the_size_of_files_leaves_both_as_they_were(fleet: Path) -> None:
    """The log would outgrow it: a sentence, and not a byte has changed."""
    kept = fleet.read_bytes(), log_of(fleet).path.read_bytes()

    with (
        _full_disk(fleet),
        pytest.raises(FileUnusable, match="the log of limits cannot be written: File too large"),
    ):
        _set(fleet, 10)

    assert (fleet.read_bytes(), log_of(fleet).path.read_bytes()) == kept
    _set(fleet, 10)
    _whole(fleet, 10)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a disk of a few kilobytes")
@pytest.mark.parametrize("free", range(5))
def test_a_full_disk_leaves_both_as_they_were(tmp_path: Path, free: int) -> None:
    """However many pages are left: both or neither, and the next change works when there is room."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["/bin/mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a tmpfs here: {mounted.stderr.decode().strip()}")
    try:
        fleet = disk / "fleet.yaml"
        fleet.write_text(FLEET)
        _set(fleet, 9)
        room = os.statvfs(disk).f_bavail
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(4096 * (room - free)))

        with suppress(FileUnusable):
            _set(fleet, 10, reason="x" * 3_000)

        _whole(fleet, 9, 10)
        ballast.unlink()
        _set(fleet, 11)
        _whole(fleet, 11)
    finally:
        subprocess.run(["/bin/umount", disk], check=True)


@pytest.mark.parametrize(
    "reason",
    [
        pytest.param("bad \udcff\udc80 bytes", id="bytes that are no text"),
        pytest.param("a\u2028b\u2029c\x85d\x0be", id="what Unicode calls ends of lines"),
        pytest.param("a\nb\r\n\x1b[2Jc\0", id="controls"),
        pytest.param("\u202egpj", id="right to left"),
        pytest.param("新 GPU 👩‍🔧", id="Chinese and emoji"),
    ],
)
def test_any_reason_can_be_read_back(fleet: Path, reason: str) -> None:
    """`verify` reads what `set` wrote, one line an entry, nothing in it that drives a terminal."""
    _set(fleet, 10, reason=reason)

    assert verify_log(fleet)[0] == ()
    assert log_of(fleet).read()[0][-1].reason == reason
    text = log_of(fleet).path.read_bytes().decode()
    assert all(letter.isprintable() for letter in text.replace("\n", ""))
    assert [json.loads(line)["new"] for line in text.split("\n")[:-1]] == ["8", "9", "10"]


def test_a_stopped_program_in_its_turn_does_not_stop_others(fleet: Path) -> None:
    """It is waited for a moment, then the others are told."""
    log = log_of(fleet)
    told, tell = os.pipe()

    def work() -> None:
        with log.turn():
            os.write(tell, b"x")
            signal.pause()

    child = _forked(work)
    os.read(told, 1)
    os.kill(child, signal.SIGSTOP)
    try:
        with (
            pytest.raises(FileUnusable, match="is being changed by another program for 0 s already"),
            log.turn(patience_seconds=0.1),
        ):
            pytest.fail("it was not our turn")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    _set(fleet, 10)
    _whole(fleet, 10)


def test_a_change_between_two_looks_is_no_finding(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`verify` reads the log, somebody sets a limit, `verify` reads the fleet file: both are right."""
    read, changed = LimitsLog.read, list[int]()

    def read_and_change(log: LimitsLog) -> object:
        seen = read(log)
        if not changed:
            changed.append(10)
            _set(fleet, 10)
        return seen

    monkeypatch.setattr(LimitsLog, "read", read_and_change)

    findings, last = verify_log(fleet)

    assert findings == ()
    assert last == read(log_of(fleet))[0][-1].hash
    assert changed


def test_a_log_that_is_no_file_is_a_sentence(fleet: Path) -> None:
    """A pipe nobody reads is no log, and waits for nobody."""
    log_of(fleet).path.unlink()
    os.mkfifo(log_of(fleet).path)

    with pytest.raises(FileUnusable, match="the log of limits is not a regular file"):
        _set(fleet, 10)
    with pytest.raises(FileUnusable, match="the log of limits is a pipe"):
        verify_log(fleet)


def test_a_damaged_note_of_a_change_is_a_sentence(fleet: Path) -> None:
    """Nobody guesses what it may have said."""
    note_of(log_of(fleet).path).write_text("{")

    with pytest.raises(FileUnusable, match="is damaged; remove it, then check with: tritonobs limits verify"):
        _set(fleet, 10)
    assert _limit(fleet) == 9
