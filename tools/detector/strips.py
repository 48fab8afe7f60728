"""Strips of pixels along the sides of boxes, as `RoiAlign` with half-pixel coordinates cuts them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np

from detector.network import ACROSS, ALONG, BEYOND, REACH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from detector.data import Examples

    Strips = tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[np.float32]]


def cut_strips(examples: Examples, seed: int, *, stage: int, errors_px: tuple[float, float]) -> Strips:
    """The four strips of every object, cut around its box moved at random; each with its offset and reach.

    A box is moved by normal errors of the first deviation in `errors_px`, and once more by the second; both
    grow with the box. The offset is what `side_offset` should answer.
    """
    rng = np.random.default_rng(seed)
    strips, offsets, reaches = [], [], []
    fixed, share = REACH[stage]
    for pixels, boxes, classes in zip(examples.pixels, examples.boxes, examples.classes, strict=True):
        for box in boxes[classes >= 0]:
            for deviation in errors_px:
                size = np.tile(box[2:] - box[:2], 2)
                reach = fixed + share * size
                error = np.clip(rng.normal(0, deviation * (1 + size / 50)), -0.9 * reach, 0.9 * reach)
                moved = box + np.where(size > 8, error, 0)  # noqa: PLR2004 (a smaller box could turn over)
                reach = fixed + share * np.tile(moved[2:] - moved[:2], 2)
                strips.append(_cut(pixels, moved, reach, ALONG[stage]))
                offsets.append((box - moved) * (1, 1, -1, -1) / reach)
                reaches.append(reach)
    flat = (np.concatenate(array).astype(np.float32) for array in (offsets, reaches))
    return np.concatenate(strips), *flat


def _cut(
    pixels: NDArray[np.uint8], box: NDArray[np.float32], reach: NDArray[np.float32], count: int
) -> NDArray[np.uint8]:
    """Left, top, right, bottom: (4, `count`, ACROSS, 3), from outside to inside."""
    across = (np.arange(ACROSS) + 0.5) / ACROSS * 2 - 1
    along = (np.arange(count) + 0.5) / count
    left, top, right, bottom = box
    down = (top - BEYOND + along * (bottom - top + 2 * BEYOND))[:, None]
    over = (left - BEYOND + along * (right - left + 2 * BEYOND))[:, None]
    places = (
        (left + across * reach[0], down),
        (over, top + across * reach[1]),
        (right - across * reach[2], down),
        (over, bottom - across * reach[3]),
    )
    maps = [
        [np.broadcast_to(place - 0.5, (count, ACROSS)).astype(np.float32) for place in pair]
        for pair in places
    ]
    return np.stack(
        [cv2.remap(pixels, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE) for x, y in maps]
    )
