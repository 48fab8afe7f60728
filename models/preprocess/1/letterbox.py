"""From the bytes of an image to the network's input: decode, turn upright, fit into the square, normalise.

A point maps as `network = original * scale + pad`, in pixels from the top-left corner, exactly: scale and pad
are those of what was done to the pixels, so reducing and rounding move no box.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np
from header import Header, ImageRefused, read_header

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIDE = 640
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
_REDUCED = {
    1: (cv2.IMREAD_GRAYSCALE, cv2.IMREAD_COLOR),
    2: (cv2.IMREAD_REDUCED_GRAYSCALE_2, cv2.IMREAD_REDUCED_COLOR_2),
    4: (cv2.IMREAD_REDUCED_GRAYSCALE_4, cv2.IMREAD_REDUCED_COLOR_4),
    8: (cv2.IMREAD_REDUCED_GRAYSCALE_8, cv2.IMREAD_REDUCED_COLOR_8),
}
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """Pixels as stored (grey, or BGR), each of them `reduction` pixels of the file wide and high."""

    header: Header
    pixels: NDArray[np.uint8]
    reduction: int


def decode(data: bytes, *, max_side: int, side: int = SIDE) -> Decoded:
    """Decode no more than a square of `side` pixels needs: JPEG is reduced while it is decoded.

    Raises:
        ImageRefused: what is wrong with the bytes; a size above `max_side` before any pixel is decoded.
    """
    header = read_header(data, max_side=max_side)
    reduction = 1
    if header.format == "JPEG":
        longest = max(header.width, header.height)
        reduction = next(n for n in (8, 4, 2, 1) if n == 1 or longest >= n * side)
    flags = _REDUCED[reduction][not header.grey] | cv2.IMREAD_IGNORE_ORIENTATION
    try:
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    except cv2.error:
        pixels = None
    if pixels is None:
        size = f"{header.width}x{header.height} px"
        raise ImageRefused(
            "corrupt_image", f"{header.format} of {size} cannot be decoded from {len(data)} bytes"
        )
    return Decoded(header=header, pixels=pixels, reduction=reduction)


def letterbox(decoded: Decoded, *, side: int = SIDE) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """The upright pixels scaled so that the longer side is `side`, and the geometry row that tells how."""
    height, width = decoded.pixels.shape[:2]
    ratio = side / max(height, width)
    fitted = max(1, round(width * ratio)), max(1, round(height * ratio))
    method = cv2.INTER_AREA if ratio < 0.5 else cv2.INTER_LINEAR  # noqa: PLR2004 (linear skips pixels below a half)
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
