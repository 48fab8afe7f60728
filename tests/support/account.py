"""Checks that every message reached people: counted from what strict robots accepted."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tritonobs.extensions.lab.robot import Message

# A line of our template, in full or short: the alert's name in bold, then its model.
_LINE = re.compile(r"(🔴|✅)[^\n]*?\bTritonQpsAboveLimit\*{1,2} (\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What became of the news that mattered; one piece is `MODEL firing` or `MODEL resolved`.

    `seconds` is the longest time from an alert's arrival to the first message that named it.
    """

    fault: str
    sent: int
    delivered: int
    most_times: int
    seconds: float
    lost: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    needless: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether each piece was sent once, and nothing else was."""
        return not (self.lost or self.repeated or self.needless)


def named(messages: Iterable[Message]) -> list[tuple[str, float]]:
    """Every piece of news in these messages, in their order, with the moment its message was accepted."""
    return [
        (f"{model} {'resolved' if icon == '✅' else 'firing'}", message.received_at)
        for message in messages
        for icon, model in _LINE.findall(message.text)
    ]


def settle(fault: str, wanted: Mapping[str, float], messages: Iterable[Message]) -> Account:
    """Compare what was sent with what was `wanted`: each piece with the moment it arrived."""
    news = named(messages)
    times = Counter(piece for piece, _ in news)
    first: dict[str, float] = {}
    for piece, at in news:
        first.setdefault(piece, at)
    return Account(
        fault=fault,
        sent=len(wanted),
        delivered=sum(piece in times for piece in wanted),
        most_times=max((times[piece] for piece in wanted), default=0),
        seconds=max((first[piece] - at for piece, at in wanted.items() if piece in first), default=0.0),
        lost=tuple(piece for piece in wanted if piece not in times),
        repeated=tuple(piece for piece, count in times.items() if count > 1),
        needless=tuple(piece for piece in times if piece not in wanted),
    )
