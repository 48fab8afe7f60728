"""What a drill is: a fault, its traffic, and the promised alerts and verdict."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tritonobs.lab.drill.streams import CALM, Stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from tritonobs.lab.drill.rig import Rig


@contextmanager
def only_traffic(_: Rig) -> Iterator[None]:
    """The cause where nothing is broken but what is sent."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Drill:
    """A fault and its promises.

    `cause` breaks something when entered and mends it when left, in every case. `check` is the
    check whose cause triage must name first, about `model` (any, if empty); an empty `check` promises that
    triage finds nothing wrong. `usual` is sent before, `traffic` while the fault is there, `after` when it is
    gone (None: the usual). `fires` and `resolves` say how long the alerts take. `prepare` is entered before
    the calm, and left with the fault; the calm lasts as long as `calm` where that is longer than usual.
    """

    name: str
    breaks: str
    cause: Callable[[Rig], AbstractContextManager[None]]
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
"""What triage compares with: at least so much ordinary traffic, right before."""
