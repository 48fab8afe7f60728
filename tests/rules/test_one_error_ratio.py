"""One share of failed requests from the same series: the rules, triage, both ways of `top`, and history."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from support.case import Case, Check
from support.promtool import seen
from support.record_names import ERROR_RATIO
from support.simulate import World
from tritonobs import names
from tritonobs.clients.exposition import MetricsPage, PageSample
from tritonobs.clients.prometheus import PrometheusClient, Reading, Series
from tritonobs.extensions.history.suggest import operations_in_history
from tritonobs.extensions.triage.snapshot import Snapshot
from tritonobs.extensions.triage.view import View
from tritonobs.timings import questions
from tritonobs.timings.measured import calls_question
from tritonobs.timings.promql import Scope, Span
from tritonobs.timings.top import Pages, view_of_pages, view_of_prometheus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Ratios = dict[tuple[str, str], float | None]

MINUTE, SECONDS, SCRAPE = 12.0, 300.0, 15.0
TRUTH = {
    ("told", "1"): 0.10,
    ("seen", "1"): 0.20,
    ("both", "1"): 0.15,
    ("refused", "1"): 0.25,
    ("left", "1"): 0.0,
    ("well", "1"): 0.0,
    ("ensemble", "1"): 0.20,
    ("declines", "1"): 0.10,
    ("throws", "1"): 0.10,
    ("passes", "1"): 0.10,
    ("passes_on", "1"): 0.10,
}
INVALID = {("declines", "1"): 0.30, ("throws", "1"): 0.30, ("passes", "1"): 0.30, ("passes_on", "1"): 0.30}
"""Of some models' requests, the share that was the caller's fault."""
CALLS = {("passes", "declines"), ("passes_on", "throws")}
"""Of each model's requests, the share whose clients got no good answer."""
_LABEL = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*")')


def _world() -> World:
    """Two servers. What a model tells of itself and what Triton saw of it differ, on each in another way."""
    world = World(minutes=MINUTE, scrape_seconds=SCRAPE)
    for replica in ("triton-1", "triton-2"):
        world.gauge("up", 1, job="triton", instance=f"{replica}:8002", replica=replica)

        def serve(
            model: str, qps: float, failures: dict[str, float], told: dict[str, float], at: str = replica
        ) -> None:
            world.triton(model, replica=at, qps=qps, failures=failures)
            if told:
                world.worker(model, replica=at, outcomes=told)

        serve("well", 10, {}, {"ok": 10})
        # An error reply is a success to Triton.
        serve("told", 10, {}, {"ok": 9, "error": 0.6, "rejected": 0.4})
        # A worker that dies tells nothing of it.
        serve("seen", 8, {"BACKEND": 2}, {"ok": 8})
        # What never reached the model only Triton saw, what the client gave up is no error.
        serve("refused", 6, {"REJECTED": 2}, {"ok": 6})
        serve("left", 8, {"CANCELED": 2}, {"ok": 8})
        # Bad input, which one model answers and another raises, beside a worker that dies and an error. An
        # ensemble and a pipeline model pass both on.
        serve("declines", 9, {"BACKEND": 1}, {"ok": 6, "invalid": 3})
        serve("throws", 6, {"BACKEND": 4}, {"ok": 6, "invalid": 3, "error": 1})
        serve("passes", 6, {"OTHER": 8}, {})
        serve("passes_on", 10, {}, {"ok": 6, "error": 4})
        # Its successes under version 1; each failure once more there than under its own version 3.
        serve("ensemble", 8, {"OTHER": 2}, {})
        world.counter(
            names.TRITON_FAILURE,
            2,
            job="triton",
            instance=f"{replica}:8002",
            replica=replica,
            model="ensemble",
            version="3",
            reason="OTHER",
        )
    world.info("ensemble", "3", kind="ensemble").info("passes", "1", kind="ensemble")
    for pipeline, member in CALLS:
        world.gauge(names.PIPELINE_CALLS, 1, pipeline=pipeline, stage=member, model=member)
    # One server's worker told of errors, the other one's did not live to: the worse of both views on each.
    world.triton("both", replica="triton-1", qps=10, failures={"BACKEND": 0})
    world.worker("both", replica="triton-1", outcomes={"ok": 9, "error": 1})
    world.triton("both", replica="triton-2", qps=8, failures={"BACKEND": 2})
    world.worker("both", replica="triton-2", outcomes={"ok": 8})
    return world


@dataclass(kw_only=True)
class _Asked:
    """PromQL over that world: noted first, answered all at once by promtool, then given back."""

    texts: dict[str, None]
    answers: Mapping[str, tuple[Reading, ...]] | None = None

    def ask(self, text: str) -> tuple[Reading, ...]:
        self.texts.setdefault(text)
        return (self.answers or {}).get(text, ())


