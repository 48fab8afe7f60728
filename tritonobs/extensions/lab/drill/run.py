"""One drill after another: calm, fault, promised alerts and verdict, undo, resolved.

The promised alerts in Prometheus and triage's verdict are watched, and the moments of a drill recorded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import psutil
from typing_extensions import Self

from tritonobs.errors import ClientError, StackError, TritonobsError
from tritonobs.extensions.lab.drill import calls, repository, servers
from tritonobs.extensions.lab.drill.drill import (
    CALM_SECONDS,
    Alert,
    Drill,
    Moment,
    Outcome,
    SeenAlert,
)
from tritonobs.extensions.lab.drill.rig import Rig, Stream
from tritonobs.registry import answer
from tritonobs.timings.promql import Span
from tritonobs.undo import Undo

DRILLS: Final[Mapping[str, Drill]] = {
    drill.name: drill
    for drill in (*calls.DRILLS, *repository.DRILLS, *calls.OF_A_LANGUAGE_MODEL, *servers.DRILLS)
}
"""Every drill, by its name, in the order in which they are listed."""

_POLL_SECONDS = 1.0
_SLACK, _SLACK_SECONDS = 1.5, 60.0
_SETTLE_SECONDS = 12.0
"""Until what was sent before is answered, handed over and scraped."""
_LONGEST_BASELINE_SECONDS = 60.0
_HELD_SECONDS = 3600.0
"""How long an alert stays that came back within three hours: the fault may be planted for the second time."""

_JUDGE_SECONDS = 5.0
_SHORTEST_SECONDS = 20.0
_LAG_SECONDS = 5.0
_FIRING = "firing"


class Session:
    """Drills on one rig, with ordinary traffic between them; `tell` is called with events.

    A fault whose promises were seen stays for as long as `stays` says so.
    """

    def __init__(
        self,
        rig: Rig,
        tell: Callable[[str, Moment], None],
        stays: Callable[[], bool] = lambda: False,
    ) -> None:
        self._rig, self._tell, self._stays = rig, tell, stays
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
                while self._stays():
                    self._look()
                    time.sleep(_POLL_SECONDS)
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
        """The drills without anything left to wait for; the timeout counts only when no other is left."""
        for watch, record in tuple(self._open):
            patience = self._until_resolved(watch.drill)
            if record.problem or record.all_resolved or (last and record.waited_seconds > patience):
                self._open.remove((watch, record))
                yield record.outcome(watch)

    def _until_resolved(self, drill: Drill) -> float:
        return _patience(drill.resolves.at(self._rig.speed)) + _HELD_SECONDS / self._rig.speed

    def _look(self) -> None:
        """Note which alerts of earlier drills are resolved."""
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


class Record:
    """Records the moments of a drill."""

    def __init__(self, drill: Drill, tell: Callable[[str, Moment], None]) -> None:
        self._drill, self._tell = drill, tell
        self._began = self._undone = time.time()
        self._moments: list[Moment] = []
        self._fired: dict[str, float] = {}
        self._resolved: dict[str, float] = {}
        self._named: float | None = None
        self._last: tuple[str, bool] | None = None
        self.problem = ""

    @property
    def all_fired(self) -> bool:
        """Whether every promised alert fired."""
        return len(self._fired) == len(self._drill.alerts)

    @property
    def all_resolved(self) -> bool:
        """Whether every alert that fired is resolved."""
        return len(self._resolved) == len(self._fired)

    @property
    def waited_seconds(self) -> float:
        """How long ago the fault was undone."""
        return time.time() - self._undone

    def begin(self) -> None:
        """The fault is caused now."""
        self._began = time.time()

    def undone(self) -> None:
        """The fault is gone, and traffic as usual."""
        self._undone = time.time()
        self.note("undone")

    def note(self, what: str) -> float:
        """Something happened now; gives the seconds since the fault."""
        moment = Moment(seconds=time.time() - self._began, what=what)
        self._moments.append(moment)
        self._tell(self._drill.name, moment)
        return moment.seconds

    def see(self, names: Iterable[str]) -> None:
        """These promised alerts fire."""
        for name in names:
            if name not in self._fired:
                self._fired[name] = self.note(f"{name} fires")

    def miss(self, firing: set[str]) -> None:
        """Those that fired and do so no more are resolved."""
        for name in self._fired.keys() - firing - self._resolved.keys():
            self.note(f"{name} is resolved")
            self._resolved[name] = self.waited_seconds

    def judge(self, watch: Watch) -> None:
        """Triage gave a verdict."""
        if (watch.cause, watch.named) != self._last:
            self.note(f"triage: {watch.sentence}")
        self._last = (watch.cause, watch.named)
        if not watch.named:
            self._named = None
        elif self._named is None:
            self._named = time.time() - self._began

    def outcome(self, watch: Watch) -> Outcome:
        """All of it."""
        return Outcome(
            drill=self._drill.name,
            alerts=tuple(
                SeenAlert(
                    name=alert.name,
                    fired_after=self._fired.get(alert.name),
                    resolved_after=self._resolved.get(alert.name),
                )
                for alert in self._drill.alerts
            ),
            promised=self._drill.check,
            cause=watch.cause,
            sentence=watch.sentence,
            named_after=self._named,
            moments=tuple(self._moments),
            problem=self.problem,
        )


class Watch:
    """Checks the promises of one drill. `cause` and `sentence` are those of the last verdict."""

    def __init__(self, rig: Rig, drill: Drill) -> None:
        self._rig, self.drill = rig, drill
        self._judged_at = 0.0
        self.cause, self.sentence = "", "triage was not asked"
        self.named = False
        self._judge = answer("verdict")

    def require_rules(self) -> None:
        """Make sure that Prometheus has the rules of the promised alerts.

        Raises:
            StackError: it has not; the text names them.
            ClientError: Prometheus does not answer.
        """
        loaded = {rule.name for rule in self._rig.prometheus.rules()}
        missing = sorted({alert.name for alert in self.drill.alerts} - loaded)
        if missing:
            raise StackError(f"Prometheus has loaded no rule {', '.join(missing)}")

    def firing(self) -> tuple[Alert, ...]:
        """The promised alerts that fire now."""
        now = [alert for alert in self._rig.prometheus.alerts() if alert.state == _FIRING]
        return tuple(
            wanted
            for wanted in self.drill.alerts
            if any(each.name == wanted.name and wanted.labels.items() <= each.labels.items() for each in now)
        )

    def judge(self, caused: float, baseline: Span) -> bool:
        """Let triage judge what happened since `caused`, now and then; whether it did."""
        now = time.time()
        incident = Span(start=caused + _LAG_SECONDS, end=now)
        if self._judge is None:
            # Where triage is taken out, a drill is about its alerts.
            self.cause, self.named = self.drill.check, True
            return True
        if now - self._judged_at < _JUDGE_SECONDS or incident.seconds < _SHORTEST_SECONDS:
            return False
        self._judged_at = now
        try:
            rig = self._rig
            verdict = self._judge(rig.prometheus, rig.asked, incident=incident, baseline=baseline).verdict
        except ClientError as failure:
            self.cause, self.sentence, self.named = "?", str(failure), False
            return True
        first = next(iter(verdict.causes), None)
        self.sentence = verdict.sentence
        self.cause = first.check if first else "?" if verdict.status == "blind" else ""
        right = self.cause == self.drill.check
        self.named = right and (not self.drill.model or first is None or first.model == self.drill.model)
        return True
