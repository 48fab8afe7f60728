"""A model version in both windows: what its requests spent, and what changed. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tritonobs.live.stages import Row, StageTable
    from tritonobs.live.timings import Subject

_NOTABLE_SECONDS = 0.002


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A part of a request in both windows; a part that was not there before has no `before`."""

    now: Row
    before: Row | None

    @property
    def added_seconds(self) -> float:
        """What it adds to a request that it did not add before."""
        return (self.now.seconds or 0.0) - ((self.before.seconds or 0.0) if self.before else 0.0)

    @property
    def added_tail_seconds(self) -> float:
        """What it adds to the slowest hundredth, roughly: tails of stages do not simply add up."""
        before = self.before.timing.p99 if self.before else None
        return (self.now.timing.p99 or 0.0) - (before or 0.0)

    @property
    def growth(self) -> float:
        """Its mean as a multiple of what it was; 1 where nothing can be compared."""
        before = self.before.timing.mean if self.before else None
        return self.now.timing.mean / before if self.now.timing.mean and before else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A model version that clients ask, in both windows.

    `before` is None when nobody asked it, nor another version of it, in the baseline.
    """

    now: StageTable
    before: StageTable | None

    @property
    def subject(self) -> Subject:
        """Model and version."""
        return (self.now.model, self.now.version)

    @property
    def added_seconds(self) -> float:
        """How much longer a request takes than before; 0 when that is unknown."""
        if self.before is None or self.before.request.mean is None or self.now.request.mean is None:
            return 0.0
        return self.now.request.mean - self.before.request.mean

    @property
    def slower(self) -> bool:
        """Whether requests take notably longer: on average, or the slowest hundredth."""
        if self.before is None:
            return False
        now, before = self.now.request, self.before.request
        return _grew(now.mean, before.mean, 1.25) or _grew(now.p99, before.p99, 1.6)

    def change_of(self, model: str, stage: str) -> Change | None:
        """The stage of this model, wherever in the request it is."""
        return next(
            (change for change in self.changes() if change.now.model == model and change.now.name == stage),
            None,
        )

    def changes(self) -> tuple[Change, ...]:
        """Leaves of the table, the one that adds most first."""
        before = {row.path: row for row in self.before.rows} if self.before else {}
        pairs = [Change(now=row, before=before.get(row.path)) for row in self.now.rows if row.leaf]
        return tuple(sorted(pairs, key=lambda change: -change.added_seconds))


def _grew(now: float | None, before: float | None, factor: float) -> bool:
    return (
        now is not None and before is not None and now > factor * before and now - before > _NOTABLE_SECONDS
    )
