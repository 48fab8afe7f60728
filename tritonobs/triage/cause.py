"""The result of a check: one explanation, its confidence and its evidence.

Names and numbers in its sentences are formatted the same way in all checks. The commands in its next steps
are quoted so that they can be pasted with any model name. Pure.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tritonobs.timings.measured import Subject, Timing
from tritonobs.timings.promql import labels_of
from tritonobs.timings.stages import Row
from tritonobs.triage.case import Case
from tritonobs.units import format_number

Unit = Literal["seconds", "ratio", "per_second", "count", "megapixels", "bytes", "boxes", "timestamp", ""]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A number, before and now; None where it was not measured."""

    what: str
    before: float | None
    now: float | None
    unit: Unit = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One explanation of what is wrong.

    `check` is the id of the check, its page and its heading; `judge` sets it. `place` is the model, its
    version and the path to a stage, as far as they apply; `("", "")` is the fleet. `confidence` is 0 to 1.
    `trend` names the numbers whose change says since when: a key of the snapshot's trends and the labels of
    the series. `asked` names the questions the evidence came from. `ends` says that the change is the end of
    that series, `falls` that it is one downwards.
    """

    check: str = ""
    place: tuple[str, ...]
    sentence: str
    confidence: float
    evidence: tuple[Evidence, ...] = ()
    next_steps: tuple[str, ...] = ()
    trend: tuple[str, Mapping[str, str]] | None = None
    asked: tuple[str, ...] = ()
    since: float | None = None
    ends: bool = False
    falls: bool = False

    @property
    def model(self) -> str:
        """The model it is about, or "" for the fleet."""
        return self.place[0] if self.place else ""


def part(case: Case, row: Row) -> str:
    """A part of a request with the way to it: `inspect / preprocess / decode`."""
    return " / ".join((case.now.model, *row.path))


def stage_labels(row: Row) -> dict[str, str]:
    """The labels that select a stage's series."""
    return labels_of((row.model, row.version, row.name))


def titled(subject: Subject) -> str:
    """`inspect version 2`, or the model alone where it has only one version."""
    return f"{subject[0]} version {subject[1]}" if subject[1] else subject[0]


def timing_evidence(what: str, before: Timing | None, now: Timing) -> tuple[Evidence, ...]:
    """Mean and p99 of something, before and now."""
    mean = Evidence(f"mean of {what}", before.mean if before else None, now.mean, "seconds")
    p99 = Evidence(f"p99 of {what}", before.p99 if before else None, now.p99, "seconds")
    return (mean, p99) if now.p99 is not None else (mean,)


def figure(value: float) -> str:
    """Three digits of a finite number, and no exponent: 1234 tokens are `1230`."""
    return format_number(float(f"{value:.3g}"))


def growth(now: float | None, before: float | None) -> float:
    """How many times as much; 1 where nothing can be compared."""
    return now / before if now is not None and before else 1.0


def suggest_limit(model: str) -> str:
    """A command that measures what a model can serve."""
    return f"tritonobs limits suggest --model {shlex.quote(model)}"


def set_limit(model: str, version: str, qps: float) -> str:
    """A command that sets a limit; the reader fills in the fleet file and the reason."""
    which = f" --model {shlex.quote(model)}" if model else ""
    which += f" --version {shlex.quote(version)}" if version else ""
    number = format_number(float(f"{qps:.3g}"))
    return f'tritonobs limits set fleet.yaml {number}{which} --reason "there is room"'


def stages_command(model: str) -> str:
    """A command that shows where the time goes."""
    return f"tritonobs stages --model {shlex.quote(model)}"


def triage_command(model: str, since: str) -> str:
    """A command that runs triage again for one model."""
    return f"tritonobs triage --model {shlex.quote(model)} --since {since}"
