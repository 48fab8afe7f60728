"""The log of limits: complete, in order, and every tampering shows."""

from __future__ import annotations

import json
import multiprocessing
import resource
import signal
from datetime import datetime, timezone
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from tritonobs.errors import FileUnusable
from tritonobs.limits.change import LIMITS_LOG_VARIABLE, log_of, note_file
from tritonobs.limits.log import ANNOTATION, COMMAND, FILE, FIRST, Author, LimitsLog
from tritonobs.plan.fleet import QpsLimit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOW = datetime(2026, 11, 11, 8, tzinfo=timezone.utc)
ALICE = Author(who="alice@desk", source=COMMAND, reason="new GPU")


def _limit(qps: str, model: str = "a", **more: object) -> QpsLimit:
    return QpsLimit(model=model, version="", qps=Decimal(qps), origin=f"models.{model}.qps_limit", **more)


def _record(log: LimitsLog, *limits: QpsLimit, author: Author = ALICE) -> list[tuple[str, str, str]]:
    with log.turn():
        entries = log.record({limit.origin: limit for limit in limits}, author, NOW)
    return [(entry.field, entry.old, entry.new) for entry in entries]


def test_only_what_changed_is_recorded(tmp_path: Path) -> None:
    """New, changed, gone; a second look at the same limits adds nothing."""
    log = LimitsLog(tmp_path / "log")

    assert _record(log, _limit("8"), _limit("5", "b")) == [
        ("models.a.qps_limit", "", "8"),
        ("models.b.qps_limit", "", "5"),
    ]
    assert _record(log, _limit("8.0"), _limit("5", "b")) == []
    assert _record(log, _limit("Infinity")) == [
        ("models.a.qps_limit", "8", "unlimited"),
        ("models.b.qps_limit", "5", ""),
    ]
    assert log.read()[1] == ()


def test_an_entry_says_who_when_what_and_why(tmp_path: Path) -> None:
    """One JSON line, readable without tritonobs."""
    log = LimitsLog(tmp_path / "log")
    _record(log, _limit("20", valid_from=NOW, valid_until=NOW.replace(hour=9)))

    (line,) = (tmp_path / "log").read_text().splitlines()
    value = json.loads(line)

    assert len(value.pop("hash")) == 64
    assert value == {
        "number": 1,
        "at": "2026-11-11T08:00:00.000+00:00",
        "who": "alice@desk",
        "source": "command",
        "field": "models.a.qps_limit",
        "model": "a",
        "version": "",
        "old": "",
        "new": "20 from 2026-11-11T08:00:00+00:00 until 2026-11-11T09:00:00+00:00",
        "reason": "new GPU",
        "previous": FIRST,
    }


def test_sources_do_not_forget_each_other(tmp_path: Path) -> None:
    """What an annotation holds is not a change of the file; the file and the command are one source."""
    log = LimitsLog(tmp_path / "log")
    noticed = Author(who="kubectl", source=ANNOTATION)
    _record(log, _limit("8"))

    assert _record(log, _limit("9", "x"), author=noticed) == [("models.x.qps_limit", "", "9")]
    assert _record(log, _limit("8"), author=Author(who="?", source=FILE)) == []
    assert _record(log, author=noticed) == [("models.x.qps_limit", "9", "")]


def _edit(old: str, new: str) -> Callable[[list[str]], list[str]]:
    return lambda lines: [lines[0], lines[1].replace(old, new), *lines[2:]]


TAMPERED = [
    pytest.param(
        _edit('"alice@desk"', '"bob@desk"'),
        ["2: entry 2 was changed after it was written"],
        id="a name changed",
    ),
    pytest.param(
        _edit('"new": "9"', '"new": "90"'), ["2: entry 2 was changed after it was written"], id="a value"
    ),
    pytest.param(
        lambda lines: [lines[0], *lines[2:]],
        ["2: entry 3 does not follow from entry 1: lines were removed, inserted or moved"],
        id="a line taken out",
    ),
    pytest.param(
        lambda lines: lines[1:],
        ["1: entry 2 does not follow from the beginning: lines were removed, inserted or moved"],
        id="the first line taken out",
    ),
    pytest.param(
        lambda lines: [lines[0], lines[1], lines[1], lines[2]],
        ["3: entry 2 does not follow from entry 2: lines were removed, inserted or moved"],
        id="a line put in twice",
    ),
    pytest.param(
        lambda lines: [lines[0], lines[2], lines[1]],
        [
            "2: entry 3 does not follow from entry 1: lines were removed, inserted or moved",
            "3: entry 2 does not follow from entry 3: lines were removed, inserted or moved",
        ],
        id="lines moved",
    ),
    pytest.param(
        _edit('{"number"', '{"nmber"'),
        [
            "2: is not an entry of this log: cut by a crash, or not written by tritonobs",
            "3: entry 3 does not follow from entry 1: lines were removed, inserted or moved",
        ],
        id="a line that is not an entry",
    ),
    pytest.param(
        _edit('"new": "9"', '"new":  "9"'),
        ["2: entry 2 is not as tritonobs writes it: spaces, order or names were changed"],
        id="a space",
    ),
    pytest.param(
        _edit('"new": "9"', '"new": "90", "new": "9"'),
        ["2: entry 2 is not as tritonobs writes it: spaces, order or names were changed"],
        id="a name twice",
    ),
    pytest.param(
        _edit(', "hash"', ', "extra": "1", "hash"'),
        [
            "2: is not an entry of this log: cut by a crash, or not written by tritonobs",
            "3: entry 3 does not follow from entry 1: lines were removed, inserted or moved",
        ],
        id="a field added",
    ),
]


