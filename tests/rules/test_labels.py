"""The rules under the labels that a PodMonitor gives: another job, `pod` for `replica`, no cluster."""

import pytest

from support.case import Case, fires, silent
from support.promtool import run
from support.simulate import World
from tritonobs.render.rules import evaluate_mixin

POD = {"job": "models/triton", "namespace": "models", "pod": "triton-7c9-x2", "replica": ""}
NMS = {"model": "nms", "version": "1"}
ABOVE, DOWN = "TritonQpsAboveLimit", "TritonServerDown"
OVERFLOW = (
    World(minutes=20)
    .triton("nms", qps=[(5, 4), (99, 100)], **POD)
    .gauge("up", [(12, 1), (99, 0)], instance="10.0.0.7:8002", **POD)
    .gauge("tritonobs_qps_limit", 8, model="nms")
)
SUBJECT = {"model": "nms", "severity": "critical"}


@pytest.fixture(scope="module")
def groups():
    """The rules as a fleet file with these labels makes them."""
    rules = evaluate_mixin(
        {
            "tritonSelector": 'job="models/triton", namespace="models"',
            "replicaLabel": "pod",
            "clusterLabel": "",
            "severities": {DOWN: "warning"},
        }
    )
    return (*rules["records"]["groups"], *rules["alerts"]["groups"])


def test_an_overflow_and_a_dead_pod_are_told(groups, promtool, tmp_path):
    """100 requests a second against a limit of 8, then nothing answers: both are told, by the pod's label."""
    labels = {key: value for key, value in POD.items() if value}
    case = Case(
        says="under a PodMonitor",
        world=OVERFLOW,
        rules=(ABOVE, DOWN),
        checks=(
            silent(ABOVE, 5),
            fires(ABOVE, 9, **SUBJECT),
            silent(DOWN, 12),
            fires(DOWN, 15, instance="10.0.0.7:8002", **{**labels, "severity": "warning"}),
        ),
    )

    assert run(promtool, groups, case, tmp_path) == ""


def test_the_usual_rules_see_nothing_there(generated, promtool, tmp_path):
    """The same world under `job="triton"`: this is why the labels are knobs."""
    case = Case(
        says="under a PodMonitor, with the usual rules",
        world=OVERFLOW,
        rules=(ABOVE, DOWN),
        checks=(silent(ABOVE, 9), silent(DOWN, 15)),
    )

    assert run(promtool, generated(15), case, tmp_path) == ""
