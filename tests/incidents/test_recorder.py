"""The flight recorder's folder: what is kept, what goes, and what a bad disk does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from support.incidents.conversations import EPOCH, Listener, alert_of, heard
from tritonobs import files
from tritonobs.errors import FileUnusable
from tritonobs.extensions.incidents import recorder as module
from tritonobs.extensions.incidents.cost import Charged, LimitChanged, Requests, Silenced, VersionLoaded, cost
from tritonobs.extensions.incidents.incident import ident
from tritonobs.extensions.incidents.join import FORGOTTEN_SECONDS, join
from tritonobs.extensions.incidents.recorder import Entry, Moment, Recorder, entry_of, resumed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FAST = "TritonErrorBudgetBurnFast"


def _reading(note: str = "", filler: int = 0) -> Callable[[Path], None]:
    """What triage would write: a text of this size, replaced as a whole."""
    return lambda path: files.replace(path, json.dumps({"note": note, "filler": "x" * filler}).encode())


@pytest.fixture
def entry(life, fleet):
    """Makes entries of incidents that began at a time and are over, or not."""

    def make(since: float, until: float | None = None, model: str = "ocr") -> Entry:
        at = since if until is None else until + 400
        state = heard([life(FAST, since, until, model=model)], fleet, until=at).state
        (incident,) = (*state.open.values(), *state.closed.values())
        return entry_of(incident, EPOCH + at)

    return make


@pytest.fixture
def folder(tmp_path) -> Path:
    """Not there yet."""
    return tmp_path / "state" / "incidents"


def test_an_incident_is_read_back_as_it_was_kept(life, fleet, cause, verdict, folder) -> None:
    """Place, times, causes, alerts, and the bill with all that was done."""
    listener = Listener(fleet=fleet)
    lives = [
        life(FAST, 60, model="nms", version="2"),
        life("TritonWorkerDead", 70, model="nms", replica="triton-1"),
    ]
    listener.hear(
        80, [alert_of(one, 80) for one in lives], verdict(cause("bad_deploy", "nms", "2", since=40))
    )
    (incident,) = listener.state.open.values()
    bill = cost(
        incident,
        EPOCH + 90,
        fleet,
        requests=[Requests(model="nms", failed=3, late=4.5)],
        charged=[
            Charged(
                model="nms", version="", slo="a", objective_ratio=Decimal("0.999"), bad=3, period_valid=9e6
            )
        ],
        done=[
            LimitChanged(at=EPOCH + 50, who="lee", model="nms", version="", old="8", new="", reason=""),
            VersionLoaded(at=EPOCH + 60, model="nms", version="2"),
            Silenced(at=EPOCH + 70, who="kim", until=EPOCH + 99, matchers=('model="nms"',), models=("nms",)),
        ],
    )
    kept = entry_of(incident, EPOCH + 90, bill)

    Recorder(folder).keep(kept)

    entries, wrong = Recorder(folder).entries()
    assert (entries, wrong) == ((kept,), ())
    (found,) = entries
    assert (found.id, found.worst, found.closed) == (incident.id, "critical", False)
    assert (found.models, found.versions, found.replicas) == (("nms",), (("nms", "2"),), ("triton-1",))
    assert (found.since, found.causes[0].sentence) == (EPOCH + 40, "bad_deploy at nms/2")
    assert [one.labels["alertname"] for one in found.alerts] == [FAST, "TritonWorkerDead"]
    assert found.cost == bill


def test_readings_are_what_triage_reads(entry, folder) -> None:
    """The first stays, the worst and the end are the newest."""
    recorder, one = Recorder(folder), entry(60)
    recorder.keep(one)
    for number in (1, 2):
        for moment in Moment:
            recorder.save(one.id, moment, _reading(f"{moment.value} {number}"), EPOCH + 60)

    found = recorder.load(one.id)

    assert found.entry == one
    assert set(found.readings) == set(Moment)
    notes = {moment: json.loads(path.read_text())["note"] for moment, path in found.readings.items()}
    assert notes == {Moment.FIRST: "first 1", Moment.WORST: "worst 2", Moment.END: "end 2"}
    assert sorted(path.name for path in folder.iterdir()) == [
        f"{one.id}.end.json",
        f"{one.id}.first.json",
        f"{one.id}.json",
        f"{one.id}.worst.json",
    ]


def test_the_newest_is_listed_first_and_the_same_entry_is_replaced(entry, folder) -> None:
    """One of each incident."""
    recorder = Recorder(folder)
    first, second = entry(60), entry(600)
    for one in (first, second, first.model_copy(update={"worst": "warning"})):
        recorder.keep(one)

    entries, _ = recorder.entries()

    assert [(one.id, one.worst) for one in entries] == [(second.id, "critical"), (first.id, "warning")]


def test_a_folder_that_is_not_there_has_no_incidents(folder) -> None:
    """Nothing is made by looking."""
    assert Recorder(folder).entries() == ((), ())
    assert not folder.exists()


@pytest.mark.parametrize(
    "asked", ["../../etc/passwd", "", "20270115-0801-zzzzzzzzzz", "20270115-0801-0123456789/x"]
)
def test_what_is_no_id_opens_no_file(folder, asked) -> None:
    """Whoever asks may write anything."""
    with pytest.raises(FileUnusable, match="is not the id of an incident"):
        Recorder(folder).load(asked)
    with pytest.raises(ValueError, match="is not the id of an incident"):
        Recorder(folder).save(asked, Moment.FIRST, _reading(), EPOCH)


def test_an_id_that_is_not_there_is_said(entry, folder) -> None:
    """And a reading that was never taken."""
    recorder, one = Recorder(folder), entry(60)
    recorder.keep(one)

    with pytest.raises(FileUnusable, match="has no incident 20270115-0801-0123456789"):
        recorder.load("20270115-0801-0123456789")
    assert recorder.load(one.id).readings == {}


def test_an_incident_that_turned_out_to_be_another_is_found_by_both_ids(entry, folder) -> None:
    """The message with its old id is on a telephone."""
    old = ident("x", EPOCH)
    one = entry(60).model_copy(update={"joined": (old,)})
    Recorder(folder).keep(one)

    assert Recorder(folder).load(old).entry.id == one.id


def test_an_incident_is_found_by_the_id_that_another_process_gives_it(entry, folder) -> None:
    """It heard of another alert first, and has a folder of its own."""
    one = entry(60)
    (kept, *_) = one.alerts
    later = kept.model_copy(update={"fingerprint": "0123456789abcdef", "began": kept.began + 70})
    Recorder(folder).keep(one.model_copy(update={"alerts": (kept, later)}))

    assert Recorder(folder).load(ident(later.fingerprint, later.began)).entry.id == one.id


def test_what_is_too_old_goes_with_its_readings(entry, folder) -> None:
    """Whole incidents."""
    recorder = Recorder(folder, most_seconds=86_400)
    old, young = entry(60, 100), entry(50_000, 50_100)
    for one in (old, young):
        recorder.keep(one)
        recorder.save(one.id, Moment.FIRST, _reading(), one.written)

    recorder.keep(entry(90_000, 90_100))

    assert [one.began - EPOCH for one in recorder.entries()[0]] == [90_000, 50_000]
    assert not list(folder.glob(f"{old.id}*"))


def test_what_is_too_much_goes_oldest_first(entry, folder) -> None:
    """By the end of incidents; what is within the bound stays."""
    recorder = Recorder(folder, most_bytes=100_000)
    for number in range(6):
        one = entry(60 + 1000.0 * number, 100 + 1000.0 * number)
        recorder.keep(one)
        recorder.save(one.id, Moment.WORST, _reading(filler=30_000), one.written)

    assert [one.began - EPOCH for one in recorder.entries()[0]] == [5060, 4060, 3060]
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 100_000


def test_what_goes_on_is_never_removed(entry, folder) -> None:
    """However old it is: what is over goes first, and then there is no room, which is said."""
    recorder = Recorder(folder, most_bytes=100_000)
    going_on, over = entry(60), entry(1000, 1100)
    for one in (going_on, over):
        recorder.keep(one)
        recorder.save(one.id, Moment.FIRST, _reading(filler=40_000), one.written)
    recorder.save(going_on.id, Moment.WORST, _reading(filler=40_000), EPOCH + 2000)
    assert [one.id for one in recorder.entries()[0]] == [going_on.id]

    with pytest.raises(FileUnusable, match="has no room for a reading: ongoing incidents take"):
        recorder.save(going_on.id, Moment.END, _reading(filler=40_000), EPOCH + 2000)

    assert set(recorder.load(going_on.id).readings) == {Moment.FIRST, Moment.WORST}


def test_what_no_process_follows_any_more_does_not_go_on(entry, folder) -> None:
    """It was killed: after four days nothing would come of its alerts."""
    recorder = Recorder(folder, most_seconds=86_400)
    left = entry(60)
    recorder.keep(left)
    recorder.keep(entry(90_000, 90_100))
    assert len(recorder.entries()[0]) == 2

    recorder.keep(entry(FORGOTTEN_SECONDS + 1000, FORGOTTEN_SECONDS + 1100))

    assert left.id not in {one.id for one in recorder.entries()[0]}


DAMAGED = {
    "nothing": (b"", "is not an incident of format 1: wrong at its beginning"),
    "half": (b'{"tritonobs_incident": 1, "id', "is not an incident of format 1"),
    "no JSON": (b"\x00\xff\xfe", "is not an incident of format 1"),
    "another format": (b'{"tritonobs_incident": 2}', "wrong at tritonobs_incident"),
    "a list": (b"[]", "is not an incident of format 1"),
    "deep": (b"[" * 100_000, "is not an incident of format 1"),
    "huge": (b" " * (9 * 1024 * 1024), "has more than 8388608 bytes"),
}


@pytest.mark.parametrize(("data", "said"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_entry_is_named_and_passed_over(entry, folder, data, said) -> None:
    """The others are listed."""
    recorder, good, bad = Recorder(folder), entry(60), entry(600)
    recorder.keep(good)
    path = folder / f"{bad.id}.json"
    path.write_bytes(data)

    entries, (finding,) = recorder.entries()

    assert entries == (good,)
    assert finding.place.file == str(path)
    assert said in finding.message
    with pytest.raises(FileUnusable, match=path.name):
        recorder.load(bad.id)
    recorder.keep(entry(1200))
    assert len(recorder.entries()[0]) == 2


def test_what_is_not_ours_is_left_alone(entry, folder) -> None:
    """A note, a folder, a link, an entry under the name of another."""
    recorder, one = Recorder(folder, most_bytes=1), entry(60)
    other = ident("x", EPOCH)
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("ours")
    (folder / "sub").mkdir()
    (folder / f"{other}.json").write_text(one.model_dump_json())

    recorder.keep(one)

    entries, (finding,) = recorder.entries()
    assert entries == (one,)
    assert finding.message == f"is the entry of another incident, {one.id}"
    assert {"README.md", "sub"} <= {path.name for path in folder.iterdir()}


def test_what_was_left_half_written_is_swept(entry, folder) -> None:
    """By a process that was killed; what may be under way stays."""
    recorder, one = Recorder(folder), entry(60)
    recorder.keep(one)
    old, new = (folder / f".{one.id}.json.{name}.tritonobs-new" for name in ("a", "b"))
    for path, age in ((old, 4000), (new, 10)):
        path.touch()
        os.utime(path, (time.time() - age, time.time() - age))

    recorder.keep(one)

    assert (old.exists(), new.exists()) == (False, True)


def test_readings_without_an_entry_go_after_an_hour(entry, folder) -> None:
    """Until then the entry may come."""
    recorder, one = Recorder(folder, most_bytes=1000), entry(60, 100)
    reading = folder / f"{one.id}.first.json"
    folder.mkdir(parents=True)
    reading.write_text("{}" * 1000)
    for age, there in ((10, True), (4000, False)):
        os.utime(reading, (time.time() - age, time.time() - age))
        recorder.keep(entry(0))
        assert reading.exists() is there


def _refuses(recorder: Recorder, one: Entry, said: str) -> None:
    for write in (
        lambda: recorder.keep(one),
        lambda: recorder.save(one.id, Moment.WORST, _reading(filler=200_000), one.written),
    ):
        with pytest.raises(FileUnusable, match=said) as error:
            write()
        assert "\n" not in str(error.value)


def test_a_folder_that_cannot_be_made_is_one_error(entry, tmp_path) -> None:
    """A file is in its way."""
    (tmp_path / "state").write_text("a file")

    _refuses(Recorder(tmp_path / "state" / "incidents"), entry(60), "cannot be written: Not a directory")


@contextmanager
def _disk(path: Path, *options: str) -> Iterator[None]:
    path.mkdir(parents=True)
    mounted = subprocess.run(
        ["/bin/mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", path], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a tmpfs here: {mounted.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["/bin/umount", path], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a disk of a few kilobytes")
def test_a_full_disk_is_one_error_and_leaves_what_was_there(entry, folder) -> None:
    """No half of a file, and the next entry is written when there is room."""
    recorder, one = Recorder(folder), entry(60)
    with _disk(folder):
        recorder.keep(one)
        ballast = folder / "ballast"
        ballast.write_bytes(bytes(4096 * os.statvfs(folder).f_bavail))

        _refuses(recorder, entry(600), "cannot be written: No space left on device")

        assert recorder.entries() == ((one,), ())
        assert {path.name for path in folder.iterdir()} == {f"{one.id}.json", "ballast"}
        ballast.unlink()
        recorder.keep(entry(600))
        assert len(recorder.entries()[0]) == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a disk")
def test_a_read_only_folder_is_one_error_and_can_be_read(entry, folder) -> None:
    """Its incidents are listed."""
    recorder, one = Recorder(folder), entry(60)
    with _disk(folder):
        recorder.keep(one)
        subprocess.run(["/bin/mount", "-o", "remount,ro", folder], check=True)

        _refuses(recorder, one, "cannot be written: Read-only file system")

        assert recorder.load(one.id).entry == one


_WRITER = """
import sys
import time
from pathlib import Path
from tritonobs.extensions.incidents.recorder import Entry, Moment, Recorder
from tritonobs import files

