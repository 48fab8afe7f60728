"""The flight recorder: a folder with an entry for every incident, and what triage read during it.

    20261125-1931-3f9a12bc07.json        the entry: place, causes, alerts, cost
    20261125-1931-3f9a12bc07.first.json  what `tritonobs triage --load FILE` reads: with the first page,
    20261125-1931-3f9a12bc07.worst.json  at its worst
    20261125-1931-3f9a12bc07.end.json    and at the end

Files are replaced as a whole, and nothing depends on two of them: several processes may share the folder. It
is bounded in size and age. Whole incidents go, the oldest first, never one that goes on.
"""

from __future__ import annotations

import enum
import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from tritonobs import files
from tritonobs.errors import FileUnusable, TritonobsError
from tritonobs.extensions.incidents.cost import Cost
from tritonobs.extensions.incidents.incident import ID, Change, Episode, Incident, What
from tritonobs.extensions.incidents.incident import Place as Touched
from tritonobs.extensions.incidents.incident import ident as ident_of
from tritonobs.extensions.incidents.join import FORGOTTEN_SECONDS, State
from tritonobs.findings import Finding, Place
from tritonobs.outside import whole
from tritonobs.tasks import Threads
from tritonobs.timings.cause import Cause

FORMAT: Final = 1
MOST_BYTES: Final = 256 * 1024 * 1024
MOST_SECONDS: Final = 30 * 86_400.0
MOST_ALERTS: Final = 500
"""Listed in an entry, the first ones; of the others there is the number."""
_MOST_ENTRY_BYTES: Final = 8 * 1024 * 1024
_LEFT_SECONDS: Final = 3600.0
"""A reading without an entry, or a file half written, is no one's any more after this time."""
_OURS: Final = re.compile(rf"({ID.pattern})\.(?:(first|worst|end)\.)?json")
_HALF: Final = re.compile(rf"\.{ID.pattern}\..*")
_log = logging.getLogger(__name__)
_DISK_SECONDS = 10.0
_PAGE = "critical"


class Moment(enum.Enum):
    """When a reading was taken."""

    FIRST = "first"
    WORST = "worst"
    END = "end"


