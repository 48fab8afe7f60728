"""Names and numbers in the sentences of checks, said the same way in all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs import names
from tritonobs.live.cause import Evidence

if TYPE_CHECKING:
    from tritonobs.live.case import Case
    from tritonobs.live.stages import Row
    from tritonobs.live.timings import Subject, Timing

Labels = tuple[tuple[str, str], ...]


def part(case: Case, row: Row) -> str:
    """A part of a request with the way to it: `inspect / preprocess / decode`."""
    return " / ".join((case.now.model, *row.path))


def model_labels(subject: Subject) -> Labels:
    """The labels that select a model version's series."""
    return ((names.MODEL, subject[0]), (names.VERSION, subject[1]))


def stage_labels(row: Row) -> Labels:
    """The labels that select a stage's series."""
    return (*model_labels((row.model, row.version)), (names.STAGE, row.name))


def titled(subject: Subject) -> str:
    """`inspect version 2`, or the model alone where there is but one version to mean."""
    return f"{subject[0]} version {subject[1]}" if subject[1] else subject[0]


def timing_evidence(what: str, before: Timing | None, now: Timing) -> tuple[Evidence, ...]:
    """Mean and p99 of something, before and now."""
    mean = Evidence(
        what=f"mean of {what}", before=before.mean if before else None, now=now.mean, unit="seconds"
    )
    p99 = Evidence(what=f"p99 of {what}", before=before.p99 if before else None, now=now.p99, unit="seconds")
    return (mean, p99) if now.p99 is not None else (mean,)


def growth(now: float | None, before: float | None) -> float:
    """How many times as much; 1 where nothing can be compared."""
    return now / before if now is not None and before else 1.0
