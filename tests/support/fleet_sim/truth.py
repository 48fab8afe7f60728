"""What really happened: requests by how they ended, where, of which model version, in which second.

Nothing here knows how Prometheus sees it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from support.fleet_sim.series import Array

FAST: Final = "fast"
"""Answered in time."""
SLOW: Final = "slow"
"""Answered, but later than the target allows."""
SOFT: Final = "soft"
"""An error reply; Triton counts a success, only our own counter an error."""
RAISED: Final = "raised"
"""The model raised an error; Triton counts a failure, our counter an error."""
DEAD: Final = "dead"
"""The worker was dead; Triton counts a failure, the model counts nothing."""
EXPIRED: Final = "expired"
"""Waited too long in the queue; Triton counts a failure, the model never saw it."""
CANCELLED: Final = "cancelled"
"""Cancelled by the client while it waited; not an error, and the model never saw it."""
LEFT: Final = "left"
"""Cancelled by the client while the model had it; Triton counts a success, our counter `cancelled`."""
INVALID: Final = "invalid"
"""Bad input, answered with an error: the caller's fault. Triton counts a success, our counter `invalid`."""
REFUSED: Final = "refused"
"""Bad input that the model raised, or that a step of an ensemble refused: but a failure to Triton."""
UNSEEN: Final = "unseen"
"""Refused where Triton counts nothing: a full queue, a model that is not there."""

BAD: Final = frozenset({SOFT, RAISED, DEAD, EXPIRED})
"""Charged to the availability budget."""
VALID: Final = BAD | {FAST, SLOW, CANCELLED, LEFT}
"""What an availability budget is a share of: bad input is none of the service's business."""
COUNTED: Final = VALID | {INVALID, REFUSED}
"""What Triton's counters show."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Happened:
    """The requests of one model version on one server, per tick and ending."""

    cluster: str
    server: str
    model: str
    version: str
    ends: dict[str, Array]
    arrivals: Array


@dataclass(slots=True, kw_only=True)
class Truth:
    """All that happened in a world."""

    tick_seconds: float
    happened: list[Happened] = field(default_factory=list)

    def count(self, *kinds: str, start: float = 0, end: float = np.inf, **where: str) -> float:
        """Requests that ended so from `start` to `end`; `where` are fields of `Happened`, by name."""
        return self._sum(
            [one.ends[kind] for one in self._at(where) for kind in kinds if kind in one.ends], start, end
        )

    def bad(self, *, start: float = 0, end: float = np.inf, **where: str) -> float:
        """Requests charged to the availability budget."""
        return self.count(*sorted(BAD), start=start, end=end, **where)

    def requests(self, *, start: float = 0, end: float = np.inf, **where: str) -> float:
        """Requests that count for an SLO, however they ended: all that Triton counted but bad input."""
        return self.count(*sorted(VALID), start=start, end=end, **where)

    def offered(self, *, start: float = 0, end: float = np.inf, **where: str) -> float:
        """Requests that clients sent, also those still waiting and those refused unseen."""
        return self._sum([one.arrivals for one in self._at(where)], start, end)

    def _at(self, where: dict[str, str]) -> list[Happened]:
        return [
            one for one in self.happened if all(getattr(one, name) == value for name, value in where.items())
        ]

    def _sum(self, rows: list[Array], start: float, end: float) -> float:
        first = int(np.ceil(start / self.tick_seconds))
        last = None if end == np.inf else int(np.ceil(end / self.tick_seconds))
        return float(sum(row[first:last].sum() for row in rows))
