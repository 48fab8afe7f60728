"""A healthy fleet as a snapshot, both windows alike; tests change what they are about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from tritonobs.clients.prometheus import Reading, Series, Target
from tritonobs.extensions.triage.judge import Verdict, triage
from tritonobs.extensions.triage.snapshot import Snapshot
from tritonobs.timings.promql import Span

if TYPE_CHECKING:
    from tritonobs.extensions.triage.snapshot import ReplicaState

NOW, MINUTES = 10_000.0, 600.0
REPLICAS = ("a:8002", "b:8002")
RATE = 10.0
STAGES = {
    "inspect": {"total": 0.050, "preprocess": 0.020, "detector": 0.025, "nms": 0.004},
    "preprocess": {"total": 0.018, "decode": 0.012, "normalise": 0.005},
    "detector": {"total": 0.022, "infer": 0.021},
    "nms": {"total": 0.003, "suppress": 0.002},
}
SIZES = {("preprocess", "decode", "megapixels"): 1.0, ("nms", "suppress", "boxes"): 5.0}


@dataclass(kw_only=True)
class Window:
    """The answers about one window; a test writes numbers into it by question and labels."""

    answers: dict[str, dict[tuple[tuple[str, str], ...], float]] = field(default_factory=dict)

    def put(self, question: str, value: float | None, **labels: str) -> None:
        """This answer from now on; None takes it away."""
        rows = self.answers.setdefault(question, {})
        key = tuple(sorted(labels.items()))
        if value is None:
            rows.pop(key, None)
        else:
            rows[key] = value

    def model(self, model: str, *, rate: float = RATE, queue: float = 0.001, version: str = "1") -> None:
        """A model version with its usual stages, and its wait in Triton's queue."""
        labels = {"model": model, "version": version}
        for stage in STAGES[model]:
            self.stage(model, stage, STAGES[model][stage], rate=rate, version=version)
        total = STAGES[model]["total"]
        self.put("requests", rate, **labels)
        self.put("queue", queue * rate * 1e6, **labels)
        self.put("request", (queue + total) * rate * 1e6, **labels)
        self.put("inferences", rate, **labels)
        self.put("executions", rate, **labels)
        self.outcome(model, version=version, ok=rate, error=0.0)
        self.put("peak", rate, **labels)
        self.put("pending", 0.0, **labels)
        for replica in REPLICAS:
            self.put("replica_requests", rate / 2, **labels, instance=replica)
            self.put("replica_us", (queue + total) * rate / 2 * 1e6, **labels, instance=replica)

    def outcome(self, model: str, *, version: str = "1", **rates: float | None) -> None:
        """What clients were told, half of it by each replica."""
        for told, rate in rates.items():
            for replica in REPLICAS:
                self.put(
                    "outcomes",
                    None if rate is None else rate / 2,
                    model=model,
                    version=version,
                    instance=replica,
                    outcome=told,
                )

    def stage(
        self,
        model: str,
        stage: str,
        mean: float,
        *,
        rate: float = RATE,
        version: str = "1",
        p99: float | None = None,
    ) -> None:
        """A stage with this mean; its percentiles follow unless said."""
        labels = {"model": model, "version": version, "stage": stage}
        self.put("count", rate, **labels)
        self.put("sum", mean * rate, **labels)
        for name, factor in (("p50", 0.9), ("p95", 1.5), ("p99", 2.0)):
            self.put(name, mean * factor, **labels)
        if p99 is not None:
            self.put("p99", p99, **labels)

    def slow(self, seconds: float, *path: str) -> None:
        """A stage of preprocess, detector or nms takes this much longer, and so does all that contains it."""
        model, stage = path
        for name, part in ((model, stage), (model, "total"), ("inspect", model), ("inspect", "total")):
            self.stage(name, part, STAGES[name][part] + seconds)
        for name in (model, "inspect"):
            total = STAGES[name]["total"] + seconds
            self.put("request", (0.001 + total) * RATE * 1e6, model=name, version="1")

    def wait(self, model: str, seconds: float) -> None:
        """Requests wait this long for an instance of a model that inspect calls."""
        self.put("queue", seconds * RATE * 1e6, model=model, version="1")
        self.put("request", (seconds + STAGES[model]["total"]) * RATE * 1e6, model=model, version="1")
        self.put("pending", seconds * RATE, model=model, version="1")
        for part in (model, "total"):
            self.stage("inspect", part, STAGES["inspect"][part] + seconds)

    def size(self, model: str, stage: str, kind: str, mean: float, *, p99: float | None = None) -> None:
        """What a stage is given."""
        labels = {"model": model, "version": "1", "stage": stage, "kind": kind}
        self.put("size_count", RATE, **labels)
        self.put("size_sum", mean * RATE, **labels)
        self.put("size_p99", mean * 1.2 if p99 is None else p99, **labels)

    def readings(self, at: float) -> dict[str, tuple[Reading, ...]]:
        """As Prometheus would say it."""
        return {
            question: tuple(
                Reading(labels=dict(labels), value=value, time=at) for labels, value in rows.items()
            )
            for question, rows in self.answers.items()
        }


