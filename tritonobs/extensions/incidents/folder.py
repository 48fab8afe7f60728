"""The flight recorder as `serve` uses it: beside the delivery, and silent where it cannot be written."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from tritonobs.errors import TritonobsError
from tritonobs.extensions.incidents import chats
from tritonobs.extensions.incidents.chats import Talk, kept
from tritonobs.extensions.incidents.cost import Cost
from tritonobs.extensions.incidents.incident import Change, Incident, What
from tritonobs.extensions.incidents.join import State
from tritonobs.extensions.incidents.recorder import Moment, Recorder, entry_of, resumed
from tritonobs.tasks import Threads

_log = logging.getLogger(__name__)
_DISK_SECONDS = 10.0
_PAGE = "critical"
_MOMENTS = {What.ENDED: Moment.END, What.BEGAN: Moment.FIRST}
"""Every other change that matters is a moment that may be the worst."""


class Folder:
    """One recorder. `note` says what changed, `keep` writes it."""

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
        talks: Mapping[str, Talk],
        now: float,
    ) -> None:
        """Write what changed, and of pages also what was read; one that cannot be written is said once.

        `talks` are what the chats have, by robot.
        """
        changed, self._changed = self._changed, {}
        told = {one.id: kept(talks, one) for one in incidents}
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

    async def resumed(self, now: float) -> tuple[State, dict[str, Talk]] | None:
        """What another process, or the one before, kept of incidents that go on, and told of them.

        None if nothing is new.
        """
        try:
            changed = await self._threads.run(self._touched, seconds=_DISK_SECONDS)
            if changed is None or changed == self._read:
                return None
            entries, _ = await self._threads.run(self.recorder.entries, seconds=_DISK_SECONDS)
        except (TritonobsError, OSError) as error:
            _log.info("incidents that were kept are not read: %s", error)
            return None
        self._read = changed
        return resumed(entries, now), chats.resumed(entries, now)

    def _touched(self) -> float | None:
        """When a file of the folder came or went; None without a folder."""
        folder = self.recorder.folder
        return folder.stat().st_mtime if folder.is_dir() else None
