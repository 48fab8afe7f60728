"""What a drill is: a fault, its traffic, the promised alerts and verdict; and what its result is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from tritonobs.extensions.lab.drill.rig import Rig, Stream, steady

CALM = (steady(3.0),)
"""Ordinary traffic: well within the limits of the example fleet."""


@contextmanager
def only_traffic(_: Rig) -> Iterator[None]:
    """The cause of drills whose only fault is their traffic."""
    yield


@dataclass(frozen=True, slots=True, kw_only=True)
class Takes:
    """Seconds: `fixed` at any speed of the rules, and `scaled` at the speed the fleet's rules have."""

    fixed: float
    scaled: float = 0.0

    def at(self, speed: float) -> float:
        """Seconds where rules run `speed` times as fast."""
        return self.fixed + self.scaled / speed


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """An alert that must fire and resolve: the name of its rule, and labels it must carry."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)


def alert(name: str, **labels: str) -> Alert:
    """The alert of that name with these labels."""
    return Alert(name=name, labels=labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drill:
    """A fault and its promises.

    `cause` injects the fault when entered and removes it when left, in every case. `check` is the check whose
    cause triage must name first, about `model` (any, if empty); an empty `check` promises that triage finds
    nothing wrong. `usual` is sent before, `traffic` during the fault, `after` when it is gone (None: the
    usual). `fires` and `resolves` say how long the alerts take. `prepare` is entered before the calm, and
    left with the fault; the calm lasts as long as `calm` where that is longer than usual.
    """

    name: str
    breaks: str
    cause: Callable[[Rig], AbstractContextManager[None]] = only_traffic
    alerts: tuple[Alert, ...]
    check: str
    fires: Takes
    resolves: Takes
    model: str = ""
    usual: tuple[Stream, ...] = CALM
    traffic: tuple[Stream, ...] | None = None
    after: tuple[Stream, ...] | None = None
    prepare: Callable[[Rig], AbstractContextManager[None]] | None = None
    calm: Takes = Takes(fixed=0.0)

    def seconds(self, speed: float) -> float:
        """About how long it takes, a calm minute before included."""
        calm = max(CALM_SECONDS, self.calm.at(speed))
        return calm + self.fires.at(speed) + self.resolves.at(speed)


CALM_SECONDS = 45.0
"""The baseline of triage: at least this much ordinary traffic, right before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Something that happened, in seconds since the fault was caused."""

    seconds: float
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenAlert:
    """A promised alert: when it fired, and how long after the fault was undone it resolved; None: never."""

    name: str
    fired_after: float | None
    resolved_after: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The results of a drill, compared with its promises.

    `cause` is the check that triage named first ("" for nothing wrong, "?" for no verdict), `sentence` its
    words, `named_after` when it first was the promised one. `problem` is why the drill could not be run.
    """

    drill: str
    alerts: tuple[SeenAlert, ...]
    promised: str
    cause: str
    sentence: str
    named_after: float | None
    moments: tuple[Moment, ...]
    problem: str = ""

    @property
    def broken(self) -> tuple[str, ...]:
        """Every promise that was not kept, in words."""
        said = [self.problem] if self.problem else []
        for alert in self.alerts:
            if alert.fired_after is None:
                said.append(f"{alert.name} did not fire")
            elif alert.resolved_after is None:
                said.append(f"{alert.name} did not resolve")
        if self.named_after is None and not self.problem:
            promised = self.promised or "nothing wrong"
            said.append(f"triage says {self.cause or 'nothing wrong'}, not {promised}")
        return tuple(said)

    @property
    def kept(self) -> bool:
        """Whether all was as promised."""
        return not self.broken
