"""What `serve` does with a digest of alerts, and without any, without threads: for virtual time."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from support.incidents.conversations import EPOCH
from tritonobs.extensions.incidents.chats import Manner, Talk, heard, sift, unasked
from tritonobs.extensions.incidents.ends import Answer, Listing, ended
from tritonobs.extensions.incidents.join import State, join

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from tritonobs.delivery.payload import Alert, Sifted
    from tritonobs.extensions.incidents.incident import Fleet


class PureSieve:
    """Joins and sifts; the world begins at `EPOCH`, and its seconds are the event loop's."""

    def __init__(self, fleet: Fleet, update_seconds: float = 300.0) -> None:
        self._manner = Manner.of(fleet, update_seconds)
        self._state = State()
        self._talks: dict[str, Talk] = {}
        self._listing = Listing()

    @property
    def firing(self) -> frozenset[str]:
        """The fingerprints of alerts of which no end was heard."""
        return frozenset(key for key, one in self._state.alerts.items() if one.firing)

    @property
    def knows(self) -> bool:
        """Whether anything goes on, or did a moment ago."""
        return bool(self._state.alerts)

    def read(self, answer: Answer) -> None:
        """Hear what Alertmanager lists."""
        self._listing = self._listing.read(answer, self._now(), self.firing)
        known = self._state.alerts
        over = [ended(known[key].alert, at) for key, at in self._listing.over.items()]
        self._state = join(self._state, self._now(), over, self._manner.fleet).state

    def unasked(self) -> Iterator[tuple[str, tuple[Alert, ...]]]:
        """What a chat should hear although no call came: the robot, and the alerts of a message."""
        now = self._now()
        step = join(self._state, now, (), self._manner.fleet)
        self._state = step.state
        for robot, talk in tuple(self._talks.items()):
            for message in unasked(talk, step.incidents, now, self._manner):
                asked = talk.asked | {message.incident.id}
                self._talks[robot] = replace(self._talks[robot], asked=asked)
                yield robot, tuple(one.alert for one in message.going_on)

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
