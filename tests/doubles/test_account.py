"""The account of news: lost, repeated and needless pieces all show."""

from __future__ import annotations

from support.account import settle
from tritonobs.extensions.lab.robot import Message


def _message(at: float, *lines: str) -> Message:
    return Message(title="t", text="\n".join(lines), received_at=at)


FULL = "**🔴 TritonQpsAboveLimit** a version 1  "
SHORT = "- ✅ **TritonQpsAboveLimit** a · 12:00 to 12:01"


def test_news_told_once_is_exact() -> None:
    """In full or in a line, firing and resolved; the time is that of the slowest."""
    account = settle(
        "none", {"a firing": 10.0, "a resolved": 30.0}, [_message(12.0, FULL), _message(37.0, SHORT)]
    )
    assert account.exact
    assert (account.sent, account.delivered, account.most_times, account.seconds) == (2, 2, 1, 7.0)


def test_what_went_wrong_shows() -> None:
    """Never told, sent twice, told though nobody wanted it."""
    account = settle(
        "all", {"a firing": 0.0, "b firing": 0.0}, [_message(1.0, FULL, SHORT), _message(2.0, FULL)]
    )
    assert not account.exact
    assert (account.lost, account.repeated, account.needless) == (
        ("b firing",),
        ("a firing",),
        ("a resolved",),
    )
    assert (account.delivered, account.most_times, account.seconds) == (1, 2, 1.0)
