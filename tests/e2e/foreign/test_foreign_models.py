"""Models as other people write them, on a real server: counts exact to the request, quantiles honest."""

from __future__ import annotations

import math
import time
from bisect import bisect_left
from dataclasses import dataclass, field
from statistics import mean
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tritonobs import names
from tritonobs.clients.prometheus import Reading
from tritonobs.timings import promql
from tritonobs.timings.measured import bucket_quantile, timings_from
from tritonobs.timings.stages import stage_tables
from tritonobs.timings.top import steps, view_of_pages

if TYPE_CHECKING:
    from conftest import Server

    from tritonobs.timings.stages import StageTable
    from tritonobs.timings.top import Pages, TopRow

pytestmark = pytest.mark.e2e

ANSWER_AN_ERROR, RAISE, DIE = -1.0, -2.0, -3.0
ENSEMBLES = frozenset({"inner", "outer"})


def increases(before: Pages, now: Pages, name: str, *labels: str) -> dict[tuple[str, ...], float]:
    """How much a counter grew, over all series with the same labels."""
    found: dict[tuple[str, ...], float] = {}
    for own, step in steps(before, now, name):
        key = tuple(own.get(label, "") for label in labels)
        found[key] = found.get(key, 0.0) + step
    return found


@dataclass(frozen=True, kw_only=True)
class Look:
    """What happened between two readings of the page."""

    before: Pages
    now: Pages
    seconds: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seconds", self.now.at - self.before.at)

    def grew(self, name: str, **labels: str) -> float:
        """How much a counter grew, over all series with these labels."""
        found = increases(self.before, self.now, name, *labels)
        return found.get(tuple(labels.values()), 0.0)

    def buckets(self, model: str, stage: str) -> dict[float, float]:
        """Observations of a stage by upper bound."""
        labels = (names.MODEL, names.STAGE, names.LE)
        found = increases(self.before, self.now, f"{names.STAGE_DURATION}_bucket", *labels)
        return {float(key[2]): value for key, value in found.items() if key[:2] == (model, stage)}

    def row(self, model: str) -> TopRow:
        """As `top` shows it."""
        rows = view_of_pages(self.before, self.now, {}, ENSEMBLES).rows
        return next(row for row in rows if row.model == model)

    def table(self, model: str, *calls: str) -> StageTable:
        """As `stages` shows it; `calls` are the stages that are calls of a model of that name."""

        def rates(metric: str, *labels: str) -> tuple[Reading, ...]:
            found = increases(self.before, self.now, metric, *labels)
            return tuple(
                Reading(
                    labels=dict(zip(labels, key, strict=True)), value=value / self.seconds, time=self.now.at
                )
                for key, value in found.items()
            )

        subject, stage = promql.MODEL_VERSION, promql.MODEL_VERSION_STAGE
        answers = {
            "requests": rates(names.TRITON_SUCCESS, *subject),
            "request": rates(names.TRITON_REQUEST_US, *subject),
            "queue": rates(names.TRITON_QUEUE_US, *subject),
            "count": rates(f"{names.STAGE_DURATION}_count", *stage),
            "sum": rates(f"{names.STAGE_DURATION}_sum", *stage),
            "buckets": rates(f"{names.STAGE_DURATION}_bucket", *stage, names.LE),
            "backend_count": rates(f"{names.VLLM_REQUEST}_count", *subject),
            "backend_sum": rates(f"{names.VLLM_REQUEST}_sum", *subject),
            "backend_buckets": rates(f"{names.VLLM_REQUEST}_bucket", *subject, names.LE),
            "calls": tuple(
                Reading(
                    labels={names.PIPELINE: model, names.STAGE: called, names.MODEL: called},
                    value=2.0,
                    time=0.0,
                )
                for called in calls
            ),
        }
        timings = timings_from(answers, at=self.now.at, window_seconds=self.seconds)
        (table,) = stage_tables(timings, model=model)
        return table


def _sleeps(number: int, *, longest: float = 0.03) -> list[float]:
    """Times over a decade."""
    return np.random.default_rng(number).uniform(longest / 10, longest, number).tolist()


def test_errors_of_three_kinds_are_each_counted_once(server: Server) -> None:
    """An error reply is a success to Triton, an exception none: clients and both views agree."""
    before = server.settled()
    told = server.ask("leaf", [*[ANSWER_AN_ERROR] * 7, *_sleeps(40), *[RAISE] * 5])
    look = Look(before=before, now=server.settled())

    assert (len(told.seconds), told.failed) == (40, 12)
    assert look.grew(names.REQUESTS, model="leaf", outcome="ok") == 40
    assert look.grew(names.REQUESTS, model="leaf", outcome="error") == 12
    assert look.grew(f"{names.STAGE_DURATION}_count", model="leaf", stage="total") == 52
    # Counts are exact, see above. Rates of workers are of the time between beats, Triton's of the whole look:
    # on a busy machine they differ by an eighth. One kind twice, or not at all, differs by more than a third.
    assert look.row("leaf").error_ratio == pytest.approx(12 / 52, rel=0.25)