folder, *entries = map(Path, sys.argv[1:])
recorder = Recorder(folder, most_bytes=60_000)


def write(path):
    files.replace(path, b"x" * 2000)


for path in entries * 3:
    entry = Entry.model_validate_json(path.read_bytes())
    recorder.keep(entry)
    recorder.save(entry.id, Moment.WORST, write, entry.written)
    for finding in recorder.entries()[1]:
        print(finding)
"""


def test_two_processes_share_a_folder(entry, folder, tmp_path) -> None:
    """They write, list and make room at once: no error, every file is whole, the bound is kept."""
    paths = []
    for number in range(20):
        one = entry(60 + 10.0 * number, 65 + 10.0 * number, model=f"m{number}")
        paths.append(tmp_path / f"{number}.json")
        paths[-1].write_text(one.model_dump_json())
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, folder, *paths[turn:]],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for turn in (0, 5)
    ]

    said = [writer.communicate()[0] for writer in writers]

    assert said == ["", ""]
    assert [writer.returncode for writer in writers] == [0, 0]
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 60_000
    left, damaged = Recorder(folder).entries()
    assert len(left) > 5
    assert damaged == ()


def test_hostile_names_are_kept_as_data(life, fleet, cause, folder) -> None:
    """Also halves of characters, which no file can hold."""
    name = "../x\n\x1b[2J\u202e模 \"'`"
    (incident,) = heard([life(FAST, 60, model=name)], fleet, until=60).state.open.values()
    incident = replace(incident, causes=(cause("error_surge", "half \ud800", name),))
    one = entry_of(incident, EPOCH + 60)

    Recorder(folder).keep(one)

    (found,) = Recorder(folder).entries()[0]
    assert found.models == (name,)
    assert found.causes[0].place == ("half ?", name)
    assert [path.name for path in folder.iterdir()] == [f"{incident.id}.json"]
    assert json.loads((folder / f"{incident.id}.json").read_bytes())["tritonobs_incident"] == 1


def test_an_entry_of_thousands_of_alerts_is_bounded(life, fleet) -> None:
    """The first are listed, the others counted."""
    lives = [life(FAST, 60, model="ocr", slo=f"s{number}") for number in range(700)]
    (incident,) = heard(lives, fleet, until=60).state.open.values()

    one = entry_of(incident, EPOCH + 60)

    assert (len(one.alerts), one.left_out) == (module.MOST_ALERTS, 200)


def test_who_takes_over_goes_on_with_the_same_incident(life, fleet, cause, verdict, folder) -> None:
    """Its first alert is over, so from what Alertmanager has another id would be made."""
    first, second = (
        life(FAST, 60, 200, model="nms"),
        life("TritonWorkerDead", 90, model="nms", replica="triton-1"),
    )
    here = heard([first, second], fleet, until=250, verdicts={100: verdict(cause("bad_deploy", "nms", "2"))})
    (known,) = here.state.open.values()
    Recorder(folder).keep(entry_of(known, EPOCH + 250))
    alerts = [alert_of(second, 300)]

    entries, _ = Recorder(folder).entries()
    state = resumed(entries, EPOCH + 300)
    (taken_over,) = join(state, EPOCH + 300, alerts, fleet).incidents
    (alone,) = join(Listener(fleet=fleet).state, EPOCH + 300, alerts, fleet).incidents

    assert taken_over.id == known.id != alone.id
    assert taken_over.cause is not None
    assert taken_over.cause.sentence == "bad_deploy at nms/2"
