"""Which alerts of a digest its message names, which were named already, and which wait for a later one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tritonobs.delivery.payload import Alert, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Sifted:
    """What need not be sent now; everything else is.

    `known` were named, in this state, in a message that this robot's chat accepted: their calls need no other
    one. `later` wait for the next message, by how many seconds they may still wait: their calls stay without
    an answer, and go on waiting where they come again.
    """

    known: frozenset[State] = frozenset()
    later: Mapping[State, float] = field(default_factory=dict)


class Sieve(Protocol):
    """Decides for every digest of a robot. It raises nothing, and takes two seconds at most."""

    async def sift(self, robot: str, alerts: Sequence[Alert]) -> Sifted:
        """What of these alerts, for this robot, a message need not name now."""

    def named(self, robot: str, states: Collection[State]) -> None:
        """An accepted message, or several, named these alerts for this robot."""


class Unsifted:
    """Everything is sent at once."""

    async def sift(self, robot: str, alerts: Sequence[Alert]) -> Sifted:
        """Nothing waits."""
        del robot, alerts
        return Sifted()

    def named(self, robot: str, states: Collection[State]) -> None:
        """It is of no interest."""
