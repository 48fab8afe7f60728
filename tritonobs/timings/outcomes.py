"""How requests ended: the one error ratio that triage and `top` show, counted as the rules count it.

An error reply is a success to Triton, and a dead worker counts nothing itself: of both views of what a
model did, on
each replica, the worse is true. What never reached the model only Triton saw. A failed ensemble request
counts twice as OTHER, once under version 1 and once under its own: halved, and under 1 as its successes are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from tritonobs import names

LABELS: Final = (names.INSTANCE, names.MODEL, names.VERSION)
"""Whose requests: each of the three readings below has them first."""
_BY_MODEL = frozenset({"BACKEND", ""})
"""Reasons of failures that happened in the model; before 24.07 there was none."""
_CANCELED, _OTHER, _ENSEMBLE_VERSION = "CANCELED", "OTHER", "1"
_BAD = frozenset({"error", "rejected"})

Rates = Mapping[tuple[str, ...], float]
Subject = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Requests a second to a model version, and those that ended in an error."""

    requests: float = 0.0
    bad: float = 0.0

    @property
    def ratio(self) -> float | None:
        """The share that ended badly; None without requests."""
        # Models and Triton count at two moments: bad ones may be there before their request is.
        return min(1.0, self.bad / self.requests) if self.requests > 0 else None


def ended(
    succeeded: Rates, failed: Rates, reported: Rates, ensembles: Collection[str] = ()
) -> dict[Subject, Ended]:
    """By model version, from rates a second.

    `succeeded` by `LABELS`, `failed` by these and the reason, `reported` by these and the outcome as models
    count it; `ensembles` are the models that are one.
    """
    requests = defaultdict[tuple[str, ...], float](float)
    before, inside, said = (defaultdict[tuple[str, ...], float](float) for _ in range(3))
    for key, rate in succeeded.items():
        requests[key[:3]] += rate
    for (replica, model, version, reason), rate in failed.items():
        twice = model in ensembles and reason == _OTHER
        key = (replica, model, _ENSEMBLE_VERSION if model in ensembles else version)
        requests[key] += rate / 2 if twice else rate
        if reason in _BY_MODEL:
            inside[key] += rate
        # What the client gave up is a request, but no error.
        elif reason != _CANCELED:
            before[key] += rate / 2 if twice else rate
    answered = defaultdict[tuple[str, ...], float](float)
    for (replica, model, version, outcome), rate in reported.items():
        answered[replica, model, version] += rate
        if outcome in _BAD:
            said[replica, model, version] += rate
    totals = defaultdict[Subject, list[float]](lambda: [0.0, 0.0])
    for key in {*requests, *answered}:
        total = totals[key[1], key[2]]
        # Models hand over every few seconds: in a short look they may have counted what Triton did not yet.
        total[0] += requests[key] or answered[key]
        total[1] += max(inside[key], said[key]) + before[key]
    return {subject: Ended(requests=total, bad=bad) for subject, (total, bad) in totals.items()}
