"""Cases of the rules, computed by a real Prometheus: each rule in one query over all of the case's time.

promtool computes every rule at every step anew, which takes fifteen times as long. That both say the same is
what tests/rules/test_cases.py asks of some cases, and with TRITONOBS_CASES=all of each.
"""

from __future__ import annotations

import math
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from support.case import labels_of, needed
from support.fleet_sim.engine import Engine, QueryFailed
from support.fleet_sim.evaluate import evaluate
from support.fleet_sim.order import EVERY_ALERT
from support.fleet_sim.series import NAME, STALE, Series

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from typing_extensions import Self

    from support.case import Case, Samples
    from support.simulate import Values, World

UNCOMPUTED: Final = "cannot be computed: "
"""How what is wrong begins where a rule cannot be computed, after which its name comes."""
_MOST_WORLDS: Final = 200
"""A Prometheus that has lived through more of them looks at more series for each query."""
_TIME: Final = "timestamp_seconds"


class CaseEngine:
    """Answers cases. A context manager that leaves nothing running and no files."""

    def __init__(self, prometheus: Path) -> None:
        self._prometheus = prometheus
        self._running = ExitStack()
        self._engine: Engine | None = None
        self._worlds = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def wrong(self, groups: Sequence[Mapping[str, Any]], case: Case) -> str:
        """What is wrong with the case, a line for each check that does not hold; or nothing."""
        # Where a case says when something was, its time begins at 0, as in promtool.
        if any(_TIME in name for name in (*case.world.series, *(check.expr for check in case.checks))):
            with ExitStack() as running:
                return "\n".join(_wrong(self._start(running, first_ms=0), groups, case))
        if self._engine is None or self._worlds == _MOST_WORLDS:
            self._running.close()
            self._engine, self._worlds = self._start(self._running), 0
        self._worlds += 1
        return "\n".join(_wrong(self._engine, groups, case))

    def _start(self, running: ExitStack, **options: int) -> Engine:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory()))
        return running.enter_context(Engine(self._prometheus, folder, **options))


def _wrong(engine: Engine, groups: Sequence[Mapping[str, Any]], case: Case) -> Iterator[str]:
    start_ms, step_ms = engine.new_time(case.world.minutes * 60), round(case.world.scrape_seconds * 1000)
    engine.write(_series(case.world, start_ms, step_ms))
    # As in promtool, all groups are evaluated with each scrape.
    used = [
        {key: value for key, value in group.items() if key != "interval"}
        for group in needed(groups, case.rules, case.given)
    ]
    try:
        failures = evaluate(
            engine,
            used,
            (*case.rules, EVERY_ALERT),
            start_ms=start_ms,
            end_ms=start_ms + max(_milliseconds(check.minute) for check in case.checks),
            seed=None,
            given=case.given,
            default_ms=step_ms,
        ).failures
    except QueryFailed as error:
        yield f"{UNCOMPUTED}{error}"
        return
    for name, times in failures.items():
        yield f"{name} failed {times} times"
    for check in case.checks:
        expected = {frozenset(_labels(text).items()): value for text, value in check.samples.items()}
        got = {
            frozenset(row["metric"].items()): float(row["value"][1])
            for row in engine.instant(check.expr, start_ms + _milliseconds(check.minute))
        }
        if not _alike(got, expected):
            yield f"{check.expr} at {check.minute} min: expected {_shown(expected)}, got {_shown(got)}"


def _series(world: World, start_ms: int, step_ms: int) -> Iterator[Series]:
    for name, values in world.series.items():
        places, written = _samples(values)
        if len(places):
            yield Series(labels=_labels(name), times_ms=start_ms + places * step_ms, values=written)


def _samples(values: Values) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The places that get a sample, and which: where a series ends for a while, the marker that it does."""
    found: list[tuple[int, float]] = []
    before: float | None = None
    for place, value in enumerate(values):
        if value is not None:
            found.append((place, value))
        elif before is not None:
            found.append((place, STALE))
        before = value
    places, written = zip(*found, strict=True) if found else ((), ())
    return np.array(places, dtype=np.int64), np.array(written, dtype=np.float64)


def _labels(series: str) -> dict[str, str]:
    name = series.partition("{")[0]
    return labels_of(series) | ({NAME: name} if name else {})


def _milliseconds(minute: float) -> int:
    return round(minute * 60_000)


def _alike(got: Samples, expected: Samples) -> bool:
    return got.keys() == expected.keys() and all(
        math.isclose(got[labels], value, rel_tol=1e-9) for labels, value in expected.items()
    )


def _shown(samples: Samples) -> str:
    return str({str(sorted(labels)): value for labels, value in samples.items()})
