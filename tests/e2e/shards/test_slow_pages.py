"""No request is lost where pages take long, and some are written only after an evaluation."""

import time

import pytest

from support.beside import POOLS
from support.shards_rig import Tiers
from support.shards_seen import differences, records
from tritonobs import programs

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
PAGE_SECONDS = 0.6
"""Of two between scrapes: of twenty servers about six are asked before an evaluation and answer after it."""
COUNTED = "replica_model:triton_requests:increase"
SUCCEEDED_QPS = sum(
    pool.servers * served.qps * (1 - served.failing) for pool in POOLS for served in pool.models
)
CALM_SECONDS, PATIENCE_SECONDS, TOLERANCE = 70, 45, 0.05


def test_requests_of_slow_pages_are_counted(tmp_path):
    """By one Prometheus as by four shards: each asks the servers at moments of its own."""
    if programs.look("prometheus") is None:
        pytest.skip("no prometheus here; get it with: tritonobs tools")
    with Tiers(tmp_path, page_seconds=PAGE_SECONDS) as tiers:
        time.sleep(CALM_SECONDS)
        grown = {
            name: seconds for name, seconds in records(tiers).items() if name.endswith("requests:increase")
        }
        compared, different = differences(tiers, grown, tolerance=TOLERANCE, seconds=PATIENCE_SECONDS)
        mean = f"sum(avg_over_time({COUNTED}[{tiers.JITTER_SECONDS}s])) / {grown[COUNTED]}"
        (counted,) = tiers.client("one").query(mean)

    assert different == {}
    assert compared > 50
    assert counted.value == pytest.approx(SUCCEEDED_QPS, rel=TOLERANCE)
