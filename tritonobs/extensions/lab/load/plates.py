"""Draws plates as an inspection camera sees them: parts and defects on metal, with their true boxes.

Seeded: the same generator state gives the same plate. Class never follows from colour or brightness, only
from shape: a part is regular and has a hole (washer, hexagon nut, square flange), a defect is irregular and
has none (blot, scratch).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

CLASSES: Final = ("part", "defect")

_PART_SHARE = (0.045, 0.17)  # diameter as a share of the image's longer side
_DEFECT_SHARE = (0.035, 0.13)
_SMALLEST_PX = 9.0
_GAP_SHARE = 0.014  # room kept free between any two things, and to the edge of the image
_CONTRAST = 60.0
_TILE = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Plate:
    """A drawn plate.

    `pixels` is BGR, uint8, (height, width, 3). `boxes` is (n, 4): left, top, right, bottom in pixels, where
    the pixel in column i reaches from i to i + 1. `classes` is (n,), indices into `CLASSES`.
    """

    pixels: NDArray[np.uint8]
    boxes: NDArray[np.float64]
    classes: NDArray[np.int64]


def draw_plate(rng: np.random.Generator, *, width: int, height: int, zoom: float = 1.0) -> Plate:
    """Draw a plate of `width` times `height` pixels.

    Sizes of what lies on it follow the longer side, times `zoom`: what a camera nearer to the plate sees.
    """
    level = rng.uniform(70, 180)
    canvas = _metal(rng, width, height, level)
    boxes: list[NDArray[np.float64]] = []
    classes: list[int] = []
    wanted = [0] * int(rng.integers(2, 7)) + [1] * int(rng.integers(1, 5))
    for kind in wanted:
        outline = _place(rng, kind, boxes, width=width, height=height, zoom=zoom)
        if outline is None:
            continue
        _paint(canvas, outline, _colour(rng, level), rng.uniform(-0.05, 0.05, 2))
        boxes.append(_box(outline))
        classes.append(kind)
    canvas *= _light(rng, width, height)
    canvas += _grain(rng, width, height)
    return Plate(
        pixels=np.clip(canvas, 0, 255).astype(np.uint8),
        boxes=np.array(boxes, np.float64).reshape(-1, 4),
        classes=np.array(classes, np.int64),
    )


Outline = list["NDArray[np.float64]"]
"""Closed polygons in pixels: the outer one first, then the holes."""


def _place(
    rng: np.random.Generator,
    kind: int,
    taken: list[NDArray[np.float64]],
    *,
    width: int,
    height: int,
    zoom: float,
) -> Outline | None:
    """An outline of `kind` that touches nothing drawn before, or None when no room was found."""
    longer, shorter = max(width, height) * zoom, min(width, height)
    gap = max(_GAP_SHARE * longer, 1.5)
    low, high = (share * longer for share in (_DEFECT_SHARE if kind else _PART_SHARE))
    low = max(low, _SMALLEST_PX)
    high = max(min(high, shorter - 2 * gap), low)
    for _ in range(30):
        size = np.exp(rng.uniform(np.log(low), np.log(high)))
        shapes = _DEFECTS if kind else _PARTS
        outline = shapes[int(rng.integers(len(shapes)))](rng, size)
        left, top, right, bottom = _box(outline)
        room = np.array([width, height]) - 2 * gap - (right - left, bottom - top)
        if (room < 0).any():
            continue
        shift = gap + rng.uniform(0, 1, 2) * room - (left, top)
        outline = [polygon + shift for polygon in outline]
        box = _box(outline)
        if all((box[:2] > other[2:] + gap).any() or (box[2:] < other[:2] - gap).any() for other in taken):
            return outline
    return None


def _ring(radii: NDArray[np.float64], turn: float) -> NDArray[np.float64]:
    """A closed polygon around the origin, one corner per radius."""
    angles = turn + np.linspace(0, 2 * np.pi, len(radii), endpoint=False)
    return np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)


def _washer(rng: np.random.Generator, size: float) -> Outline:
    return [_ring(np.full(96, size / 2), 0.0), _ring(np.full(96, size / 2 * rng.uniform(0.4, 0.62)), 0.0)]


def _nut(rng: np.random.Generator, size: float) -> Outline:
    hole = _ring(np.full(96, size / 2 * rng.uniform(0.38, 0.52)), 0.0)
    return [_ring(np.full(6, size / 2), rng.uniform(0, np.pi)), hole]


def _flange(rng: np.random.Generator, size: float) -> Outline:
    hole = _ring(np.full(96, size / 2 * rng.uniform(0.3, 0.42)), 0.0)
    rounding = size * rng.uniform(0.06, 0.12)
    middles = _ring(np.full(4, size / 2 * 1.15 - rounding), 0.0).repeat(8, axis=0)
    arcs = _ring(np.full(32, rounding), -np.pi / 4)  # a quarter of a circle around each of the four middles
    return [(middles + arcs) @ _rotation(rng.uniform(0, np.pi)), hole]


def _blot(rng: np.random.Generator, size: float) -> Outline:
    angles = np.linspace(0, 2 * np.pi, 72, endpoint=False)
    waves = [rng.uniform(0.04, 0.13) * np.cos(n * angles + rng.uniform(0, 7)) for n in range(2, 6)]
    shape = _ring(size / 2 * (1 + np.sum(waves, axis=0)), 0.0) * (1.0, rng.uniform(0.6, 1.0))
    return [shape @ _rotation(rng.uniform(0, np.pi))]


def _scratch(rng: np.random.Generator, size: float) -> Outline:
    along = np.linspace(-1, 1, 24)
    bend = rng.uniform(0.2, 0.5) * np.sin(along * rng.uniform(1.2, 2.6) + rng.uniform(0, 7))
    spine = np.stack([along, bend - bend.mean()], axis=1) * size / 2
    half = max(size * rng.uniform(0.035, 0.07), 0.9) * np.sqrt(np.clip(1.2 - along**2, 0, 1))
    normal = np.gradient(spine, axis=0)[:, ::-1] * (-1, 1)
    normal *= (half / np.hypot(*normal.T))[:, None]
    shape = np.concatenate([spine + normal, (spine - normal)[::-1]])
    return [shape @ _rotation(rng.uniform(0.45, 1.1) * rng.choice([-1, 1]))]


_PARTS: list[Callable[[np.random.Generator, float], Outline]] = [_washer, _nut, _flange]
_DEFECTS: list[Callable[[np.random.Generator, float], Outline]] = [_blot, _scratch]


def _rotation(angle: float) -> NDArray[np.float64]:
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def _box(outline: Outline) -> NDArray[np.float64]:
    return np.concatenate([outline[0].min(axis=0), outline[0].max(axis=0)])


def _colour(rng: np.random.Generator, level: float) -> NDArray[np.float64]:
    """A colour that differs from `level` enough to be seen in grey, brighter or darker."""
    darker = rng.uniform(15, max(level - _CONTRAST, 16))
    brighter = rng.uniform(min(level + _CONTRAST, 244), 245)
    may_darken, may_brighten = level - _CONTRAST >= 15, level + _CONTRAST <= 245  # noqa: PLR2004 (the colour range)
    value = darker if may_darken and (not may_brighten or rng.random() < 0.5) else brighter  # noqa: PLR2004 (a coin)
    return np.clip(value + rng.uniform(-14, 14, 3), 5, 250)


def _metal(rng: np.random.Generator, width: int, height: int, level: float) -> NDArray[np.float32]:
    """Brushed metal, a little coloured."""
    brushed = cv2.blur(rng.normal(0, 1, (_TILE, _TILE)).astype(np.float32), (31, 1))
    tone = brushed * np.float32(rng.uniform(8, 26)) + np.float32(level)
    return _tiled(tone, width, height)[:, :, None] + rng.uniform(-10, 10, 3).astype(np.float32)


def _light(rng: np.random.Generator, width: int, height: int) -> NDArray[np.float32]:
    """Uneven light, the same in all channels."""
    spots = rng.uniform(0.88, 1.12, (4, 4)).astype(np.float32)
    field = cv2.resize(spots, (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(field, np.float32)[:, :, None]


def _grain(rng: np.random.Generator, width: int, height: int) -> NDArray[np.float32]:
    """Sensor noise, the same in all channels."""
    noise = rng.normal(0, rng.uniform(1, 4), (_TILE, _TILE)).astype(np.float32)
    return _tiled(noise, width, height)[:, :, None]


def _tiled(tile: NDArray[np.float32], width: int, height: int) -> NDArray[np.float32]:
    repeated: NDArray[np.float32] = np.tile(tile, (-(-height // _TILE), -(-width // _TILE)))
    return repeated[:height, :width]


def _paint(
    canvas: NDArray[np.float32], outline: Outline, colour: NDArray[np.float64], slope: NDArray[np.float64]
) -> None:
    """Blend a filled outline in, each pixel by the share of it that is covered."""
    left, top, right, bottom = _box(outline)
    x0, y0 = int(left) - 1, int(top) - 1
    width, height = int(right) + 2 - x0, int(bottom) + 2 - y0
    fine = 8 if max(width, height) < 256 else 2  # noqa: PLR2004 (a coarser edge is as exact on a large image)
    mask = np.zeros((height * fine, width * fine), np.uint8)
    # OpenCV puts whole numbers in the middle of a pixel, and `shift` makes them 1/256 of one.
    polygons = [np.round(((polygon - (x0, y0)) * fine - 0.5) * 256).astype(np.int32) for polygon in outline]
    cv2.fillPoly(mask, polygons, (255,), shift=8)
    cover = cv2.resize(mask, (width, height), interpolation=cv2.INTER_AREA).astype(np.float32) / 255
    crop = canvas[max(y0, 0) : y0 + height, max(x0, 0) : x0 + width]
    cover = cover[max(-y0, 0) :, max(-x0, 0) :][: crop.shape[0], : crop.shape[1], None]
    across = np.linspace(-slope[0], slope[0], crop.shape[1], dtype=np.float32)[None, :, None]
    down = np.linspace(-slope[1], slope[1], crop.shape[0], dtype=np.float32)[:, None, None]
    crop += cover * (colour.astype(np.float32) * (1 + across + down) - crop)