@dataclass(kw_only=True)
class Fleet:
    """Both windows and what stands beside them."""

    now: Window = field(default_factory=Window)
    before: Window = field(default_factory=Window)
    targets: list[Target] = field(default_factory=list)
    replicas: list[ReplicaState] = field(default_factory=list)
    trends: dict[str, tuple[Series, ...]] = field(default_factory=dict)
    usual: dict[str, tuple[Series, ...]] = field(default_factory=dict)
    model: str = ""

    def snapshot(self) -> Snapshot:
        """What triage would have seen."""
        return Snapshot(
            model=self.model,
            version="",
            incident=Span(start=NOW - MINUTES, end=NOW),
            baseline=Span(start=NOW - 2 * MINUTES, end=NOW - MINUTES),
            now=self.now.readings(NOW),
            before=self.before.readings(NOW - MINUTES),
            trends=self.trends,
            asked={},
            usual=self.usual,
            targets=tuple(self.targets),
            replicas=tuple(self.replicas),
        )

    def verdict(self) -> Verdict:
        """What triage says."""
        return triage(self.snapshot())

    def checks(self) -> list[str]:
        """The ids of the causes, those that follow from others not among them."""
        return [cause.check for cause in self.verdict().causes]


@pytest.fixture(name="fleet")
def _fleet() -> Fleet:
    fleet = Fleet()
    for window, at in ((fleet.now, NOW), (fleet.before, NOW - MINUTES)):
        for model in STAGES:
            window.model(model)
        for (model, stage, kind), mean in SIZES.items():
            window.size(model, stage, kind, mean)
        for model in ("preprocess", "detector", "nms"):
            window.put("calls", 1.0, pipeline="inspect", stage=model, model=model)
        for replica in REPLICAS:
            window.put("up", 1.0, job="triton", instance=replica)
            window.put("cpu", 0.4, instance=replica)
            for model in STAGES:
                labels = {"instance": replica, "model": model, "version": "1"}
                worker = f"{model}_0_0-7{replica[0]}-1a"
                window.put("heartbeats", at - 1.0, **labels, worker=worker)
                window.put("alive", 4.0, **labels, worker=worker)
        window.put("limits", 100.0, model="inspect", version="")
    fleet.targets = [target("triton", replica) for replica in REPLICAS] + [target("tritonobs", "c:9900")]
    return fleet


@pytest.fixture(name="stages")
def _stages() -> dict[str, dict[str, float]]:
    """The mean of every stage of every model, seconds."""
    return STAGES


def target(job: str, address: str, *, health: str = "up", error: str = "") -> Target:
    """A scrape target."""
    return Target(
        url=f"http://{address}/metrics",
        health=health,
        last_error=error,
        interval="5s",
        labels={"job": job, "instance": address},
    )


@pytest.fixture(name="make_target")
def _make_target() -> object:
    return target