class _Kept(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class KeptAlert(_Kept):
    """An alert of the incident; `ended` is None while it fires. Times are Unix seconds."""

    fingerprint: str
    labels: dict[str, str]
    began: float
    ended: float | None
    times: int


class KeptCause(_Kept):
    """What explained it."""

    check: str
    place: tuple[str, ...]
    sentence: str
    confidence: float
    since: float | None
    next_steps: tuple[str, ...]


class KeptTold(_Kept):
    """What a robot's chat has of the incident: when it heard of it last, and the states of its alerts."""

    robot: str
    at: float
    states: tuple[tuple[str, str, str], ...]


class Entry(_Kept):
    """What is kept of an incident. `written` is when; `left_out` counts alerts that are not listed."""

    tritonobs_incident: Literal[1] = FORMAT
    id: Annotated[str, StringConstraints(pattern=f"^{ID.pattern}$")]
    anchor: str
    opened: float
    began: float
    since: float
    ended: float | None
    closed: bool
    worst: str
    models: tuple[str, ...]
    versions: tuple[tuple[str, str], ...]
    replicas: tuple[str, ...]
    areas: tuple[str, ...]
    causes: tuple[KeptCause, ...]
    alerts: tuple[KeptAlert, ...]
    left_out: int
    joined: tuple[str, ...]
    written: float
    cost: Cost | None = None
    told: tuple[KeptTold, ...] = ()

    def goes_on(self, now: float) -> bool:
        """Whether some process still follows it: one that was killed left entries that no one ends."""
        return not self.closed and now - self.written < FORGOTTEN_SECONDS


def entry_of(
    incident: Incident, now: float, cost: Cost | None = None, told: Iterable[KeptTold] = ()
) -> Entry:
    """The entry of an incident as it is now, and what each chat has of it."""
    where = incident.place
    return Entry(
        id=incident.id,
        anchor=whole(incident.anchor),
        opened=incident.opened,
        began=incident.began,
        since=incident.since,
        ended=incident.ended,
        closed=incident.closed,
        worst=incident.worst,
        models=_wholes(where.models),
        versions=tuple((whole(model), whole(version)) for model, version in where.versions),
        replicas=_wholes(where.replicas),
        areas=_wholes(where.areas),
        causes=tuple(map(_cause, incident.causes)),
        alerts=tuple(map(_alert, incident.alerts[:MOST_ALERTS])),
        left_out=max(0, len(incident.alerts) - MOST_ALERTS),
        joined=incident.joined,
        written=now,
        cost=cost,
        told=tuple(told),
    )


def resumed(entries: Iterable[Entry], now: float) -> State:
    """What another process knew of incidents that go on, for the one that takes over: they keep their ids.

    Their alerts must be heard again, from Alertmanager; an incident of which none fires is forgotten.
    """
    going_on = [entry for entry in entries if entry.goes_on(now)]
    return State(
        owners={one.fingerprint: entry.id for entry in going_on for one in entry.alerts if one.ended is None},
        open={entry.id: incident_of(entry) for entry in going_on},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """An incident in the folder, and where its readings are."""

    entry: Entry
    readings: Mapping[Moment, Path]


class Recorder:
    """The folder. It is made when the first incident is kept."""

    def __init__(
        self, folder: Path, *, most_bytes: int = MOST_BYTES, most_seconds: float = MOST_SECONDS
    ) -> None:
        self.folder = folder
        self._most_bytes = most_bytes
        self._most_seconds = most_seconds

    def keep(self, entry: Entry) -> None:
        """Write the entry instead of an older one, and make room.

        Call it with every change of the incident, and once a day while it lasts.

        Raises:
            FileUnusable: the folder cannot be written, or it is full.
        """
        data = entry.model_dump_json(indent=1).encode()
        with files.refused(self.folder, "written"):
            self.folder.mkdir(parents=True, exist_ok=True)
        files.replace(self._path(entry.id), data)
        self._make_room(entry.written)

    def save(self, ident: str, moment: Moment, write: Callable[[Path], None], now: float) -> None:
        """Save what triage read, which `write` does (a `triage --save`).

        The first reading stays as it is; a later one of another moment is replaced.

        Raises:
            FileUnusable: the folder cannot be written, or incidents that go on leave no room in it.
        """
        path = self._path(ident, moment)
        if moment is Moment.FIRST and path.exists():
            return
        with files.refused(self.folder, "written"):
            self.folder.mkdir(parents=True, exist_ok=True)
        write(path)
        taken = self._make_room(now)
        if taken > self._most_bytes:
            with files.refused(self.folder, "written"):
                path.unlink(missing_ok=True)
            raise FileUnusable(
                self.folder,
                f"has no room for a reading: ongoing incidents take {taken:,} of {self._most_bytes:,} B",
            )

    def entries(self) -> tuple[tuple[Entry, ...], tuple[Finding, ...]]:
        """All entries, the newest first, and a finding for each file that is none. No folder has none.

        Raises:
            FileUnusable: the folder cannot be read.
        """
        read = [self._tried(ident) for ident in self._idents()]
        found = (one for one in read if isinstance(one, Entry))
        # Another process may have removed one since the folder was listed.
        return (
            tuple(sorted(found, key=lambda one: (-one.began, one.id))),
            tuple(one for one in read if isinstance(one, Finding) and Path(one.place.file).exists()),
        )

    def load(self, ident: str) -> Recorded:
        """One incident, also by an id that it had before, or that another process calls it by.

        Raises:
            FileUnusable: there is no incident of this id, or its entry is damaged.
        """
        if not ID.fullmatch(ident):
            raise FileUnusable(self.folder, f"{ident[:60]!r} is not the id of an incident")
        if not self._path(ident).exists():
            known, _ = self.entries()
            joined = (one.id for one in known if ident in one.joined)
            others = (
                one.id
                for one in known
                if any(ident_of(each.fingerprint, each.began) == ident for each in one.alerts)
            )
            now_called = next(joined, next(others, ""))
            if not now_called:
                raise FileUnusable(self.folder, f"has no incident {ident}")
            ident = now_called
        paths = ((moment, self._path(ident, moment)) for moment in Moment)
        readings = {moment: path for moment, path in paths if path.exists()}
        return Recorded(entry=self._read(ident), readings=readings)

    def _path(self, ident: str, moment: Moment | None = None) -> Path:
        if not ID.fullmatch(ident):
            raise ValueError(f"{ident!r} is not the id of an incident")
        return self.folder / (f"{ident}.{moment.value}.json" if moment else f"{ident}.json")

    def _read(self, ident: str) -> Entry:
        path = self._path(ident)
        data = files.read_bytes(path, most=_MOST_ENTRY_BYTES)
        try:
            entry = Entry.model_validate_json(data)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            at = ".".join(map(str, first["loc"])) or "its beginning"
            raise FileUnusable(path, f"is not an incident of format {FORMAT}: wrong at {at}") from None
        if entry.id != ident:
            raise FileUnusable(path, f"is the entry of another incident, {entry.id}")
        return entry

    def _tried(self, ident: str) -> Entry | Finding:
        try:
            return self._read(ident)
        except FileUnusable as error:
            return Finding(place=Place(file=str(error.path)), path="", message=error.reason)

    def _idents(self) -> list[str]:
        found = (_OURS.fullmatch(path.name) for path in self._paths())
        return sorted({match[1] for match in found if match and not match[2]})

    def _paths(self) -> list[Path]:
        with files.refused(self.folder, "read"):
            return sorted(self.folder.iterdir()) if self.folder.exists() else []

    def _make_room(self, now: float) -> int:
        """Remove what is too old or too much; the bytes that are left."""
        stored = sorted(self._stored(now), key=lambda one: one.ended)
        taken = sum(one.size for one in stored)
        for one in stored:
            if one.goes_on or (taken <= self._most_bytes and now - one.ended <= self._most_seconds):
                continue
            with files.refused(self.folder, "written"):
                # The entry last: one that is left without readings is still found, and removed the next time.
                for path in sorted(one.paths, key=lambda path: -len(path.name)):
                    path.unlink(missing_ok=True)
            taken -= one.size
        return taken

    def _stored(self, now: float) -> Iterator[_Stored]:
        """All that is in the folder of each incident. Another process may remove some of it meanwhile."""
        by_id: dict[str, dict[Path, tuple[int, float]]] = {}
        # The disk's clock, not that of the caller: what another process is writing at this moment must stay.
        left = time.time() - _LEFT_SECONDS
        for path in self._paths():
            with suppress(FileNotFoundError):
                status = path.lstat()
                match = _OURS.fullmatch(path.name)
                if match:
                    by_id.setdefault(match[1], {})[path] = (status.st_size, status.st_mtime)
                elif _HALF.fullmatch(path.name) and status.st_mtime < left:
                    path.unlink()
        for ident, found in by_id.items():
            size = sum(bytes_ for bytes_, _ in found.values())
            newest = max(changed for _, changed in found.values())
            entry = self._tried(ident)
            if isinstance(entry, Entry):
                goes_on = entry.goes_on(now)
                ended = entry.written if entry.ended is None else entry.ended
            else:
                # A reading that comes before its entry, or a damaged one.
                goes_on, ended = newest >= left, newest
            yield _Stored(paths=tuple(found), size=size, goes_on=goes_on, ended=ended)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored:
    """What the folder has of an incident."""

    paths: tuple[Path, ...]
    size: int
    goes_on: bool
    ended: float


def incident_of(entry: Entry) -> Incident:
    """The incident, without its alerts."""
    return Incident(
        id=entry.id,
        anchor=entry.anchor,
        opened=entry.opened,
        began=entry.began,
        ended=entry.ended,
        worst=entry.worst,
        now=entry.worst,
        place=Touched(
            models=entry.models, versions=entry.versions, replicas=entry.replicas, areas=entry.areas
        ),
        causes=tuple(Cause(**one.model_dump()) for one in entry.causes),
        joined=entry.joined,
    )


def _cause(cause: Cause) -> KeptCause:
    return KeptCause(
        check=cause.check,
        place=_wholes(cause.place),
        sentence=whole(cause.sentence),
        confidence=cause.confidence,
        since=cause.since,
        next_steps=_wholes(cause.next_steps),
    )


def _alert(one: Episode) -> KeptAlert:
    return KeptAlert(
        fingerprint=whole(one.key),
        labels={whole(name): whole(text) for name, text in one.alert.labels.items()},
        began=one.began,
        ended=one.ended,
        times=one.times,
    )


def _wholes(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(whole, texts))


_MOMENTS = {What.ENDED: Moment.END, What.BEGAN: Moment.FIRST}
"""Every other change that matters is a moment that may be the worst."""


class Folder:
    """A recorder as `serve` uses it: beside the delivery, and silent where it cannot be written.

    `note` says what changed, `keep` writes it.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._threads = Threads("incidents folder")
        self._changed: dict[str, set[Moment]] = {}
        self._kept: Mapping[str, tuple[object, ...]] = {}
        self._complaint = ""
        self._read: float | None = None

    def note(self, changes: Iterable[Change]) -> None:
        """These incidents changed."""
        for change in changes:
            moment = _MOMENTS.get(change.what, Moment.WORST)
            self._changed.setdefault(change.incident, set()).add(moment)

    async def keep(
        self,
        incidents: Iterable[Incident],
        bills: Mapping[str, Cost],
        looked: Any,  # noqa: ANN401 (what triage answers)
        told: Mapping[str, tuple[KeptTold, ...]],
        now: float,
    ) -> None:
        """Write what changed, and of pages also what was read; one that cannot be written is said once.

        `told` is what the chats have, by the incident's id.
        """
        changed, self._changed = self._changed, {}
        now_is = {
            one.id: (one.ended, one.closed, len(one.alerts), bills.get(one.id), told[one.id])
            for one in incidents
        }
        written = [one for one in incidents if one.id in changed or now_is[one.id] != self._kept.get(one.id)]
        self._kept = now_is
        if not written:
            return

        def write() -> None:
            for one in written:
                self.recorder.keep(entry_of(one, now, bills.get(one.id), told[one.id]))
                moments = changed.get(one.id, ()) if looked is not None and one.worst == _PAGE else ()
                for moment in moments:
                    self.recorder.save(one.id, moment, looked.save, now)

        try:
            await self._threads.run(write, seconds=_DISK_SECONDS)
            self._complaint = ""
        except TritonobsError as error:
            if str(error) != self._complaint:
                _log.warning("incidents are not kept: %s", error)
            self._complaint = str(error)

    async def changed(self) -> tuple[Entry, ...]:
        """What is kept, if a file came or went since the last time: another process may write it, too."""
        try:
            changed = await self._threads.run(self._touched, seconds=_DISK_SECONDS)
            if changed is None or changed == self._read:
                return ()
            entries, _ = await self._threads.run(self.recorder.entries, seconds=_DISK_SECONDS)
        except (TritonobsError, OSError) as error:
            _log.info("incidents that were kept are not read: %s", error)
            return ()
        self._read = changed
        return entries

    def _touched(self) -> float | None:
        """When a file of the folder came or went; None without a folder."""
        folder = self.recorder.folder
        return folder.stat().st_mtime if folder.is_dir() else None
