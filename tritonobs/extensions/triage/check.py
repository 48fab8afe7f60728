"""What a check declares beside its function: its place among the checks, and what its causes explain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause

LATE: Final = frozenset({"slow_stage", "queue_saturation", "cpu_starved", "slow_machine"})
"""Waiting, busy processors and slow stages are consequences of most faults, and seldom causes."""
_ALWAYS: Final = frozenset({"budget_burn"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A check. Of two equally sure causes that of the lower `order` comes first.

    `explains` are the checks whose causes follow from one of this check, where both are about one request's
    way; those of `same_model` only in the same model, those of `callers` only in that model and its callers.
    """

    name: str
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
    """Declare the decorated function as the check that its module is named after.

    Without `explains` its causes explain nothing, burning budgets included.
    """

    def declare(judge: Callable[[View], Iterator[Cause]]) -> Callable[[View], Iterator[Cause]]:
        name = judge.__module__.rpartition(".")[2]
        DECLARED[name] = Check(
            name=name,
            judge=judge,
            order=order,
            explains=frozenset() if explains is None else frozenset(explains) | _ALWAYS,
            same_model=frozenset(same_model),
            callers=frozenset(callers),
        )
        return judge

    return declare
