"""How requests ended, and which workers live: one definition of each for triage, `top` and the rules.

An error reply is a success to Triton, and a dead worker counts nothing itself: of the two counts for a model
on a replica, the larger one of bad requests is true. Only Triton sees requests that never reached the model.
A failed ensemble request counts twice as OTHER, once under version 1 and once under its own: halved, and
under 1 as its successes are.

What a model calls invalid is the caller's fault and no error, also where Triton counts a failure: in the
model, and in the pipelines that pass it on without saying so.

A worker lives while its heartbeat moves from one scrape to a later one. Only whether it moves counts: what
time a machine believes it is needs no agreement with other clocks, and scrapes may be a minute apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from tritonobs import names
from tritonobs.timings.promql import Scope
from tritonobs.units import format_duration

LABELS: Final = (names.INSTANCE, names.MODEL, names.VERSION)
"""Whose requests: each of the three readings below has them first."""
_BY_MODEL = frozenset({"BACKEND", ""})
"""Reasons of failures that happened in the model; before 24.07 there was none."""
_CANCELED, _OTHER, _ENSEMBLE_VERSION = "CANCELED", "OTHER", "1"
_BAD = frozenset({"error", "rejected"})
_INVALID, _CANCELLED = "invalid", "cancelled"
_LATE = 0.02
"""Of all requests: what models have not handed over yet is not missing."""
Rates = Mapping[tuple[str, ...], float]
Subject = tuple[str, str]

WORKER_LABELS: Final = (names.INSTANCE, names.MODEL, names.VERSION, names.WORKER)
SCRAPES: Final = 4
"""A worker is silent when its heartbeat did not move in this many scrapes."""
_FEWEST = 3
"""Scrapes a worker was seen in before it can be called silent: a new one has not moved yet."""
Key = tuple[str, ...]
"""Replica, model, version, worker."""
State = Literal["alive", "dead", "replaced"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Requests a second to a model version, those with an error, and those that were the caller's fault.

    `answered` are those that the model's workers counted, over the time between their heartbeats.
    """

    requests: float = 0.0
    bad: float = 0.0
    invalid: float = 0.0
    answered: float = 0.0

    @property
    def ratio(self) -> float | None:
        """The share that ended badly; None without requests."""
        # Triton counts failures and successes at two moments.
        return min(1.0, self.bad / self.requests) if self.requests > 0 else None

    @property
    def invalid_ratio(self) -> float | None:
        """The share that was the caller's fault; None without requests."""
        return min(1.0, self.invalid / self.requests) if self.requests > 0 else None


def ended(
    succeeded: Rates,
    failed: Rates,
    reported: Rates,
    ensembles: Collection[str] = (),
    calls: Collection[tuple[str, str]] = (),
) -> dict[Subject, Ended]:
    """By model version, from rates a second.

    `succeeded` by `LABELS`, `failed` by these and the reason, `reported` by these and the outcome as models
    count it; `ensembles` are the models that are one, `calls` pairs of a pipeline and a model that it calls.
    """
    completed, failed_inside, failed_before = (defaultdict[tuple[str, ...], float](float) for _ in range(3))
    requests = defaultdict[tuple[str, ...], float](float)
    for key, rate in succeeded.items():
        requests[key[:3]] += rate
        completed[key[:3]] += rate
    for (replica, model, version, reason), rate in failed.items():
        twice = model in ensembles and reason == _OTHER
        key = (replica, model, _ENSEMBLE_VERSION if model in ensembles else version)
        requests[key] += rate / 2 if twice else rate
        if reason in _BY_MODEL:
            failed_inside[key] += rate
            completed[key] += rate
        # A request that the client cancelled is a request, but not an error.
        elif reason != _CANCELED:
            failed_before[key] += rate / 2 if twice else rate
    answered, by_model, bad_by_model, invalid = (defaultdict[tuple[str, ...], float](float) for _ in range(4))
    for (replica, model, version, outcome), rate in reported.items():
        key = (replica, model, version)
        answered[key] += rate
        by_model[key] += 0.0 if outcome == _CANCELLED else rate
        bad_by_model[key] += rate if outcome in _BAD else 0.0
        invalid[key] += rate if outcome == _INVALID else 0.0
    totals = defaultdict[Subject, list[float]](lambda: [0.0] * 4)
    for key in {*requests, *answered}:
        if 0 < completed[key] < by_model[key]:
            # Models flush every few seconds: they are ahead of Triton here, in all outcomes alike.
            ahead = by_model[key] / completed[key]
            bad_by_model[key], invalid[key], by_model[key] = (
                bad_by_model[key] / ahead,
                invalid[key] / ahead,
                completed[key],
            )
        bad = max(failed_inside[key], bad_by_model[key])
        if invalid[key]:
            # They may be in either of Triton's counts; only Triton saw what the model did not report.
            missing = completed[key] - by_model[key]
            bad = bad_by_model[key] + (
                min(missing, failed_inside[key]) if missing > _LATE * completed[key] else 0.0
            )
        total = totals[key[1], key[2]]
        total[0] += requests[key] or answered[key]
        total[1] += bad + failed_before[key]
        total[2] += invalid[key]
        total[3] += answered[key]
    every = {
        subject: Ended(requests=requests, bad=bad, invalid=fault, answered=by_model)
        for subject, (requests, bad, fault, by_model) in totals.items()
    }
    return {**every, **_passed_on(every, calls)}


