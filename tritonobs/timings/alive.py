"""Which workers are alive, by one definition for triage, `top` and the rules.

A worker lives while its heartbeat moves from one scrape to a later one. Only whether it moves counts: what
time a machine believes it is needs no agreement with other clocks, and scrapes may be a minute apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from tritonobs import names
from tritonobs.timings.promql import Scope
from tritonobs.units import format_duration

LABELS: Final = (names.INSTANCE, names.MODEL, names.VERSION, names.WORKER)
SCRAPES: Final = 4
"""A worker is silent when its heartbeat did not move in so many scrapes."""
_FEWEST = 3
"""Scrapes a worker was seen in before it can be called silent: one that was just born moved nowhere yet."""

Key = tuple[str, str, str, str]
"""Replica, model, version, worker."""
State = Literal["alive", "dead", "replaced"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """One process of a model. `replaced`: it is silent, and another serves its model instance."""

    replica: str
    model: str
    version: str
    worker: str
    state: State


def question(scope: Scope, scrape_seconds: float) -> str:
    """PromQL for the workers on replicas that are scraped: above 0 for those that live.

    A target that is gone has no `up`, and counts as down: nothing is said about its workers.
    """
    window = format_duration(SCRAPES * scrape_seconds)
    beats = f"{names.HEARTBEAT}{scope.of()}"
    moved = f"changes({beats}[{window}]) + (count_over_time({beats}[{window}]) < bool {_FEWEST})"
    scraped = f"on (job, {names.INSTANCE}) (up{scope.around()} == 1)"
    return f"max by ({', '.join(LABELS)}) (({moved}) and {beats} and {scraped})"


def workers(
    moved: Mapping[Key, float], served: Iterable[tuple[str, str, str]] | None = None
) -> tuple[Worker, ...]:
    """The state of each worker, from the answers to `question`.

    `served` are the replicas, models and versions that Triton has loaded: an `initialize` that failed
    leaves the
    series of a worker that never was one. A worker whose place another has taken is not lost any more.
    """
    loaded = None if served is None else set(served)
    known = {key: value for key, value in moved.items() if loaded is None or key[:3] in loaded}
    places = {(*key[:3], _place(key[3])) for key, value in known.items() if value > 0}
    return tuple(
        Worker(
            replica=key[0],
            model=key[1],
            version=key[2],
            worker=key[3],
            state="alive" if value > 0 else "replaced" if (*key[:3], _place(key[3])) in places else "dead",
        )
        for key, value in sorted(known.items())
    )


def _place(worker: str) -> str:
    """The model instance a worker serves: what its label says before pid and serial number."""
    return worker.rsplit("-", 2)[0]
