"""What a page makes superfluous is not sent; what only looks like it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.alertmanager_sim.tree import inhibitions
from tritonobs.plan.build import build_plan
from tritonobs.render.alertmanager import inhibit_rules
from tritonobs.spec.load import read_text

FLEET = """\
fleet: shop
replicas: [{name: a, url: "http://10.0.0.1:8000"}]
models:
  inspect: {pipeline: bls, calls: {detector: 1, nms: 2}, versions: {"1": {}}}
  detector: {versions: {"1": {}}}
  nms: {versions: {"1": {}}}
"""
FAST, SLOW = (f"TritonErrorBudgetBurn{tier}" for tier in ("Fast", "Slow"))
SURGE = "TritonErrorReasonSurge"


def _alert(name: str, model: str = "nms", **labels: str) -> dict[str, str]:
    return {"alertname": name, "model": model, "cluster": "default", **labels}


def _muted(effect: dict[str, str], *causes: dict[str, str]) -> bool:
    reading = read_text(FLEET, "fleet.yaml")
    assert reading.spec is not None
    rules = inhibitions({"inhibit_rules": inhibit_rules(build_plan(reading.spec, Path("/etc/shop")))})
    return any(rule.mutes(effect, causes) for rule in rules)


@pytest.mark.parametrize(
    ("cause", "effect", "others"),
    [
        pytest.param(
            _alert(FAST, version="", slo="availability"),
            _alert(SURGE, version="1", reason="BACKEND"),
            [
                _alert(SURGE, "ocr", version="1", reason="BACKEND"),
                _alert(SURGE, version="1", reason="BACKEND") | {"cluster": "west"},
                _alert("TritonWorkerDead", version="1"),
            ],
            id="a page about errors says why they are",
        ),
        pytest.param(
            _alert("TritonWorkerDead", version="1", replica="triton-1"),
            _alert(SURGE, version="1", reason="BACKEND"),
            [
                _alert(SURGE, version="2", reason="BACKEND"),
                _alert(SURGE, version="1", reason="corrupt_image", stage="decode"),
                _alert(FAST, version="1", slo="availability"),
            ],
            id="a dead worker fails what it gets",
        ),
        pytest.param(
            _alert(FAST, version="1", slo="latency"),
            _alert(SLOW, version="1", slo="latency"),
            [_alert(SURGE, version="1", reason="BACKEND"), _alert(SLOW, version="1", slo="availability")],
            id="a page about slow answers says nothing of errors",
        ),
        pytest.param(
            _alert(SLOW, version="1", slo="availability"),
            _alert("TritonErrorBudgetBurnLong", version="1", slo="availability"),
            [_alert(FAST, version="1", slo="latency"), _alert(FAST, version="1", slo="availability")],
            id="a warning mutes no page",
        ),
        pytest.param(
            _alert("TritonQpsAboveLimit", "inspect", version=""),
            _alert("TritonQpsAboveLimit", "nms", version=""),
            [
                _alert("TritonQueueWaitHigh", "nms", version="1"),
                _alert("TritonQpsAboveLimit", "ocr", version=""),
            ],
            id="a pipeline speaks for the rates of its members",
        ),
    ],
)
def test_a_cause_speaks_for_its_effect_and_for_nothing_else(
    cause: dict[str, str], effect: dict[str, str], others: list[dict[str, str]]
) -> None:
    """The effect is muted while the cause fires, and only then; its neighbours never are."""
    assert _muted(effect, cause)
    assert not _muted(effect)
    assert [_muted(other, cause) for other in others] == [False] * len(others)
    assert not _muted(cause, effect)
