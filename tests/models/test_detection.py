"""Detection is real: measured on plates that training never saw."""

import numpy as np
import pytest

from tritonobs.extensions.lab.load.images import cmyk_jpeg, jpeg, png
from tritonobs.extensions.lab.load.plates import CLASSES, draw_plate

UNSEEN = 20_261_121
SIZES = ((640, 640), (1280, 720), (480, 960), (960, 480), (800, 600))


def test_detector_finds_parts_and_defects_on_200_fresh_plates(chain):
    """MAP at an overlap of one half is at least 0.9."""
    hits = {kind: [] for kind in range(len(CLASSES))}
    truths = dict.fromkeys(hits, 0)
    for number in range(200):
        width, height = SIZES[number % len(SIZES)]
        plate = draw_plate(np.random.default_rng([UNSEEN, number]), width=width, height=height)
        found = chain.find(jpeg(plate.pixels), confidence=0.01)
        for kind in hits:
            truth = plate.boxes[plate.classes == kind]
            truths[kind] += len(truth)
            hits[kind] += _judged(
                found.boxes[found.classes == kind], found.scores[found.classes == kind], truth
            )

    precision = [_average_precision(hits[kind], truths[kind]) for kind in hits]

    assert np.mean(precision) >= 0.9, precision


def test_network_keeps_the_layout_of_yolov5(chain):
    """25,200 rows: centre, size, objectness, a score a class; and the file is small."""
    rows = chain.infer(np.zeros((1, 3, 640, 640), np.float32))

    assert rows.shape == (1, 25200, 5 + len(CLASSES))
    assert rows.dtype == np.float32
    assert 0 <= rows[..., 4:].min() <= rows[..., 4:].max() <= 1


KINDS = [
    pytest.param(480, 960, jpeg, id="tall"),
    pytest.param(960, 480, jpeg, id="wide"),
    pytest.param(160, 120, jpeg, id="tiny"),
    pytest.param(800, 600, lambda pixels: jpeg(pixels, grey=True), id="grey"),
    pytest.param(800, 600, cmyk_jpeg, id="four colours"),
    pytest.param(800, 600, lambda pixels: png(pixels, alpha=True), id="png with alpha"),
    *(
        pytest.param(
            800, 600, lambda pixels, turn=turn: jpeg(pixels, orientation=turn), id=f"exif orientation {turn}"
        )
        for turn in range(2, 9)
    ),
]


@pytest.mark.parametrize(("width", "height", "encode"), KINDS)
def test_boxes_lie_on_what_was_drawn(chain, width, height, encode):
    """In pixels of the original: 95 of 100 boxes within 2 px of truth, the median within half a pixel."""
    worst = []
    for number in range(8):
        plate = draw_plate(np.random.default_rng([UNSEEN, 7, number]), width=width, height=height)
        found = chain.find(encode(plate.pixels))
        for kind, box in zip(plate.classes, plate.boxes, strict=True):
            same = found.boxes[found.classes == kind]
            worst.append(np.abs(same - box).max(axis=1).min() if len(same) else np.inf)

    assert np.median(worst) <= 0.5
    assert np.mean(np.array(worst) <= 2) >= 0.95, sorted(worst)[-6:]


@pytest.mark.parametrize(("width", "height"), [(1920, 1080), (2560, 1920), (4000, 3000)])
def test_boxes_of_large_images_lie_on_what_was_drawn(chain, width, height):
    """Also where a network pixel is six of the original: 95 of 100 within 2 px."""
    errors = []
    for number in range(8):
        plate = draw_plate(np.random.default_rng([UNSEEN, 8, number]), width=width, height=height)
        found = chain.find(jpeg(plate.pixels))
        for kind, box in zip(plate.classes, plate.boxes, strict=True):
            same = found.boxes[found.classes == kind]
            errors.append(np.abs(same - box).max(axis=1).min() if len(same) else np.inf)

    assert np.mean(np.array(errors) <= 2) >= 0.95, sorted(errors)[-6:]


def _judged(boxes, scores, truth):
    """Score and whether it hit, best first; a truth counts once."""
    judged, used = [], set()
    for at in np.argsort(-scores):
        overlap = _overlap(boxes[at], truth)
        best = int(overlap.argmax()) if len(overlap) else -1
        hit = best >= 0 and overlap[best] >= 0.5 and best not in used
        used |= {best} if hit else set()
        judged.append((float(scores[at]), hit))
    return judged


def _overlap(box, others):
    size = np.clip(np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2]), 0, None).prod(
        axis=1
    )
    return size / ((box[2:] - box[:2]).prod() + (others[:, 2:] - others[:, :2]).prod(axis=1) - size)


def _average_precision(judged, truths):
    """Area under precision over recall, precision made falling."""
    right = np.array([hit for _, hit in sorted(judged, reverse=True)], float)
    precision = right.cumsum() / np.arange(1, len(right) + 1)
    recall = right.cumsum() / truths
    falling = np.maximum.accumulate(precision[::-1])[::-1]
    return float(np.sum(np.diff(np.concatenate([[0], recall])) * falling))
