"""One drill after another: calm, fault, promised alerts and verdict, undo, resolved."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tritonobs.drill.drill import CALM_SECONDS
from tritonobs.drill.record import Record
from tritonobs.drill.undo import Undo
from tritonobs.drill.watch import Watch
from tritonobs.errors import StackError, TritonobsError
from tritonobs.live.snapshot import Span

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

    from tritonobs.drill.drill import Drill, Stream
    from tritonobs.drill.outcome import Moment, Outcome
    from tritonobs.drill.rig import Rig

_POLL_SECONDS = 1.0
_SLACK, _SLACK_SECONDS = 1.5, 60.0
_SETTLE_SECONDS = 12.0
"""Until what was sent before is answered, handed over and scraped."""
_LONGEST_BASELINE_SECONDS = 60.0


class Session:
    """Drills on one rig, with ordinary traffic between them while it is open; `tell` hears what happens."""

    def __init__(self, rig: Rig, tell: Callable[[str, Moment], None]) -> None:
        self._rig, self._tell = rig, tell
        self._usual: tuple[Stream, ...] | None = None
        self._calm_since = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._rig.traffic.stop()

    def rehearse(self, drill: Drill) -> Outcome:
        """Cause the fault, see what is promised, undo it; whatever happens, it is undone."""
        record = Record(drill, self._tell)
        watch = Watch(self._rig, drill)
        try:
            watch.require_rules()
            baseline = self._calm_down(drill, watch)
            self._cause(drill, watch, baseline, record)
            self._resolve(drill, watch, record)
        except TritonobsError as failure:
            record.problem = str(failure)
            record.note(f"given up: {failure}")
        return record.outcome(watch)

    def _calm_down(self, drill: Drill, watch: Watch) -> Span:
        """A span of ordinary traffic in which none of the promised alerts fires."""
        self._calm(drill)
        deadline = time.time() + _patience(drill.resolves.at(self._rig.speed))
        while watch.firing() or time.time() < self._calm_since + _SETTLE_SECONDS + CALM_SECONDS:
            if time.time() > deadline + CALM_SECONDS:
                names = ", ".join(alert.name for alert in watch.firing())
                raise StackError(f"{names} fires without this fault; wait until it is resolved")
            time.sleep(_POLL_SECONDS)
        now = time.time()
        return Span(start=max(self._calm_since + _SETTLE_SECONDS, now - _LONGEST_BASELINE_SECONDS), end=now)

    def _calm(self, drill: Drill) -> None:
        if self._usual != drill.usual:
            self._rig.traffic.switch(drill.usual)
            self._usual, self._calm_since = drill.usual, time.time()

    def _cause(self, drill: Drill, watch: Watch, baseline: Span, record: Record) -> None:
        with Undo(lambda: record.note("still cleaning up")) as undo:
            record.begin()
            undo.enter_context(drill.cause(self._rig))
            record.note(drill.breaks)
            if drill.traffic is not None:
                self._usual = None
                self._rig.traffic.switch(drill.traffic)
            caused = time.time()
            while time.time() < caused + _patience(drill.fires.at(self._rig.speed)):
                record.see(alert.name for alert in watch.firing())
                if (drill.check or record.all_fired) and watch.judge(caused, baseline):
                    record.judge(watch)
                if watch.named and record.all_fired:
                    break
                time.sleep(_POLL_SECONDS)
            record.note("cleaning up")
        self._usual = None
        self._calm(drill)
        record.undone()

    def _resolve(self, drill: Drill, watch: Watch, record: Record) -> None:
        deadline = time.time() + _patience(drill.resolves.at(self._rig.speed))
        while time.time() < deadline and not record.all_resolved:
            record.miss({alert.name for alert in watch.firing()})
            time.sleep(_POLL_SECONDS)


def _patience(seconds: float) -> float:
    return _SLACK * seconds + _SLACK_SECONDS
