"""The five models on a running server: what clients get, and what the metrics page says about it."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import requests
from tritonclient import http as triton_http

from tritonobs import stage
from tritonobs.clients.exposition import read_page
from tritonobs.extensions.lab.load.images import jpeg, parse_mix
from tritonobs.extensions.lab.load.plates import CLASSES, draw_plate
from tritonobs.extensions.lab.load.run import LoadPlan, run_load
from tritonobs.extensions.lab.load.schedule import Segment

pytestmark = pytest.mark.e2e

PYTHON_MODELS = ("preprocess", "detector", "nms", "inspect")


def _page(stack):
    return read_page(stack.plan.replicas[0].metrics_url)


def _settled_page(stack):
    """The metrics page when every worker has handed over all: a new series is 0 for a scrape and a quarter.

    It is born with one flush and raised with another, and there are two of them in a scrape interval.
    """
    time.sleep(2.25 * float(stack.plan.prometheus.scrape_interval_seconds) + 0.5)
    return _page(stack)


@pytest.fixture(autouse=True, scope="module")
def _settled(stack):
    """What tests of other files sent is on the page before the first one here reads it."""
    _settled_page(stack)


def _infer(stack, model, body):
    client = triton_http.InferenceServerClient(stack.plan.replicas[0].http_url.removeprefix("http://"))
    try:
        image = triton_http.InferInput("IMAGE", [1, 1], "BYTES")
        image.set_data_from_numpy(np.array([[body]], dtype=np.object_))
        return client.infer(model, [image])
    finally:
        client.close()


@pytest.mark.parametrize("model", ["inspect", "inspect_ensemble"])
def test_pipeline_finds_the_parts_that_were_drawn(stack, model):
    """Bytes in, JSON out: each drawn part has a box within 2 px."""
    plate = draw_plate(np.random.default_rng(4711), width=960, height=720)

    answer = json.loads(_infer(stack, model, jpeg(plate.pixels)).as_numpy("RESULT").reshape(-1)[0])

    assert len(answer["detections"]) == len(plate.boxes)
    for kind, box in zip(plate.classes, plate.boxes, strict=True):
        assert any(
            found["class"] == CLASSES[kind] and np.abs(np.subtract(found["box"], box)).max() <= 2
            for found in answer["detections"]
        ), (kind, box)


@pytest.mark.parametrize(
    ("kind", "reason", "says"),
    [
        ("corrupt", "corrupt_image", "corrupt"),
        ("empty", "empty_image", "empty"),
        ("huge", "too_large", "4000"),
        ("unsupported", "unsupported_format", "JPEG"),
    ],
)
@pytest.mark.parametrize("model", ["inspect", "inspect_ensemble"])
def test_bad_image_gets_an_error_that_says_what_is_wrong(stack, model, kind, reason, says):
    """The client reads why; the reason is counted once."""
    before = _page(stack).total(stage.series.STAGE_ERRORS, model="preprocess", reason=reason)
    plan = LoadPlan(
        segments=(Segment(qps=5, seconds=1),),
        urls=(stack.plan.replicas[0].http_url,),
        model=model,
        mix=parse_mix(kind),
    )

    result = run_load(plan)

    assert (result.sent, result.ok) == (5, 0)
    assert all(says in error.example for error in result.errors)
    after = _settled_page(stack).total(stage.series.STAGE_ERRORS, model="preprocess", reason=reason)
    assert after - before == 5


def test_every_series_is_there_for_every_model(stack):
    """All families of the contract, after good and bad images; the ensemble runs no code of its own."""
    _send(stack, "inspect", "640x480=2,corrupt=1")
    page = _settled_page(stack)

    for model in PYTHON_MODELS:
        families = {
            name
            for name, samples in page.by_name.items()
            if any(s.labels.get("model") == model for s in samples)
        }
        assert families >= {
            *(f"tritonobs_stage_duration_seconds_{part}" for part in ("bucket", "sum", "count")),
            "tritonobs_requests_total",
            "tritonobs_heartbeat_timestamp_seconds",
            "tritonobs_flush_seconds_total",
        }, model
        assert page.total("tritonobs_flush_errors_total", model=model) == 0
    for family in ("tritonobs_stage_errors_total", "tritonobs_stage_size_bucket"):
        assert page.by_name[family]
    assert {s.labels["model"] for s in page.by_name["tritonobs_stage_items_total"]} >= {"preprocess", "nms"}
    counted = {s.labels["model"] for s in page.by_name["nv_inference_request_success"]}
    assert counted >= {*PYTHON_MODELS, "inspect_ensemble"}


@pytest.mark.parametrize(
    ("model", "members"),
    [("inspect", ("inspect", "preprocess", "detector", "nms")), ("inspect_ensemble", PYTHON_MODELS[:3])],
)
def test_sums_equal_what_was_sent_to_the_request(stack, model, members):
    """Outcomes, stage counts and reasons add up exactly, errors included."""
    before = _settled_page(stack)

    result = _send(stack, model, "640x480=4,1280x720=2,corrupt=1,empty=1")

    after = _settled_page(stack)

    def grown(name, **labels):
        return after.total(name, **labels) - before.total(name, **labels)

    bad = sum(image.sent for image in result.images if image.kind in ("corrupt", "empty"))
    assert 0 < bad < result.sent
    assert result.failed == bad
    for member in members:
        sees_bad = member in ("inspect", "preprocess")
        expected = {"ok": result.ok, "error": 0, "invalid": bad if sees_bad else 0}
        assert {
            outcome: grown("tritonobs_requests_total", model=member, outcome=outcome) for outcome in expected
        } == expected
        total = grown("tritonobs_stage_duration_seconds_count", model=member, stage="total")
        assert total == (result.sent if sees_bad else result.ok)
        infinite = grown("tritonobs_stage_duration_seconds_bucket", model=member, stage="total", le="+Inf")
        assert infinite == total
    assert grown("tritonobs_stage_errors_total", model="preprocess") == bad
    assert grown("tritonobs_stage_items_total", model="preprocess", kind="images") == result.ok


def test_a_bad_image_never_fails_its_neighbours(stack):
    """Good and bad requests in the same batch: exactly the bad ones fail."""
    good, bad = (
        jpeg(draw_plate(np.random.default_rng(1), width=640, height=640).pixels),
        b"\xff\xd8\xff this is no image",
    )

    def outcome(body):
        try:
            return bool(_infer(stack, "preprocess", body))
        except triton_http.InferenceServerException:
            return False

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(outcome, [good, bad] * 40))

    assert answers == [True, False] * 40


def _send(stack, model, mix):
    """Traffic below the model's limit, so that no test wakes the alert another one waits for."""
    plan = LoadPlan(
        segments=(Segment(qps=7, seconds=6),),
        urls=(stack.plan.replicas[0].http_url,),
        model=model,
        mix=parse_mix(mix),
    )
    return run_load(plan)


def test_metrics_page_is_scraped_without_complaint(stack):
    """Prometheus says that the server, serve and itself are up."""
    answer = requests.get(f"{stack.address('prometheus')}/api/v1/targets", timeout=5).json()

    health = {
        target["labels"]["job"]: (target["health"], target["lastError"])
        for target in answer["data"]["activeTargets"]
    }
    assert set(health.values()) <= {("up", ""), ("unknown", "")}
    assert {"triton", "tritonobs"} <= set(health)
