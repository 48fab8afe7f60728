"""What was told but could not be acknowledged."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

REMEMBERED_SECONDS = 900.0
"""Longer than any retry of Alertmanager's, far shorter than its repeat interval."""

State = tuple[str, str, str]


class Ledger:
    """In memory only: losing it means a piece of news told twice, never one lost."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, State], float] = {}

    def remember(self, group_key: str, states: Iterable[State], now: float) -> None:
        """These were accepted, but their call was not answered so."""
        self._told = {key: until for key, until in self._told.items() if until > now}
        self._told.update({(group_key, state): now + REMEMBERED_SECONDS for state in states})

    def told(self, group_key: str, state: State, now: float) -> bool:
        """Whether this was accepted already."""
        return self._told.get((group_key, state), 0.0) > now

    def acknowledge(self, group_key: str, states: Iterable[State]) -> None:
        """The caller knows now."""
        for state in states:
            self._told.pop((group_key, state), None)