def test_quantiles_are_those_the_model_itself_saw(server: Server) -> None:
    """Within the bucket of the true ones, which is what bounds can tell."""
    before = server.settled()
    told = server.ask("leaf", _sleeps(400))
    look = Look(before=before, now=server.settled())

    buckets = look.buckets("leaf", "sleep")
    times, bounds = sorted(told.seconds), sorted({0.0, *buckets})
    assert len(times) == 400
    for ratio in (0.5, 0.95, 0.99):
        true = times[math.ceil(ratio * len(times)) - 1]
        # The stage ends some microseconds after the model has looked at its clock.
        above, below = bisect_left(bounds, 0.99 * true) - 1, bisect_left(bounds, 1.01 * true)
        assert bounds[above] <= (bucket_quantile(ratio, buckets) or 0) <= bounds[below]
    spent = look.grew(f"{names.STAGE_DURATION}_sum", model="leaf", stage="sleep")
    assert spent / 400 == pytest.approx(mean(told.seconds), rel=0.05)


def test_gathered_calls_share_the_time_that_passes(server: Server) -> None:
    """Two at once: twice as many requests of the callee, and no part is more than the whole."""
    before = server.settled()
    told = server.ask("gather", [*_sleeps(60), *[ANSWER_AN_ERROR] * 4])
    look = Look(before=before, now=server.settled())

    assert (len(told.seconds), told.failed) == (60, 4)
    assert look.grew(names.REQUESTS, model="gather", outcome="ok") == 60
    assert look.grew(names.REQUESTS, model="gather", outcome="error") == 4
    assert look.grew(f"{names.STAGE_DURATION}_count", model="gather", stage="leaf") == 128
    assert look.grew(names.TRITON_SUCCESS, model="leaf") == 128
    table = look.table("gather", "leaf")
    parts = [row for row in table.rows if row.leaf]
    assert any(row.overlaps for row in parts)
    assert sum(row.share or 0.0 for row in parts) == pytest.approx(1.0, abs=0.05)


def test_nested_ensembles_count_each_request_once(server: Server) -> None:
    """An ensemble in an ensemble, and the model below both; failures, which Triton tells twice, once."""
    before = server.settled()
    told = server.ask("outer", [*_sleeps(50), *[RAISE] * 6])
    look = Look(before=before, now=server.settled())

    assert (len(told.seconds), told.failed) == (50, 6)
    assert look.grew(names.TRITON_SUCCESS, model="outer") == 50
    assert look.grew(names.REQUESTS, model="leaf", outcome="ok") == 100
    assert look.grew(names.REQUESTS, model="leaf", outcome="error") == 6
    for ensemble in ("inner", "outer"):
        assert look.row(ensemble).error_ratio == pytest.approx(6 / 56), ensemble


def test_a_request_that_outlives_execute_is_timed_to_its_last_answer(server: Server) -> None:
    """Decoupled, three answers from a thread: one request each, as long as the client's stream took."""
    before = server.settled()
    # Long beside the moment in which a busy machine lets a request go after its last answer.
    told = server.ask("stream", _sleeps(24, longest=1.0), stream=True)
    look = Look(before=before, now=server.settled())

    assert look.grew(names.REQUESTS, model="stream", outcome="ok") == len(told.seconds) == 24
    spent = look.grew(f"{names.STAGE_DURATION}_sum", model="stream", stage="total")
    assert spent / 24 == pytest.approx(mean(told.seconds), rel=0.1)
    assert look.table("stream").request.mean == pytest.approx(mean(told.seconds), rel=0.1)


def test_an_engine_that_streams_is_shown_by_what_it_exports(server: Server) -> None:
    """Triton's own time ends with `execute`, a hundredth of the truth."""
    before = server.settled()
    told = server.ask("engine", _sleeps(24, longest=1.0), stream=True)
    look = Look(before=before, now=server.settled())

    table = look.table("engine")
    assert len(told.seconds) == 24
    assert table.request.mean == pytest.approx(mean(told.seconds), rel=0.1)
    assert any("its backend exports" in note for note in table.notes)
    triton = look.grew(names.TRITON_REQUEST_US, model="engine") / 1e6 / 24
    assert triton < mean(told.seconds) / 3


def test_a_cache_hit_is_a_success_and_no_execution(server: Server) -> None:
    """Ten questions, five times each."""
    before = server.settled()
    told = server.ask("cached", [0.001 * number for number in range(1, 11)])
    again = server.ask("cached", [0.001 * number for number in range(1, 11)] * 4)
    look = Look(before=before, now=server.settled())

    assert (len(told.seconds), len(again.seconds)) == (10, 40)
    assert look.grew(names.TRITON_SUCCESS, model="cached") == 50
    assert look.grew(names.TRITON_CACHE_HITS, model="cached") == 40
    assert look.grew(names.REQUESTS, model="cached", outcome="ok") == 10


def test_a_crash_is_an_error_and_a_silent_worker(server: Server) -> None:
    """What it counted before stays; what came after is Triton's to tell; `top` calls it dead."""
    before = server.settled()
    well = server.ask("mortal", _sleeps(20))
    server.settled()
    # One after the other: of calls side by side, one may be served before the worker dies.
    ill = [server.ask("mortal", [seconds]) for seconds in (DIE, 0.01, 0.01)]
    silent = server.settled()
    # Workers beat every 5 s at most.
    time.sleep(7.0)
    dead, later = Look(before=before, now=silent), Look(before=silent, now=server.page())

    assert (len(well.seconds), well.failed, [told.failed for told in ill]) == (20, 0, [1, 1, 1])
    assert dead.grew(names.REQUESTS, model="mortal", outcome="ok") == 20
    assert dead.row("mortal").error_ratio == pytest.approx(3 / 23)
    assert later.row("mortal").silent_workers == 1
    assert later.row("leaf").silent_workers == 0
