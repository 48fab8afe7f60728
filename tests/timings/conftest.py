"""Fleets as Prometheus would show them, for judgements without a server."""

from __future__ import annotations

import pytest

from tritonobs.timings.measured import PipelineCall, ServerTiming, Timing, Timings


def _timing(rate: float, mean: float) -> Timing:
    return Timing(rate=rate, mean=mean, p50=mean, p95=2 * mean, p99=3 * mean)


@pytest.fixture(name="timings")
def _timings() -> Timings:
    """A pipeline of three models: 100 ms, of which decode takes 40 and infer 30."""
    stages = {
        ("inspect", "1", "total"): (10, 0.098),
        ("inspect", "1", "preprocess"): (10, 0.055),
        ("inspect", "1", "detector"): (10, 0.036),
        ("inspect", "1", "nms"): (9, 0.005),
        ("preprocess", "1", "total"): (10, 0.051),
        ("preprocess", "1", "decode"): (10, 0.040),
        ("preprocess", "1", "normalise"): (10, 0.010),
        ("detector", "1", "total"): (10, 0.031),
        ("detector", "1", "infer"): (10, 0.030),
    }
    servers = {
        ("inspect", "1"): ServerTiming(rate=10, request=0.100, queue=0.002),
        ("preprocess", "1"): ServerTiming(rate=10, request=0.053, queue=0.001),
        ("detector", "1"): ServerTiming(rate=10, request=0.034, queue=0.002),
        ("nms", "1"): ServerTiming(rate=9, request=0.004, queue=0.001),
        ("idle", "1"): ServerTiming(rate=0, request=None, queue=None),
        ("alone", "3"): ServerTiming(rate=5, request=0.020, queue=0.015),
    }
    calls = tuple(
        PipelineCall(pipeline="inspect", stage=name, model=name, per_request=1.0)
        for name in ("detector", "nms", "preprocess")
    )
    return Timings(
        at=1000.0,
        window_seconds=60.0,
        servers=servers,
        stages={key: _timing(rate, mean) for key, (rate, mean) in stages.items()},
        calls=calls,
    )
