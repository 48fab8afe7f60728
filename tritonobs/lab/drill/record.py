"""Records the moments of a drill."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tritonobs.lab.drill.outcome import Moment, Outcome, SeenAlert

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tritonobs.lab.drill.drill import Drill
    from tritonobs.lab.drill.watch import Watch


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
        """Triage said something."""
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
