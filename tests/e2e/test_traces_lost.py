"""Every request that a real Triton counts is traced and arrives.

That a connection outlives its sender's pauses, and would not with uvicorn's own limit, is tested in
tests/serve/test_server.py.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from support.traced_rig import traced_rig
from tritonobs import names

if TYPE_CHECKING:
    from pathlib import Path

    from support.traced_rig import TracedRig

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]
SECONDS, PAUSE_SECONDS = 40, 0.05
EVERY_MS = 1000


def test_nothing_is_lost_between_triton_and_the_receiver(tmp_path: Path) -> None:
    """Forty batches over one connection, exactly; the setting is shown, so both can be compared."""
    with traced_rig(tmp_path, every_ms=EVERY_MS) as rig:
        counted = _asked(rig, SECONDS)
        assert rig.settle(names.TRACE_REQUESTS, counted, model="quick") == counted
        assert rig.settle(names.TRACE_RATE, 1, model="quick") == 1


def test_a_model_that_a_pipeline_calls_shows_no_rate(tmp_path: Path) -> None:
    """Its requests are traced with the pipeline's; and tracing that is off is shown as 0."""
    with traced_rig(tmp_path) as rig:
        for model in ("slow", "nested", "quick"):
            rig.ask(model, 0.001)
        rig.settle(names.TRACE_REQUESTS, 1, model="quick")
        assert rig.settle(names.TRACE_RATE, 1, model="nested") == 1
        rig.api.trace("quick", {"trace_level": ["OFF"]})
        deadline = time.monotonic() + 60
        while rig.count(names.TRACE_RATE, model="quick") and time.monotonic() < deadline:
            time.sleep(0.5)
        shown = {
            row.labels[names.MODEL]: row.value for row in rig.page().samples if row.name == names.TRACE_RATE
        }
        assert shown == {"nested": 1, "quick": 0}


def _asked(rig: TracedRig, seconds: float) -> float:
    """Send for a while; how many requests Triton has counted of them, once it has counted all."""
    sent, before, end = 0, _counted(rig), time.monotonic() + seconds
    while time.monotonic() < end:
        rig.ask("quick", 0.001)
        sent += 1
        time.sleep(PAUSE_SECONDS)
    deadline = time.monotonic() + 10
    while (found := _counted(rig) - before) < sent and time.monotonic() < deadline:
        time.sleep(0.2)
    assert found == sent
    return found


def _counted(rig: TracedRig) -> float:
    return sum(each.successes for each in rig.api.stats("quick"))