class _Prometheus(PrometheusClient):
    """Answers every moment as it does the end of the world."""

    asked: _Asked

    def query(self, expression: str, *, at: float | None = None) -> tuple[Reading, ...]:  # noqa: ARG002 (the client's signature)
        return self.asked.ask(expression)

    def query_range(self, expression: str, **_: float) -> tuple[Series, ...]:
        return tuple(
            Series(labels=one.labels, points=((one.time, one.value),)) for one in self.asked.ask(expression)
        )

    def targets(self) -> tuple[()]:
        return ()


def _rules(prometheus: PrometheusClient) -> Ratios:
    return {(one.labels["model"], one.labels["version"]): one.value for one in prometheus.query(ERROR_RATIO)}


def _triage(prometheus: PrometheusClient) -> Ratios:
    asked = questions.window_questions(Scope(), SECONDS) | questions.moment_questions(Scope(), SCRAPE)
    asked["calls"] = calls_question(Scope())
    now = {name: prometheus.query(text) for name, text in asked.items()}
    span = Span(start=0.0, end=SECONDS)
    view = View(
        Snapshot(model="", version="", incident=span, baseline=span, now=now, before={}, trends={}, asked={})
    )
    return {subject: view.error_ratio(subject) for subject in view.asked()}


def _top(prometheus: PrometheusClient) -> Ratios:
    rows = view_of_prometheus(prometheus, window_seconds=SECONDS).rows
    return {(row.model, row.version): row.error_ratio for row in rows}


def _history(prometheus: PrometheusClient) -> Ratios:
    return {
        subject: operation.failed_ratio
        for subject in TRUTH
        for operation in operations_in_history(prometheus, Span(start=0, end=60), model=subject[0])
    }


WAYS: dict[str, Callable[[PrometheusClient], Ratios]] = {
    "the rules": _rules,
    "triage": _triage,
    "top --prometheus": _top,
    "limits suggest": _history,
}


@pytest.fixture(name="prometheus", scope="module")
def _prometheus(
    promtool: Path, generated: Callable[[float], tuple[dict[str, object], ...]], tmp_path_factory
) -> PrometheusClient:
    """What all ways ask, answered in two runs: who calls whom decides what else is asked."""
    client = _Prometheus("http://127.0.0.1:1")
    client.asked = _Asked(texts={})
    for _ in range(2):
        for way in WAYS.values():
            way(client)
        checks = [*client.asked.texts]
        case = Case(
            says="one world",
            world=_world(),
            rules=(ERROR_RATIO,),
            # A sample nobody has: promtool tells what there is instead.
            checks=tuple(Check(expr=text, minute=MINUTE, samples={'{no="such"}': 1}) for text in checks),
        )
        answers = seen(promtool, generated(SCRAPE), case, tmp_path_factory.mktemp("world"))
        assert len(answers) == len(checks)
        client.asked.answers = {
            text: tuple(
                Reading(labels=dict(key), value=value, time=60 * MINUTE) for key, value in found.items()
            )
            for text, found in zip(checks, answers, strict=True)
        }
    return client


@pytest.mark.parametrize("way", WAYS)
def test_every_way_tells_the_same_share_of_errors(prometheus: PrometheusClient, way: str) -> None:
    """That of the truth, to the request; an ensemble's failures once."""
    told = WAYS[way](prometheus)

    assert {subject: told.get(subject) for subject in TRUTH} == pytest.approx(TRUTH, abs=0.002)


def test_top_tells_it_from_the_pages_too(prometheus: PrometheusClient) -> None:
    """Two readings of the servers' own pages, five minutes apart."""
    assert prometheus
    world = _world()
    before, now = (_pages(world, minute) for minute in (MINUTE - SECONDS / 60, MINUTE))

    rows = view_of_pages(before, now, {}, {"ensemble", "passes"}, CALLS).rows

    invalid = {(row.model, row.version): row.invalid_ratio for row in rows}
    assert {subject: invalid[subject] for subject in INVALID} == pytest.approx(INVALID, abs=0.002)
    told = {(row.model, row.version): row.error_ratio for row in rows}
    assert {subject: told[subject] for subject in TRUTH} == pytest.approx(TRUTH, abs=0.002)


def _pages(world: World, minute: float) -> Pages:
    at = round(minute * 60 / SCRAPE)
    samples: dict[str, list[PageSample]] = {}
    for series, values in world.series.items():
        labels = {name: json.loads(value) for name, value in _LABEL.findall(series)}
        value = values[at]
        if value is not None and labels.get("job"):
            del labels["job"]
            own = PageSample(name=series.partition("{")[0], labels=labels, value=value)
            samples.setdefault(labels.pop("instance"), []).append(own)
    return Pages(
        at=60 * minute, pages={page: MetricsPage(samples=tuple(rows)) for page, rows in samples.items()}
    )