@pytest.mark.parametrize(("tamper", "complaints"), TAMPERED)
def test_tampering_shows(
    tmp_path: Path, tamper: Callable[[list[str]], list[str]], complaints: list[str]
) -> None:
    """Each line that does not belong is named."""
    path = tmp_path / "log"
    log = LimitsLog(path)
    for qps in ("8", "9", "10"):
        _record(log, _limit(qps))
    lines = path.read_text().splitlines()
    tampered = tamper(lines)
    assert tampered != lines
    path.write_text("\n".join(tampered) + "\n")

    assert [f"{finding.place.line}: {finding.message}" for finding in log.read()[1]] == complaints


def test_a_line_torn_by_a_crash_loses_nothing_that_comes_later(tmp_path: Path) -> None:
    """The torn line is taken out with a note, and the log is whole again."""
    path = tmp_path / "log"
    log = LimitsLog(path)
    _record(log, _limit("8"))
    with path.open("a") as file:
        file.write('{"number": 2, "at": "20')

    assert _record(log, _limit("9")) == [("models.a.qps_limit", "8", "9")]
    entries, findings = log.read()
    assert [(entry.source, entry.new, entry.reason) for entry in entries] == [
        ("command", "8", "new GPU"),
        ("repair", "", "removed a line of 23 bytes that a crash had cut"),
        ("command", "9", "new GPU"),
    ]
    assert findings == ()


def test_a_whole_line_without_its_end_is_kept(tmp_path: Path) -> None:
    """Only the newline was lost: nothing is removed, and the next change follows from that line."""
    path = tmp_path / "log"
    log = LimitsLog(path)
    _record(log, _limit("8"))
    _record(log, _limit("9"))
    written = path.read_bytes()
    path.write_bytes(written.removesuffix(b"\n"))

    assert log.needs_healing()
    assert _record(log, _limit("10")) == [("models.a.qps_limit", "9", "10")]
    assert path.read_bytes().startswith(written)
    entries, findings = log.read()
    assert [(entry.source, entry.new) for entry in entries] == [
        ("command", "8"),
        ("command", "9"),
        ("command", "10"),
    ]
    assert findings == ()


@pytest.mark.parametrize("room", [0, 10, 100])
def test_lines_that_do_not_fit_on_the_disk_leave_the_log_as_it_was(tmp_path: Path, room: int) -> None:
    """Some bytes were written before the disk was full: not one of them is left."""
    path = tmp_path / "log"
    log = LimitsLog(path)
    _record(log, _limit("8"))
    before = path.read_bytes()
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Python ignores the signal, as every program does that wants the error instead.
    assert signal.getsignal(signal.SIGXFSZ) == signal.SIG_IGN

    with log.turn():
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + room, most[1]))
        try:
            with pytest.raises(FileUnusable, match="log: the log of limits cannot be written"):
                log.record({"models.a.qps_limit": _limit("9")}, ALICE, NOW)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, most)

    assert path.read_bytes() == before


def _writer(path: Path, name: str) -> None:
    log = LimitsLog(path)
    for turn in range(25):
        with log.turn(patience_seconds=120):
            known = {f"f{number}": _limit("1", f"f{number}") for number in range(len(log.read()[0]))}
            known[f"f{len(known)}"] = _limit("1", f"f{len(known)}")
            log.record(known, Author(who=f"{name} {turn}", source=COMMAND), NOW)


def test_writers_take_turns(tmp_path: Path) -> None:
    """Four processes at once leave one unbroken chain with every entry in it."""
    path = tmp_path / "log"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_writer, args=(path, f"writer {number}")) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)

    entries, findings = LimitsLog(path).read()
    assert findings == ()
    assert [entry.number for entry in entries] == list(range(1, 101))
    assert len({entry.who for entry in entries}) == 100


def test_a_log_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A file where a folder should be: a sentence with the path."""
    (tmp_path / "file").write_text("")

    with pytest.raises(FileUnusable, match="file/log: the log of limits cannot be written"):
        _record(LimitsLog(tmp_path / "file" / "log"), _limit("8"))


@pytest.mark.parametrize(
    ("field", "variable", "place"),
    [
        pytest.param("", "", "fleet.limits.jsonl", id="beside the fleet file"),
        pytest.param("limits_log: told.jsonl\n", "", "told.jsonl", id="where the file says"),
        pytest.param("limits_log: told.jsonl\n", "far/log", "far/log", id="where the environment says"),
    ],
)
def test_the_log_is_where_somebody_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, field: str, variable: str, place: str
) -> None:
    """The environment takes precedence over the file: in a container the file is the host's."""
    path = tmp_path / "fleet.yaml"
    path.write_text(
        f'{field}fleet: f\nreplicas: [{{name: a, url: "http://10.0.0.1"}}]\nmodels: {{m: {{qps_limit: 8}}}}\n'
    )
    monkeypatch.setenv(LIMITS_LOG_VARIABLE, variable)

    assert log_of(path).path == tmp_path / place
    assert [entry.new for entry in note_file(path)] == ["8"]
    assert (tmp_path / place).exists()
