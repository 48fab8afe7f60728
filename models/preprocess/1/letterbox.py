"""From decoded pixels to the network's input: turn upright, fit into the square, normalise.

A point maps as `network = original * scale + pad`, in pixels from the top-left corner, exactly: scale and pad
are those of what was done to the pixels, so reducing and rounding move no box.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np
from decode import SIDE

if TYPE_CHECKING:
    from decode import Decoded
    from numpy.typing import NDArray

PAD = 114
GEOMETRY = ("scale_x", "scale_y", "pad_x", "pad_y", "width", "height")
"""The numbers of a geometry row; width and height are those of the upright original."""

MEAN = np.array(
    [0.485, 0.456, 0.406], np.float32
)  # of red, green, blue; what networks are usually trained with
STD = np.array([0.229, 0.224, 0.225], np.float32)
"""Of red, green and blue between 0 and 1: the usual ones of ImageNet."""
_GAIN = 1 / (255 * STD)
_OFFSET = -MEAN / STD
_PADDING = PAD * _GAIN + _OFFSET
_TURNS = {
    1: (False, (False, False)),
    2: (False, (True, False)),
    3: (False, (True, True)),
    4: (False, (False, True)),
    5: (True, (False, False)),
    6: (True, (True, False)),
    7: (True, (True, True)),
    8: (True, (False, True)),
}
"""By EXIF orientation: whether to swap the axes, and then which of (x, y) to mirror."""


def letterbox(decoded: Decoded, *, side: int = SIDE) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """The upright pixels scaled so that the longer side is `side`, and the geometry row that describes it."""
    height, width = decoded.pixels.shape[:2]
    ratio = side / max(height, width)
    fitted = max(1, round(width * ratio)), max(1, round(height * ratio))
    method = cv2.INTER_AREA if ratio < 1 else cv2.INTER_LINEAR  # linear skips pixels when it reduces
    pixels = cv2.resize(decoded.pixels, fitted, interpolation=method)
    scale = np.array(fitted) / (np.array([width, height]) * decoded.reduction)
    original = np.array([decoded.header.width, decoded.header.height])
    transposed, mirrored = _TURNS[decoded.header.orientation]
    if transposed:
        pixels, scale, original = cv2.transpose(pixels), scale[::-1], original[::-1]
    if any(mirrored):
        pixels = cv2.flip(pixels, {(True, False): 1, (False, True): 0, (True, True): -1}[mirrored])
    shape = np.array(pixels.shape[1::-1])
    # Reducing rounds the last pixel of a row up; on a mirrored axis that excess lies before the image.
    pad = (side - shape) // 2 + (shape - scale * original) * mirrored
    return pixels, np.concatenate([scale, pad, original]).astype(np.float32)


def normalise(pixels: NDArray[np.uint8], out: NDArray[np.float32]) -> None:
    """Write fitted pixels into `out` (3, side, side): red, green, blue; padded; mean 0 and deviation 1."""
    side = out.shape[1]
    height, width = pixels.shape[:2]
    top, left = (side - height) // 2, (side - width) // 2
    planes = cv2.split(pixels)[::-1] if pixels.ndim == 3 else (pixels,) * 3  # noqa: PLR2004 (BGR)
    for plane, image, gain, offset, padding in zip(out, planes, _GAIN, _OFFSET, _PADDING, strict=True):
        plane[:top] = plane[top + height :] = padding
        plane[top : top + height, :left] = plane[top : top + height, left + width :] = padding
        content = plane[top : top + height, left : left + width]
        np.multiply(image, gain, out=content)
        np.add(content, offset, out=content)
