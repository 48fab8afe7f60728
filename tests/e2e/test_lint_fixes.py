"""Certain fixes at the running stack: what `--fix` writes is what was sent, and what it mends is not."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.extensions.lab.load.images import parse_mix
from tritonobs.extensions.lab.load.run import LoadPlan, run_load
from tritonobs.extensions.lab.load.schedule import Segment
from tritonobs.extensions.lint.fixes import fix
from tritonobs.extensions.lint.linter import Options, lint_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tritonobs.extensions.lab.load.schedule import LoadResult
    from tritonobs.extensions.lab.stack.local import Running

pytestmark = pytest.mark.e2e

QPS, SECONDS, SETTLE_SECONDS = 4.0, 60.0, 6.0
# What is counted at the end of a request that came just before the window is nearly nothing of it.
WINDOW = "[40s]"
OK = f'sum(rate(nv_inference_request_success{{model="inspect"}}{WINDOW}))'
FAILED = f'sum(rate(nv_inference_request_failure{{model="inspect"}}{WINDOW}))'
CALLED = f'sum(rate(nv_inference_request_success{{model="detector"}}{WINDOW}))'
CASES: dict[str, tuple[str, Callable[[LoadResult], float]]] = {
    "a name that does not exist": (OK.replace("success", "success_total"), lambda run: run.achieved_qps),
    # Each request of the pipeline calls the detector once.
    "1 + below the line": (f"{CALLED} / (1 + {OK})", lambda _: 1.0),
    "a bound below the line": (f"{CALLED} / clamp_min({OK}, 10)", lambda _: 1.0),
    "a share against percent": (f"{OK} / ({OK} + {FAILED}) > 90", lambda run: run.ok / run.sent),
}
"""What is written, and the truth that the load generator knows."""


@pytest.fixture(name="run", scope="module")
def _run(stack: Running) -> LoadResult:
    """A minute at a steady rate."""
    plan = LoadPlan(
        urls=(stack.plan.replicas[0].http_url,),
        segments=(Segment(qps=QPS, seconds=SECONDS),),
        mix=parse_mix("1280x720"),
    )
    result = run_load(plan)
    # The last scrape of the steady time.
    time.sleep(SETTLE_SECONDS)
    return result


@pytest.fixture(name="asked", scope="module")
def _asked(stack: Running, run: LoadResult) -> Callable[[str], float | None]:
    prometheus = PrometheusClient(stack.plan.addresses.prometheus_url)
    # Within the steady time, from now on at any moment the same.
    at = time.time() - SETTLE_SECONDS
    assert run.sent == QPS * SECONDS

    def ask(expression: str) -> float | None:
        found = prometheus.query(expression, at=at)
        return found[0].value if found else None

    return ask


@pytest.mark.parametrize(("written", "truth"), CASES.values(), ids=CASES)
def test_the_mended_expression_gives_what_was_sent(
    asked: Callable[[str], float | None],
    run: LoadResult,
    tmp_path: Path,
    written: str,
    truth: Callable[[LoadResult], float],
) -> None:
    """Within two percent, where the old one is further away or empty."""
    path = tmp_path / "case.promql"
    path.write_text(written)
    mended = fix(lint_files([(path, True)], Options()).problems)

    before, after = asked(written), asked(path.read_text())

    assert mended
    assert after == pytest.approx(truth(run), rel=0.02)
    assert before is None or before != pytest.approx(truth(run), rel=0.05)
