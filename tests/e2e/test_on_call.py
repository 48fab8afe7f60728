"""On call at the running stack: the planted cause comes first, and a healthy stack has none."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.clients.triton import TritonClient
from tritonobs.extensions.lab.load.images import parse_mix
from tritonobs.extensions.lab.load.run import LoadPlan, run_load
from tritonobs.extensions.lab.load.schedule import Segment
from tritonobs.extensions.triage.judge import Verdict, triage
from tritonobs.extensions.triage.snapshot import take_snapshot
from tritonobs.timings.promql import Span
from tritonobs.timings.stages import read_stages

if TYPE_CHECKING:
    from pathlib import Path

    from tritonobs.extensions.lab.stack.local import Running

pytestmark = pytest.mark.e2e

SECONDS, SETTLE_SECONDS = 20.0, 8.0
"""A window, and how long until its last request is handed over, scraped and evaluated, at least."""
PATIENCE_SECONDS = 90.0
ANSWERED = 'min(sum by (model) (tritonobs_requests_total{model=~"inspect|preprocess"}))'
CALM_QPS = 4.0
COMMAND = (sys.executable, "-m", "tritonobs", "limits", "suggest", "--model", "inspect", "--format", "json")
MOST_WINDOWS, OF_THE_MACHINE = 6, {"slow_machine", "cpu_starved", "queue_saturation", "slow_stage"}
"""A machine that stalls for a moment lets requests pile up, even at this rate; inference slows most."""
THRESHOLD_SECONDS = 0.5
"""Of the latency SLO of `inspect`, in examples/fleet.yaml."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A window in which Prometheus has seen all of its requests; whether a client waited for too long."""

    span: Span
    missed: bool


def _send(stack: Running, qps: float, mix: str = "1280x720") -> Sent:
    """Traffic for one window."""
    plan = LoadPlan(
        urls=(stack.plan.replicas[0].http_url,),
        segments=(Segment(qps=qps, seconds=SECONDS),),
        mix=parse_mix(mix),
    )
    prometheus = PrometheusClient(stack.plan.addresses.prometheus_url)
    before, began = _answered(prometheus), time.time()
    result = run_load(plan)
    assert result.sent == qps * SECONDS
    time.sleep(SETTLE_SECONDS)
    end = began + SECONDS + SETTLE_SECONDS / 2
    while _answered(prometheus) < before + qps * SECONDS and time.time() < began + PATIENCE_SECONDS:
        time.sleep(1)
        end = time.time()
    slowest = result.latency_from_send.max if result.latency_from_send else 0.0
    return Sent(span=Span(start=began, end=end), missed=slowest > THRESHOLD_SECONDS or result.failed > 0)


def _answered(prometheus: PrometheusClient) -> float:
    """What Prometheus knows of, of the pipeline's requests and of those that it made of them."""
    return sum(one.value for one in prometheus.query(ANSWERED))


@pytest.fixture(name="calm", scope="module")
def _calm(stack: Running) -> Sent:
    """A window of ordinary traffic, once the stack has done with what came before."""
    first, calm = _send(stack, CALM_QPS), _send(stack, CALM_QPS)
    return replace(calm, missed=first.missed or calm.missed)


def _judge(stack: Running, incident: Sent, baseline: Sent) -> Verdict:
    prometheus = PrometheusClient(stack.plan.addresses.prometheus_url)
    replicas = (TritonClient(stack.plan.replicas[0].http_url),)
    return triage(
        take_snapshot(prometheus, replicas, incident=incident.span, baseline=baseline.span, model="inspect")
    )


def test_ordinary_traffic_is_healthy(stack: Running, calm: Sent) -> None:
    """The same traffic twice: no check says a word, everything was seen, and the stages are the whole.

    Budgets may still burn from what other tests did to this stack: that is a note, no verdict. The machine
    is shared. When its neighbours take it, triage says that and nothing else, and the next window counts.
    It may find that a budget burns once a client had to wait for longer than the SLO allows.
    """
    before, missed, verdicts, false = calm, calm.missed, list[Verdict](), set[str]()
    for _ in range(MOST_WINDOWS):
        again = _send(stack, CALM_QPS)
        missed = missed or again.missed
        verdicts.append(_judge(stack, again, before))
        allowed = OF_THE_MACHINE | ({"budget_burn"} if missed else set())
        false |= {cause.check for cause in verdicts[-1].causes} - allowed
        if verdicts[-1].status == "healthy":
            break
        before = again
    prometheus = PrometheusClient(stack.plan.addresses.prometheus_url)
    (table,) = read_stages(prometheus, "inspect", window_seconds=SECONDS + SETTLE_SECONDS)

    said = [verdict.sentence for verdict in verdicts]
    assert (verdicts[-1].status, verdicts[-1].unseen) == ("healthy", ()), said
    assert false == set(), said
    assert {row.path[0] for row in table.rows} >= {"preprocess", "detector", "nms"}
    assert sum(row.share or 0.0 for row in table.rows if row.leaf) == pytest.approx(1.0, abs=0.1)


def test_bad_images_are_found_where_they_are_refused(stack: Running, calm: Sent) -> None:
    """Not the pipeline that passes the error on, but stage and reason of the model that refuses."""
    verdict = _judge(stack, _send(stack, CALM_QPS, "1280x720=2,corrupt=1"), calm)

    assert [cause.check for cause in verdict.causes][:1] == ["error_surge"], verdict
    assert verdict.causes[0].place == ("preprocess", "1", "decode", "corrupt_image")


def test_larger_images_are_the_cause_of_a_slow_stage(stack: Running, calm: Sent) -> None:
    """The stage is slow because of what it gets."""
    verdict = _judge(stack, _send(stack, CALM_QPS, "1280x720=1,4000x3000=1"), calm)

    assert [cause.check for cause in verdict.causes][:1] == ["larger_inputs"], verdict
    assert verdict.causes[0].place[:2] == ("preprocess", "1")


def test_a_limit_is_found_by_load_in_steps(stack: Running, tmp_path: Path) -> None:
    """Five steps of real load: each is measured, none fails, a fifth of the best is left free."""
    plot = tmp_path / "knee.html"
    options = ["--from", "1", "--to", "5", "--steps", "5", "--step", "2s", "--plot", str(plot)]
    done = subprocess.run(
        [*COMMAND, "--drive", stack.plan.replicas[0].http_url, *options],
        capture_output=True,
        text=True,
        check=True,
    )

    found = json.loads(done.stdout)
    assert [step["qps"] for step in found["operations"]] == [1, 2, 3, 4, 5]
    assert all(step["seconds"] > 0 and step["failed_ratio"] == 0 for step in found["operations"])
    assert found["limit_qps"] == pytest.approx(0.8 * found["good_qps"], rel=0.05)
    assert plot.read_text().count("<circle") == 5
