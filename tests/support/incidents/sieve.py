"""What `serve` does with a digest of alerts, without threads: for virtual time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from support.incidents.conversations import EPOCH
from tritonobs.extensions.incidents.chats import Manner, Talk, heard, sift
from tritonobs.extensions.incidents.join import State, join

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tritonobs.delivery.payload import Alert
    from tritonobs.delivery.sifted import Sifted
    from tritonobs.extensions.incidents.place import Fleet


class PureSieve:
    """Joins and sifts; the world begins at `EPOCH`, and its seconds are the event loop's."""

    def __init__(self, fleet: Fleet, update_seconds: float = 300.0) -> None:
        self._manner = Manner.of(fleet, update_seconds)
        self._state = State()
        self._talks: dict[str, Talk] = {}

    async def sift(self, robot: str, alerts: Sequence[Alert]) -> Sifted:
        """As the part of `serve` does."""
        now = self._now()
        step = join(self._state, now, alerts, self._manner.fleet)
        self._state = step.state
        talk = self._talks.get(robot, Talk())
        self._talks[robot], sifted = sift(talk, alerts, step.incidents, now, self._manner)
        return sifted

    def named(self, robot: str, states: Collection[tuple[str, str, str]]) -> None:
        """The chat has these."""
        self._talks[robot] = heard(self._talks[robot], states, self._now())

    @staticmethod
    def _now() -> float:
        return EPOCH + asyncio.get_running_loop().time()
