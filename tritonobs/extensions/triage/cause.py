"""What checks say in the same way: places, evidence, commands.

Names and numbers in sentences are formatted the same way in all checks. Commands in next steps are quoted so
that they can be pasted with any model name. Pure.
"""

from __future__ import annotations

import shlex

from tritonobs.extensions.triage.case import Case
from tritonobs.timings.cause import Evidence
from tritonobs.timings.measured import Subject, Timing
from tritonobs.timings.promql import labels_of
from tritonobs.timings.stages import Row
from tritonobs.units import format_number


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