def _passed_on(counted: Mapping[Subject, Ended], calls: Collection[tuple[str, str]]) -> dict[Subject, Ended]:
    """Pipelines that do not report invalid requests, charged for what their members do not call invalid."""
    whole = defaultdict[str, Ended](Ended)
    for (model, _), one in counted.items():
        sums = whole[model]
        whole[model] = Ended(
            requests=sums.requests + one.requests, bad=sums.bad + one.bad, invalid=sums.invalid + one.invalid
        )
    pipelines = {pipeline for pipeline, _ in calls if whole[pipeline].bad and not whole[pipeline].invalid}
    charged: dict[str, float] = {}
    for pipeline in pipelines:
        own, fault, failed = whole[pipeline], 0.0, 0.0
        for member in {model for caller, model in calls if caller == pipeline}:
            others = {caller for caller, model in calls if model == member}
            fault += max(0.0, whole[member].invalid - sum(whole[other].invalid for other in others))
            if whole[member].requests:
                failed += whole[member].bad * min(1.0, own.requests / whole[member].requests)
        if fault:
            missing = own.bad - fault - failed
            rest = failed + (missing if missing > _LATE * own.requests else 0.0)
            charged[pipeline] = min(1.0, rest / own.bad)
    return {
        (model, version): replace(one, bad=one.bad * charged[model], invalid=one.bad * (1 - charged[model]))
        for (model, version), one in counted.items()
        if model in charged
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """One process of a model. `replaced`: it is silent, and another serves its model instance."""

    replica: str
    model: str
    version: str
    worker: str
    state: State


def workers_question(scope: Scope, scrape_seconds: float) -> str:
    """PromQL for the workers on replicas that are scraped: above 0 for those that live.

    A target that is gone has no `up`, and counts as down: nothing is said about its workers.
    """
    window = format_duration(SCRAPES * scrape_seconds)
    beats = f"{names.HEARTBEAT}{scope.of()}"
    moved = f"changes({beats}[{window}]) + (count_over_time({beats}[{window}]) < bool {_FEWEST})"
    scraped = f"on (job, {names.INSTANCE}) (up{scope.around()} == 1)"
    return f"max by ({', '.join(WORKER_LABELS)}) (({moved}) and {beats} and {scraped})"


def workers(
    moved: Mapping[Key, float], served: Iterable[tuple[str, ...]] | None = None
) -> tuple[Worker, ...]:
    """The state of each worker, from the answers to `question`.

    `served` are the replicas, models and versions that Triton has loaded: an `initialize` that failed
    leaves the
    series of a worker that never was one. A worker whose place another has taken is not lost any more.
    """
    loaded = None if served is None else set(served)
    known = {key: value for key, value in moved.items() if loaded is None or key[:3] in loaded}
    places = {(*key[:3], place_of(key[3])) for key, value in known.items() if value > 0}
    return tuple(
        Worker(
            replica=key[0],
            model=key[1],
            version=key[2],
            worker=key[3],
            state="alive" if value > 0 else "replaced" if (*key[:3], place_of(key[3])) in places else "dead",
        )
        for key, value in sorted(known.items())
    )


def place_of(worker: str) -> str:
    """The model instance a worker serves: what its label says before pid and serial number."""
    return worker.rsplit("-", 2)[0]
