"""What a chat of the fleet is sent: `tritonobs serve` joins calls that come together (tritonobs/delivery)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tritonobs.delivery.commit import Pace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from support.alertmanager_sim.alertmanager import Call, Key, Life


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message: what is new to the chat, what goes on, and what is over."""

    at: float
    begun: tuple[Life, ...]
    reminded: tuple[Life, ...]
    over: tuple[Life, ...]

    @property
    def severities(self) -> frozenset[str]:
        """Those of all alerts it names."""
        return frozenset(one.labels.get("severity", "") for one in (*self.begun, *self.reminded, *self.over))


def messages(calls: Iterable[Call], receiver: str) -> list[Message]:
    """The messages to one receiver. The end of an alert that the chat never got is left out.

    The budget of the robot (14 messages a minute) would join more; that is not modelled.
    """
    linger = Pace().linger_seconds
    waiting: list[Call] = []
    sent: set[Key] = set()
    done: list[Message] = []

    def send() -> None:
        message = _message(waiting, waiting[0].at + linger, sent)
        if message is not None:
            done.append(message)

    for call in (one for one in calls if one.receiver == receiver):
        if waiting and call.at > waiting[0].at + linger:
            send()
            waiting = []
        waiting.append(call)
    if waiting:
        send()
    return done


def _message(calls: Iterable[Call], at: float, sent: set[Key]) -> Message | None:
    firing = {one.key: one for call in calls for one in call.firing}
    ends = {one.key: one for call in calls for one in call.resolved}
    resolved = {key: one for key, one in ends.items() if key in sent}
    begun = tuple(one for key, one in firing.items() if key not in sent)
    reminded = tuple(one for key, one in firing.items() if key in sent)
    sent.update(firing)
    sent.difference_update(resolved.keys() - firing.keys())
    needless = len(ends) > len(resolved)
    if not (begun or resolved or (reminded and not needless)):
        return None
    return Message(at=at, begun=begun, reminded=reminded, over=tuple(resolved.values()))
