"""Drawn plates as the network sees them, with their boxes in network pixels."""

from __future__ import annotations

import functools
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np
from decode import decode
from letterbox import PAD, letterbox
from settings import Settings

from tritonobs.extensions.lab.load.images import jpeg, png
from tritonobs.extensions.lab.load.plates import draw_plate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Drawn = tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.int64]]

MAX_OBJECTS = 12
_BLURRED, _LARGE, _GREY, _PNG = 0.2, 0.4, 0.25, 0.3  # shares of the plates
_UNLIMITED = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """`pixels` (n, side, side, 3), red first; `boxes` (n, MAX_OBJECTS, 4); `classes` -1 if none."""

    pixels: NDArray[np.uint8]
    boxes: NDArray[np.float32]
    classes: NDArray[np.int32]


def draw_examples(seed: int, count: int, *, side: int) -> Examples:
    """`count` plates of all shapes, sizes and encodings, through the steps of `preprocess`."""
    with ProcessPoolExecutor() as pool:
        drawn = list(pool.map(functools.partial(_draw, seed, side), range(count), chunksize=16))
    boxes = np.zeros((count, MAX_OBJECTS, 4), np.float32)
    classes = np.full((count, MAX_OBJECTS), -1, np.int32)
    for i, (_, its_boxes, its_classes) in enumerate(drawn):
        boxes[i, : len(its_boxes)] = its_boxes
        classes[i, : len(its_classes)] = its_classes
    return Examples(pixels=np.stack([pixels for pixels, _, _ in drawn]), boxes=boxes, classes=classes)


def _draw(seed: int, side: int, number: int) -> Drawn:
    """One plate; things on it have the size that they have in a picture of 640 pixels."""
    cv2.setNumThreads(1)
    rng = np.random.default_rng([seed, number])
    share = rng.random()
    low, high = (0.1, 0.6) if share < _BLURRED else (0.6, 2.4) if share < 1 - _LARGE else (2.4, 6.5)
    longer = side * np.exp(rng.uniform(np.log(low), np.log(high)))
    shorter = longer * np.exp(rng.uniform(np.log(0.3), 0))
    width, height = (max(24, round(s)) for s in rng.permutation([longer, shorter]))
    plate = draw_plate(rng, width=width, height=height, zoom=640 / side)
    grey = bool(rng.random() < _GREY)
    data = (
        png(plate.pixels, grey=grey)
        if rng.random() < _PNG
        else jpeg(plate.pixels, grey=grey, quality=int(rng.integers(70, 97)))
    )
    fitted, geometry = letterbox(decode(data, Settings(max_side=_UNLIMITED), side=side), side=side)
    fitted = np.broadcast_to(fitted[..., None], (*fitted.shape, 3)) if grey else fitted[..., ::-1]
    pixels = np.full((side, side, 3), PAD, np.uint8)
    high_px, wide_px = fitted.shape[:2]
    top, left = (side - high_px) // 2, (side - wide_px) // 2
    pixels[top : top + high_px, left : left + wide_px] = fitted
    scale, pad = geometry[:2], geometry[2:4]
    boxes = plate.boxes.reshape(-1, 2, 2) * scale + pad
    return pixels, boxes.reshape(-1, 4), plate.classes
