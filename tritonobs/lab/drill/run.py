"""One drill after another: calm, fault, promised alerts and verdict, undo, resolved."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import psutil

from tritonobs.errors import StackError, TritonobsError
from tritonobs.lab.drill.drill import CALM_SECONDS
from tritonobs.lab.drill.record import Record
from tritonobs.lab.drill.watch import Watch
from tritonobs.lab.undo import Undo
from tritonobs.timings.promql import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from typing_extensions import Self

    from tritonobs.lab.drill.drill import Drill
    from tritonobs.lab.drill.outcome import Moment, Outcome
    from tritonobs.lab.drill.rig import Rig
    from tritonobs.lab.drill.streams import Stream

_POLL_SECONDS = 1.0
_SLACK, _SLACK_SECONDS = 1.5, 60.0
_SETTLE_SECONDS = 12.0
"""Until what was sent before is answered, handed over and scraped."""
_LONGEST_BASELINE_SECONDS = 60.0
_HELD_SECONDS = 3600.0
"""How long an alert stays that came back within three hours: the fault may be planted for the second time."""


class Session:
    """Drills on one rig, with ordinary traffic between them; `tell` is called with events."""

    def __init__(self, rig: Rig, tell: Callable[[str, Moment], None]) -> None:
        self._rig, self._tell = rig, tell
        self._usual: tuple[Stream, ...] | None = None
        self._calm_since = 0.0
        self._open: list[tuple[Watch, Record]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._rig.traffic.stop()

    def rehearse(self, drills: Sequence[Drill]) -> Iterator[Outcome]:
        """Cause each fault, see what is promised, undo it in every case.

        While the alerts of one drill go on until they are resolved, the next may begin that promises others.
        """
        waiting = list(drills)
        while waiting or self._open:
            drill = self._next(waiting)
            if drill:
                waiting.remove(drill)
                self._begin(drill)
            else:
                self._look()
                time.sleep(_POLL_SECONDS)
            yield from self._ended(last=not waiting)

    def _next(self, waiting: Sequence[Drill]) -> Drill | None:
        """A drill whose alerts are not waited for."""
        awaited = {alert.name for watch, _ in self._open for alert in watch.drill.alerts}
        return next(
            (drill for drill in waiting if not awaited & {alert.name for alert in drill.alerts}), None
        )

    def _begin(self, drill: Drill) -> None:
        watch, record = Watch(self._rig, drill), Record(drill, self._tell)
        try:
            for name in self._rig.revive():
                record.note(f"{name} had ended by itself and was started again")
                self._usual = None
            watch.require_rules()
            with Undo(lambda: record.note("still cleaning up")) as undo:
                if drill.prepare:
                    with undo.held():
                        undo.enter_context(drill.prepare(self._rig))
                    self._usual = None
                baseline = self._calm_down(drill, watch)
                record.begin()
                with undo.held():
                    undo.enter_context(drill.cause(self._rig))
                record.note(drill.breaks)
                self._watch(drill, watch, baseline, record)
                record.note("cleaning up")
            self._usual = None
            self._calm(drill.usual if drill.after is None else drill.after)
            record.undone()
        except (KeyboardInterrupt, SystemExit):
            record.note("interrupted, and cleaned up")
            raise
        except (TritonobsError, OSError, psutil.Error) as failure:
            record.problem = str(failure)
            record.note(f"given up: {failure}")
        self._open.append((watch, record))

    def _ended(self, *, last: bool) -> Iterator[Outcome]:
        """The drills of which nothing more is to be seen; patience ends only when no other is left to do."""
        for watch, record in tuple(self._open):
            patience = self._until_resolved(watch.drill)
            if record.problem or record.all_resolved or (last and record.waited_seconds > patience):
                self._open.remove((watch, record))
                yield record.outcome(watch)

    def _until_resolved(self, drill: Drill) -> float:
        return _patience(drill.resolves.at(self._rig.speed)) + _HELD_SECONDS / self._rig.speed

    def _look(self) -> None:
        """See which alerts of earlier drills are resolved."""
        for watch, record in self._open:
            if not record.problem and not record.all_resolved:
                record.miss({alert.name for alert in watch.firing()})

    def _calm_down(self, drill: Drill, watch: Watch) -> Span:
        """A span of ordinary traffic in which none of the promised alerts fires."""
        self._calm(drill.usual)
        calm_seconds = max(CALM_SECONDS, drill.calm.at(self._rig.speed))
        deadline = time.time() + calm_seconds + self._until_resolved(drill)
        while watch.firing() or time.time() < self._calm_since + _SETTLE_SECONDS + calm_seconds:
            self._look()
            if time.time() > deadline:
                names = ", ".join(alert.name for alert in watch.firing())
                raise StackError(f"{names} fires without this fault; wait until it is resolved")
            time.sleep(_POLL_SECONDS)
        now = time.time()
        return Span(start=max(self._calm_since + _SETTLE_SECONDS, now - _LONGEST_BASELINE_SECONDS), end=now)

    def _calm(self, streams: tuple[Stream, ...]) -> None:
        if self._usual != streams:
            self._rig.traffic.switch(streams)
            self._usual, self._calm_since = streams, time.time()

    def _watch(self, drill: Drill, watch: Watch, baseline: Span, record: Record) -> None:
        """Until all is as promised, or patience ends."""
        if drill.traffic is not None:
            self._usual = None
            self._rig.traffic.switch(drill.traffic)
        caused = time.time()
        while time.time() < caused + _patience(drill.fires.at(self._rig.speed)):
            self._look()
            record.see(alert.name for alert in watch.firing())
            if (drill.check or record.all_fired) and watch.judge(caused, baseline):
                record.judge(watch)
            if watch.named and record.all_fired:
                return
            time.sleep(_POLL_SECONDS)


def _patience(seconds: float) -> float:
    return _SLACK * seconds + _SLACK_SECONDS
