"""The workers of a fleet in both windows: alive, dead, and new ones with their start. Pure."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tritonobs.timings.alive import LABELS, workers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tritonobs.timings.alive import Key, Worker
    from tritonobs.timings.measured import Subject
    from tritonobs.triage.view import View

_SILENT_SECONDS = 20.0
"""For a snapshot without the question about workers: so long behind the newest heartbeat of the replica."""


class Roster:
    """The workers of a view."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._beats = view.rows("heartbeats", *LABELS)
        self._beats_before = view.rows("heartbeats", *LABELS, before=True)

    @cached_property
    def workers(self) -> tuple[Worker, ...]:
        """Those on replicas that are scraped, of models that are loaded there."""
        served = self._view.rows("replica_requests", *LABELS[:3])
        return workers(self._moved(), [(key[0], key[1], key[2]) for key in served])

    @cached_property
    def lost(self) -> tuple[Worker, ...]:
        """Those that are dead, and those that were replaced in the incident."""
        return tuple(
            worker
            for worker in self.workers
            if worker.state == "dead"
            or (
                # Until it restarts, Triton keeps the series of a killed worker and of an `initialize` that
                # failed: only a worker of the baseline that died in the incident is news.
                worker.state == "replaced"
                and _key(worker) in self._beats_before
                and self.last_beat(worker) >= self._view.snapshot.incident.start
            )
        )

    def last_beat(self, worker: Worker) -> float:
        """When it beat last, by Prometheus' time where others beat on its replica; else by its own."""
        beat, newest = self._beats.get(_key(worker), 0.0), self._newest(worker.replica)
        return self._view.snapshot.incident.end - max(0.0, newest - beat) if newest else beat

    @cached_property
    def _living(self) -> Mapping[str, list[Worker]]:
        living: dict[str, list[Worker]] = {}
        for worker in self.workers:
            if worker.state == "alive":
                living.setdefault(worker.replica, []).append(worker)
        return living

    @cached_property
    def born(self) -> Mapping[Subject, tuple[Worker, ...]]:
        """Living workers that were not there in the baseline, of models that had others then."""
        known = {key[1] for key in self._beats_before}
        born: dict[Subject, tuple[Worker, ...]] = {}
        for worker in self.workers:
            subject = (worker.model, worker.version)
            new = worker.state == "alive" and _key(worker) not in self._beats_before
            if new and worker.model in known and self._was_born(worker):
                born[subject] = (*born.get(subject, ()), worker)
        return born

    def _was_born(self, worker: Worker) -> bool:
        """Whether its first heartbeat of the incident is its first: the baseline may lie before that."""
        start = self._view.snapshot.incident.start
        return self.first_beat(worker) > start + self._view.trends.window / 2

    def first_beat(self, worker: Worker) -> float:
        """When it was first heard of in the incident, by Prometheus' time."""
        beat = self._view.rows("first_beats", *LABELS).get(_key(worker), self._beats.get(_key(worker), 0.0))
        return self._view.snapshot.incident.end - max(0.0, self._newest(worker.replica) - beat)

    def knew(self, subject: Subject) -> bool:
        """Whether the model version had workers in the baseline."""
        return any(key[1:3] == subject for key in self._beats_before)

    def _newest(self, replica: str) -> float:
        return max((self._beats[_key(other)] for other in self._living.get(replica, ())), default=0.0)

    def _moved(self) -> dict[Key, float]:
        if "alive" in self._view.snapshot.now:
            # On a replica that is not scraped a heartbeat is old because nobody looks.
            asked = self._view.rows("alive", *LABELS)
            return {_whole(key): value for key, value in asked.items() if self._view.is_up(key[0])}
        newest: dict[str, float] = {}
        for key, beat in self._beats.items():
            newest[key[0]] = max(newest.get(key[0], 0.0), beat)
        return {
            _whole(key): float(newest[key[0]] - beat < _SILENT_SECONDS)
            for key, beat in self._beats.items()
            if self._view.is_up(key[0])
        }


def _key(worker: Worker) -> Key:
    return (worker.replica, worker.model, worker.version, worker.worker)


def _whole(key: tuple[str, ...]) -> Key:
    replica, model, version, worker = key
    return (replica, model, version, worker)
