"""From rows of the network to the JSON a client reads."""

import json

import numpy as np
import pytest
from boxes import Settings, encode, keep_confident, suppress, to_original

SETTINGS = Settings(
    labels=("part", "defect"), confidence=0.25, iou=0.45, max_candidates=1000, max_detections=300
)
AS_IT_IS = np.array([1, 1, 0, 0, 640, 640], np.float32)


def _rows(*rows):
    """Rows of the network, among many that say nothing."""
    quiet = np.tile(np.float32([5, 5, 9, 9, 0.01, 0.9, 0.9]), (25200 - len(rows), 1))
    return np.concatenate([quiet, np.array(rows, np.float32).reshape(-1, 7)])


def _found(*rows, geometry=AS_IT_IS, settings=SETTINGS):
    kept = suppress(keep_confident(_rows(*rows), settings), settings)
    return json.loads(encode(to_original(kept, geometry), geometry, settings))["detections"]


def test_result_is_json_in_the_order_of_scores():
    """Class by name, score, left, top, right, bottom; the size of the original beside them."""
    geometry = np.array([0.5, 0.5, 0, 140, 1280, 720], np.float32)
    rows = _rows([320, 320, 100, 50, 0.8, 0.5, 0.1], [100, 240, 20, 20, 1, 0, 0.9])

    text = encode(
        to_original(suppress(keep_confident(rows, SETTINGS), SETTINGS), geometry), geometry, SETTINGS
    )

    assert json.loads(text) == {
        "image": {"width": 1280, "height": 720},
        "detections": [
            {"class": "defect", "score": 0.9, "box": [180, 180, 220, 220]},
            {"class": "part", "score": 0.4, "box": [540, 310, 740, 410]},
        ],
    }


def test_score_is_objectness_times_the_best_class():
    """A row counts from the confidence on: neither objectness nor class alone decides."""
    found = _found(
        [100, 100, 20, 20, 0.9, 0.2, 0.1], [200, 200, 20, 20, 0.5, 0.6, 0.1], [300, 300, 20, 20, 0.2, 1, 1]
    )

    assert [entry["score"] for entry in found] == [0.3]


def test_boxes_of_one_class_that_overlap_are_one_object():
    """The best of them stays."""
    found = _found(
        [100, 100, 40, 40, 0.7, 1, 0], [104, 100, 40, 40, 0.9, 1, 0], [300, 100, 40, 40, 0.8, 1, 0]
    )

    assert [entry["score"] for entry in found] == [0.9, 0.8]


@pytest.mark.parametrize(
    "middle", [100, 5, 0, -30], ids=["inside", "at the edge", "half outside", "outside left"]
)
def test_boxes_of_two_classes_never_suppress_each_other(middle):
    """Not even where they lie left of the image, which shifting boxes apart by class may get wrong."""
    candidates = keep_confident(
        _rows(
            [middle, 100, 40, 40, 0.9, 1, 0], [middle, 100, 40, 40, 0.8, 0, 1], [639, 639, 40, 40, 0.7, 1, 0]
        ),
        SETTINGS,
    )

    assert sorted(suppress(candidates, SETTINGS).classes.tolist()) == [0, 0, 1]


def test_boxes_are_clipped_to_the_original():
    """What reaches into the padding ends at the image; what lies in it altogether is no detection."""
    geometry = np.array([1, 1, 0, 140, 640, 360], np.float32)

    found = _found([10, 145, 40, 40, 0.9, 1, 0], [300, 50, 40, 40, 0.9, 1, 0], geometry=geometry)

    assert [entry["box"] for entry in found] == [[0, 0, 30, 25]]


def test_rows_that_are_no_numbers_are_left_out():
    """Every other row is answered, and the JSON holds no NaN."""
    nan, inf = float("nan"), float("inf")

    found = _found(
        [nan, 10, 20, 20, 0.9, 1, 0],
        [10, 10, inf, 20, 0.9, 1, 0],
        [9, 9, 9, 9, nan, 1, 0],
        [50, 50, 20, 20, 0.9, 1, 0],
    )

    assert [entry["box"] for entry in found] == [[40, 40, 60, 60]]


def test_nothing_found_is_an_empty_list():
    """An image without detections is a good answer."""
    assert _found() == []


def test_most_boxes_and_candidates_are_bounded():
    """The best of them; so that no image makes the model slow."""
    rng = np.random.default_rng(5)
    rows = [[*rng.uniform(20, 620, 2), 4, 4, score, 1, 0] for score in np.linspace(0.3, 0.9, 2000)]
    settings = Settings(labels=("part",), confidence=0.25, iou=0.45, max_candidates=50, max_detections=20)

    candidates = keep_confident(_rows(*rows), settings)

    assert len(candidates.scores) == 50
    assert candidates.scores[0] == np.float32(0.9)
    assert len(suppress(candidates, settings).scores) == 20


def test_settings_are_read_from_the_model_configuration():
    """Parameters of others are none of its business."""
    texts = {"labels": "part, defect", "confidence": "0.25", "iou": "0.45", "latency_buckets": "1"}

    assert Settings.read(texts | {"max_candidates": "1000", "max_detections": "300"}) == SETTINGS
