"""What a check declares, and what checks say in the same way.

A check is a function whose name is its id, its page and its heading. It declares its place among the checks
and what its causes explain. Names and numbers in sentences are formatted the same way in all checks. Commands
in next steps are quoted so that they can be pasted with any model name.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from tritonobs.extensions.triage.case import Case, Change
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.measured import Subject
from tritonobs.timings.promql import labels_of
from tritonobs.timings.stages import Row
from tritonobs.units import format_number

LATE: Final = frozenset({"slow_stage", "queue_saturation", "cpu_starved", "slow_machine"})
"""Waiting, busy processors and slow stages are consequences of most faults, and seldom causes."""
_ALWAYS: Final = frozenset({"budget_burn"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A check. Of two equally sure causes that of the lower `order` comes first.

    `explains` are the checks whose causes follow from one of this check, where both are about one request's
    way; those of `same_model` only in the same model, those of `callers` only in that model and its callers.
    """

    judge: Callable[[View], Iterator[Cause]]
    order: int
    explains: frozenset[str]
    same_model: frozenset[str]
    callers: frozenset[str]


DECLARED: Final[dict[str, Check]] = {}
"""Every check by its name; `tritonobs.extensions.triage.checks` fills it."""


def check(
    *,
    order: int,
    explains: Iterable[str] | None = None,
    same_model: Iterable[str] = (),
    callers: Iterable[str] = (),
) -> Callable[[Callable[[View], Iterator[Cause]]], Callable[[View], Iterator[Cause]]]:
    """Declare the decorated function as the check of its name.

    Without `explains` its causes explain nothing, burning budgets included. Deployments and workers are of
    one model: those of another member of its pipeline explain nothing in it (`same_model`).
    """

    def declare(judge: Callable[[View], Iterator[Cause]]) -> Callable[[View], Iterator[Cause]]:
        DECLARED[judge.__name__] = Check(
            judge=judge,
            order=order,
            explains=frozenset() if explains is None else frozenset(explains) | _ALWAYS,
            same_model=frozenset(same_model),
            callers=frozenset(callers),
        )
        return judge

    return declare


def part(case: Case, row: Row) -> str:
    """A part of a request with the way to it: `inspect / preprocess / decode`."""
    return " / ".join((case.now.model, *row.path))


def stage_labels(row: Row) -> dict[str, str]:
    """The labels that select a stage's series."""
    return labels_of((row.model, row.version, row.name))


def titled(subject: Subject) -> str:
    """`inspect version 2`, or the model alone where it has only one version."""
    return f"{subject[0]} version {subject[1]}" if subject[1] else subject[0]


def timing_evidence(change: Change) -> tuple[Evidence, ...]:
    """Mean and p99 of a part of a request, before and now."""
    what, now = change.now.name, change.now.timing
    mean = Evidence(f"mean of {what}", change.was.mean, now.mean, "seconds")
    p99 = Evidence(f"p99 of {what}", change.was.p99, now.p99, "seconds")
    return (mean, p99) if now.p99 is not None else (mean,)


def figure(value: float) -> str:
    """Three digits of a finite number, and no exponent: 1234 tokens are `1230`."""
    return format_number(float(f"{value:.3g}"))


def growth(now: float | None, before: float | None) -> float:
    """How many times as much; 1 where nothing can be compared."""
    return now / before if now is not None and before else 1.0


def plural(number: int, what: str) -> str:
    """`1 new worker`, `2 new workers`."""
    return f"{number} {what}{'s' if number > 1 else ''}"


def suggest_limit(model: str) -> str:
    """A command that measures what a model can serve."""
    return f"tritonobs limits suggest --model {shlex.quote(model)}"


def set_limit(model: str, version: str, qps: float) -> str:
    """A command that sets a limit; the reader fills in the fleet file and the reason."""
    which = f" --model {shlex.quote(model)}" if model else ""
    which += f" --version {shlex.quote(version)}" if version else ""
    return f'tritonobs limits set fleet.yaml {figure(qps)}{which} --reason "there is room"'


def stages_command(model: str) -> str:
    """A command that shows where the time goes."""
    return f"tritonobs stages --model {shlex.quote(model)}"


def triage_command(model: str, since: str) -> str:
    """A command that runs triage again for one model."""
    return f"tritonobs triage --model {shlex.quote(model)} --since {since}"
