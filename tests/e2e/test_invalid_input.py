"""Bad input on a real server is told once and charged to nobody; what really fails beside it is charged."""

from __future__ import annotations

import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
import requests

from tritonobs.clients.exposition import read_page
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.extensions.lab.drill.rig import Rig
from tritonobs.extensions.lab.load.images import parse_mix
from tritonobs.extensions.lab.load.run import LoadPlan, run_load
from tritonobs.extensions.lab.load.schedule import Segment
from tritonobs.extensions.lab.stack import local, native
from tritonobs.extensions.lab.stack.processes import Folders

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tritonobs.extensions.lab.load.schedule import LoadResult
    from tritonobs.extensions.lab.stack.local import Running

pytestmark = pytest.mark.e2e

# A worker's reports are up to half a scrape interval late.
LATE_SECONDS = 2.5
# Ten minutes are two, so that members reported invalid requests in the ten before each load but the first.
SPEED, QPS, SECONDS, FIRST_SECONDS = 5.0, 3.0, 40.0, 10.0
SETTLED_SECONDS, PATIENCE_SECONDS = 20.0, 180.0
PIPELINE, ENSEMBLE = PIPELINES = ("inspect", "inspect_ensemble")
DAMAGED = "640x480=7,corrupt=3"
SURGE = "TritonInvalidInputSurge"


@pytest.fixture(name="rehearsed", scope="module")
def _rehearsed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A stack whose models take faults, with rules five times as fast."""
    folders = Folders(root=tmp_path_factory.mktemp("invalid"))
    running = local.start(None, folders, lambda _: None, move_ports=True, drills_speed=SPEED)
    yield running
    native.down(folders)


def _send(stack: Running, mix: str, seconds: float = SECONDS) -> dict[str, LoadResult]:
    """Traffic for both pipelines at once, and until the rules have seen all: nothing changes any more."""

    def load(model: str) -> LoadResult:
        plan = LoadPlan(
            segments=(Segment(qps=QPS, seconds=seconds),),
            urls=(stack.plan.replicas[0].http_url,),
            model=model,
            mix=parse_mix(mix),
            seed=PIPELINES.index(model),
        )
        return run_load(plan)

    with ThreadPoolExecutor(len(PIPELINES)) as pool:
        results = dict(zip(PIPELINES, pool.map(load, PIPELINES), strict=True))
    prometheus = PrometheusClient(stack.plan.addresses.prometheus_url)
    seen, since, deadline = None, time.monotonic(), time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < min(since + SETTLED_SECONDS, deadline):
        now = (_bad(prometheus), sorted(sorted(labels.items()) for labels in _fired(prometheus)))
        if now != seen:
            seen, since = now, time.monotonic()
        time.sleep(1)
    return results


def _damaged(result: LoadResult) -> int:
    return sum(image.sent for image in result.images if image.kind == "corrupt")


def _told(stack: Running, name: str, **labels: str) -> float:
    return read_page(stack.plan.replicas[0].metrics_url).total(name, **labels)


def _bad(prometheus: PrometheusClient) -> dict[str, float]:
    """Requests that the availability of each model was charged, of all of its life."""
    charged = (
        'sum by (model) (sum_over_time(slo:sli_bad_requests:increase{version="",slo="availability"}[1h]))'
    )
    return {one.labels["model"]: one.value for one in prometheus.query(charged)}


def _late(stack: Running, since: float) -> float:
    """Failures of the ensemble that its member reported an evaluation after Triton had counted them.

    A report is a flush late, on a busy machine more, and an ensemble is charged for at most the failures that
    Triton counts in the same evaluation (docs/slos.md). What the pipeline reports is charged to the pipeline.
    """
    seen = 'replica_model_version_seen_by:triton_requests_bad:increase{part=""}[1h]'
    url = f"{stack.plan.addresses.prometheus_url}/api/v1/query"
    answer = requests.get(url, params={"query": seen}, timeout=10).json()
    evaluations: dict[float, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row in answer["data"]["result"]:
        for at, value in row["values"]:
            if at > since:
                evaluations[at][row["metric"]["model"]] += float(value)
    reported = [(bad["detector"] - bad[PIPELINE], bad[ENSEMBLE]) for bad in evaluations.values()]
    return sum(by_members - min(max(by_members, 0), own) for by_members, own in reported)


def _fired(prometheus: PrometheusClient) -> list[Mapping[str, str]]:
    """All alerts that have fired, of budgets, reasons and input."""
    rules = 'alertname=~"TritonErrorBudget.*|TritonErrorReasonSurge|TritonInvalidInputSurge"'
    fired = f'max_over_time(ALERTS{{alertstate="firing",{rules},slo!="latency"}}[1h])'
    return [one.labels for one in prometheus.query(fired)]


def test_damaged_images_are_the_callers_fault_and_real_failures_are_not(rehearsed: Running) -> None:
    """Three in ten images are damaged; then, beside them, three in ten inferences fail."""
    prometheus = PrometheusClient(rehearsed.plan.addresses.prometheus_url)
    rig = Rig(rehearsed.folders, "here")
    # Where nothing was invalid before, what is not reported yet may be charged (docs/slos.md).
    earliest = _send(rehearsed, DAMAGED, FIRST_SECONDS)
    charged = _bad(prometheus)
    assert all(charged[model] <= LATE_SECONDS * QPS for model in ("preprocess", *PIPELINES))

    first = _send(rehearsed, DAMAGED)

    before = _bad(prometheus)
    assert {model: before[model] - charged[model] for model in ("preprocess", *PIPELINES)} == pytest.approx(
        dict.fromkeys(("preprocess", *PIPELINES), 0), abs=1
    )
    damaged = {model: _damaged(earliest[model]) + _damaged(first[model]) for model in PIPELINES}
    assert all(earliest[model].failed + first[model].failed == damaged[model] > 25 for model in PIPELINES)
    counted = "tritonobs_requests_total"
    assert _told(rehearsed, counted, model="inspect", outcome="invalid") == damaged["inspect"]
    assert _told(rehearsed, counted, model="preprocess", outcome="invalid") == sum(damaged.values())
    assert _told(rehearsed, counted, outcome="error") == 0
    why = {"model": "preprocess", "stage": "decode", "reason": "corrupt_image"}
    assert _told(rehearsed, "tritonobs_stage_errors_total", **why, outcome="invalid") == sum(damaged.values())
    assert [labels.items() >= {"alertname": SURGE, **why}.items() for labels in _fired(prometheus)] == [True]

    began = time.time()
    with rig.faults({"detector": {"infer": {"share": 0.3}}}):
        second = _send(rehearsed, DAMAGED)

    after = _bad(prometheus)
    for model, result in second.items():
        failed = result.failed - _damaged(result)
        assert failed > 10
        wanted = failed - (_late(rehearsed, began) if model == ENSEMBLE else 0)
        # A request counts whole; what is shared by the share of traffic does not.
        assert after[model] - before[model] == pytest.approx(wanted, rel=0.02, abs=1), (model, failed)
    fast = [labels for labels in _fired(prometheus) if labels["alertname"] == "TritonErrorBudgetBurnFast"]
    assert "detector" in {labels["model"] for labels in fast}
    assert "preprocess" not in {labels["model"] for labels in fast}
