"""How the judgement's cost grows with the fleet: snapshots of 100 to 1,000 models of two versions, judged.

python bench/triage_models.py [--json] [--write]
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from results import publish, table

from tritonobs.clients.prometheus import Reading, Target
from tritonobs.extensions.triage.judge import triage
from tritonobs.extensions.triage.snapshot import Snapshot
from tritonobs.timings.promql import Span

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (100, 200, 400, 1000)
STAGES = ("total", "decode", "letterbox", "normalise")
REPLICAS = ("triton-1:8002", "triton-2:8002")
RATE, MEAN, NOW, SECONDS = 5.0, 0.02, 10_000.0, 600.0


def main() -> None:
    """Judge each fleet three times; the best counts, because a busy machine only adds."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", action="store_true")
    options.add_argument("--write", action="store_true")
    chosen = options.parse_args()
    values: dict[str, object] = {}
    for models in SIZES:
        snapshot = fleet(models)
        spent = []
        for _ in range(3):
            began = time.process_time()
            verdict = triage(snapshot)
            spent.append(time.process_time() - began)
        values[f"{models} models of 2 versions, CPU seconds"] = round(min(spent), 2)
        values[f"{models} models of 2 versions, first cause"] = verdict.causes[0].check
    rows = [(name, str(value)) for name, value in values.items()]
    publish("triage models", table(("", ""), rows), values, as_json=chosen.json, write=chosen.write)


def fleet(models: int) -> Snapshot:
    """Every tenth model calls the three after it; one of them has a slow stage now."""
    now, before = (_window(models, at, slow=slow) for at, slow in ((NOW, True), (NOW - SECONDS, False)))
    return Snapshot(
        model="",
        version="",
        incident=Span(start=NOW - SECONDS, end=NOW),
        baseline=Span(start=NOW - 2 * SECONDS, end=NOW - SECONDS),
        now=now,
        before=before,
        trends={},
        asked={},
        targets=tuple(_target(replica) for replica in REPLICAS),
    )


def _window(models: int, at: float, *, slow: bool) -> dict[str, tuple[Reading, ...]]:
    answers: dict[str, list[Reading]] = {}

    def put(question: str, value: float, **labels: str) -> None:
        answers.setdefault(question, []).append(Reading(labels=labels, value=value, time=at))

    for replica in REPLICAS:
        put("up", 1.0, job="triton", instance=replica)
    for number in range(models):
        name = f"model_{number:04}"
        if number % 10 == 0:
            for callee in range(number + 1, min(number + 4, models)):
                called = f"model_{callee:04}"
                put("calls", 1.0, pipeline=name, stage=called, model=called)
        for version in ("1", "2"):
            _model(put, name, version, late=0.1 if slow and number == models // 2 + 5 else 0.0)
    return {question: tuple(rows) for question, rows in answers.items()}


def _model(put: Callable[..., None], name: str, version: str, *, late: float) -> None:
    labels = {"model": name, "version": version}
    for question, value in (
        ("requests", RATE),
        ("request", (MEAN + late) * RATE * 1e6),
        ("queue", 0.001 * RATE * 1e6),
        ("inferences", RATE),
        ("executions", RATE),
        ("limits", 10 * RATE),
        ("loaded", 1.0),
    ):
        put(question, value, **labels)
    for stage in STAGES:
        added = late if stage in {"total", "decode"} else 0.0
        mean = (MEAN if stage == "total" else MEAN / 3) + added
        put("count", RATE, **labels, stage=stage)
        put("sum", mean * RATE, **labels, stage=stage)
    for replica in REPLICAS:
        own = {**labels, "instance": replica}
        put("replica_requests", RATE / 2, **own)
        put("replica_us", (MEAN + late) * RATE / 2 * 1e6, **own)
        put("outcomes", RATE / 2, **own, outcome="ok")
        put("failures", 0.0, **own, reason="BACKEND")
        worker = f"{name}_0_0-{version}-1"
        put("heartbeats", NOW, **own, worker=worker)
        put("alive", 4.0, **own, worker=worker)


def _target(replica: str) -> Target:
    return Target(
        url=f"http://{replica}/metrics",
        health="up",
        last_error="",
        interval="15s",
        labels={"job": "triton", "instance": replica},
    )


if __name__ == "__main__":
    main()
