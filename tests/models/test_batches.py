"""Requests of a batch: each gets its own answer, and is counted once."""

import gc
import sys

import numpy as np
import pytest
from boxes import Settings
from prepare import Preprocessor, Refusal
from report import BadGeometry, Reporter
from settings import Settings as Decoding

from tritonobs.extensions.lab.load.images import BROKEN, jpeg, png
from tritonobs.extensions.lab.load.plates import draw_plate

DURATIONS = "tritonobs_stage_duration_seconds_count"


def _plate(number):
    return draw_plate(np.random.default_rng([6, number]), width=300 + 40 * number, height=200).pixels


def test_bad_image_fails_its_own_request_alone(stages, chain):
    """Between good ones of other sizes, in any place."""
    bad = [make(np.random.default_rng(1)) for make in BROKEN.values()]
    good = [jpeg(_plate(0)), png(_plate(1)), jpeg(_plate(2), orientation=6), jpeg(_plate(3), grey=True)]
    requests = [[body] for pair in zip(bad, good, strict=True) for body in pair]

    results = Preprocessor(stages, Decoding(), max_batch_size=8)(requests)

    assert [result.reason for result in results[::2]] == list(BROKEN)
    for result, body in zip(results[1::2], good, strict=True):
        tensor, geometry = chain.prepare(body)
        np.testing.assert_array_equal(result.tensor, tensor)
        np.testing.assert_array_equal(result.geometry, geometry[None])


def test_preprocess_counts_each_request_in_the_stages_it_reached(stages):
    """Refused ones under their reason, and in no later stage."""
    refused = BROKEN["unsupported_format"](np.random.default_rng(1))

    Preprocessor(stages, Decoding(), max_batch_size=8)([[jpeg(_plate(0))], [refused], [png(_plate(1))] * 2])

    refused = {"stage": "decode", "reason": "unsupported_format", "outcome": "invalid"}
    assert stages.counted("tritonobs_stage_errors_total", **refused) == 1
    assert stages.counted("tritonobs_stage_items_total", stage="decode", kind="images") == 3
    for stage, requests in (("decode", 3), ("letterbox", 2), ("normalise", 2)):
        assert stages.counted(DURATIONS, stage=stage) == requests


def test_refused_image_is_let_go(stages):
    """At once: what waits for the collector of cycles was 20 MB a request of 20 MB."""
    prepare = Preprocessor(stages, Decoding(), max_batch_size=8)
    bodies = [make(np.random.default_rng(1)) for reason, make in BROKEN.items() if reason != "empty_image"]
    gc.collect()
    gc.disable()
    try:
        before = [sys.getrefcount(body) for body in bodies]
        reasons = [prepare([[bodies[number]]])[0].reason for number in range(len(bodies))]
        after = [sys.getrefcount(body) for body in bodies]
    finally:
        gc.enable()

    assert reasons == ["corrupt_image", "too_large", "unsupported_format"]
    assert after == before


def test_request_of_several_images_is_one_answer(stages):
    """In the order they came, and refused as a whole when one of them is bad."""
    bodies = [jpeg(_plate(number)) for number in range(3)]
    prepare = Preprocessor(stages, Decoding(), max_batch_size=8)

    whole, single, refused = prepare([bodies, bodies[1:2], [bodies[0], b""]])

    assert whole.tensor.shape == (3, 3, 640, 640)
    assert whole.geometry[:, 4].tolist() == [300, 340, 380]
    np.testing.assert_array_equal(whole.tensor[1:2], single.tensor)
    assert isinstance(refused, Refusal)


def test_memory_used_again_keeps_nothing_of_the_batch_before(stages):
    """A wide image after a tall one has clean padding."""
    prepare = Preprocessor(stages, Decoding(), max_batch_size=1)
    wide = jpeg(_plate(4))
    first = prepare([[wide]])[0].tensor.copy()

    prepare([[jpeg(_plate(4).swapaxes(0, 1).copy())]])

    np.testing.assert_array_equal(prepare([[wide]])[0].tensor, first)


def _rows(count):
    rows = np.zeros((count, 25200, 7), np.float32)
    rows[:, 7] = [320, 320, 50, 50, 0.9, 1, 0]
    rows[:, 8] = [322, 320, 50, 50, 0.8, 1, 0]
    return rows


def _reporter(stages):
    settings = Settings(
        labels=("part", "defect"), confidence=0.25, iou=0.45, max_candidates=9, max_detections=9
    )
    return Reporter(stages, settings)


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param([0, 1, 0, 0, 640, 640], id="no scale"),
        pytest.param([1, 1, 0, float("nan"), 640, 640], id="not a number"),
        pytest.param([1, 1, 0, 0, 640, -1], id="negative size"),
    ],
)
def test_bad_geometry_fails_its_own_request_alone(stages, broken):
    """Whoever calls nms directly may send anything."""
    fine = np.array([[1, 1, 0, 0, 640, 640]], np.float32)

    results = _reporter(stages)(
        [(_rows(1), fine), (_rows(1), np.array([broken], np.float32)), (_rows(1), fine)]
    )

    assert isinstance(results[1], BadGeometry)
    assert str(results[1]).startswith("bad_geometry: ")
    assert results[0] == results[2] == [results[0][0]]
    refused = {"stage": "filter", "reason": "bad_geometry", "outcome": "invalid"}
    assert stages.counted("tritonobs_stage_errors_total", **refused) == 1


def test_nms_counts_boxes_before_and_after(stages):
    """Per request, whatever the number of its images."""
    fine = np.tile(np.float32([1, 1, 0, 0, 640, 640]), (2, 1))

    (result,) = _reporter(stages)([(_rows(2), fine)])

    assert len(result) == 2
    assert stages.counted("tritonobs_stage_items_total", stage="suppress", kind="boxes_in") == 4
    assert stages.counted("tritonobs_stage_items_total", stage="suppress", kind="boxes_out") == 2
    assert stages.counted(DURATIONS, stage="suppress") == 1
