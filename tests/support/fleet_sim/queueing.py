"""A queue before instances that finish so many requests a second: what is answered, waits or is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from support.fleet_sim.series import Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Queued:
    """Per tick: requests answered, waiting at its end, refused by a full queue, and seconds waited."""

    answered: Array
    waiting: Array
    refused: Array
    waited: Array


def queue(arrivals: Array, *, per_tick: float, most_waiting: float, tick_seconds: float) -> Queued:
    """First come, first served; capacity that was not used is not saved."""
    answered, waiting, refused = (np.zeros(len(arrivals)) for _ in range(3))
    held, earned = 0.0, 0.0
    for tick, came in enumerate(arrivals):
        held += came
        earned += per_tick
        done = min(held, np.floor(earned))
        earned -= done
        if held - done <= 0:
            earned = min(earned, 1.0)
        held -= done
        lost = max(0.0, held - most_waiting)
        held -= lost
        answered[tick], waiting[tick], refused[tick] = done, held, lost
    return Queued(
        answered=answered,
        waiting=waiting,
        refused=refused,
        waited=waiting / max(per_tick, 1e-9) * tick_seconds,
    )
