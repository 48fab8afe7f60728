"""News that a robot accepted, while the call that brought it could not be acknowledged."""

from __future__ import annotations

from collections.abc import Iterable

REMEMBERED_SECONDS = 900.0
"""Longer than any retry of Alertmanager's, far shorter than its repeat interval."""

State = tuple[str, str, str]


class Ledger:
    """In memory only: if it is lost, a message is sent twice; none is lost."""

    def __init__(self) -> None:
        self._accepted: dict[tuple[str, State], float] = {}

    def remember(self, group_key: str, states: Iterable[State], now: float) -> None:
        """These were accepted, but the call that brought them was not answered with success."""
        self._accepted = {key: until for key, until in self._accepted.items() if until > now}
        self._accepted.update({(group_key, state): now + REMEMBERED_SECONDS for state in states})

    def accepted(self, group_key: str, state: State, now: float) -> bool:
        """Whether this was accepted already."""
        return self._accepted.get((group_key, state), 0.0) > now

    def acknowledge(self, group_key: str, states: Iterable[State]) -> None:
        """The caller was answered with success."""
        for state in states:
            self._accepted.pop((group_key, state), None)
