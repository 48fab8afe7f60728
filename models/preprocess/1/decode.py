"""Decodes the bytes of an image to 8 bits a colour, and refuses those that are damaged."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import simplejpeg
from refusal import ImageRefused
from sniff import read_header

if TYPE_CHECKING:
    from header import Header
    from numpy.typing import NDArray
    from settings import Settings

SIDE = 640
_SENSOR_BITS = (8, 10, 12, 14, 16)
_REDUCED = {
    1: (cv2.IMREAD_GRAYSCALE, cv2.IMREAD_COLOR),
    2: (cv2.IMREAD_REDUCED_GRAYSCALE_2, cv2.IMREAD_REDUCED_COLOR_2),
    4: (cv2.IMREAD_REDUCED_GRAYSCALE_4, cv2.IMREAD_REDUCED_COLOR_4),
}

# What TurboJPEG refuses, or libjpeg warns of, although every pixel is there.
_HABIT = re.compile(
    "Could not determine subsampling|Invalid SOS parameters"
    "|Unknown Adobe color transform|unknown JFIF revision"
)
_PADDING = re.compile(r" (\d\d?) extraneous bytes before marker 0xd9")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """Pixels as stored (grey, or BGR), each of them `reduction` pixels of the file wide and high."""

    header: Header
    pixels: NDArray[np.uint8]
    reduction: int


def decode(data: bytes, settings: Settings, *, side: int = SIDE) -> Decoded:
    """Decode not much more than a square of `side` pixels needs: JPEG is reduced while it is decoded.

    Raises:
        ImageRefused: what is wrong with the bytes; a size above the limits before any pixel is decoded.
    """
    header = read_header(data, settings)
    if header.format == "PNG":
        return Decoded(header=header, pixels=_decode_png(data, header), reduction=1)
    longest = max(header.width, header.height)
    reduction = next(n for n in (4, 2, 1) if n == 1 or longest >= n * side)
    return Decoded(header=header, pixels=_decode_jpeg(data, header, reduction, settings), reduction=reduction)


def _decode_jpeg(data: bytes, header: Header, reduction: int, settings: Settings) -> NDArray[np.uint8]:
    """By TurboJPEG, which reports damage; OpenCV reads more and reports nothing."""
    try:
        pixels: NDArray[np.uint8] = simplejpeg.decode_jpeg(
            data,
            "GRAY" if header.grey else "BGR",
            min_height=-(-header.height // reduction),
            min_width=-(-header.width // reduction),
            min_factor=reduction,
            strict=not settings.decode_damaged,
        )
    except ValueError as error:
        if settings.decode_damaged or _is_habit(str(error), data):
            return _decode_by_opencv(data, header, _REDUCED[reduction][not header.grey])
        raise _corrupt(header, data, str(error)) from None
    return pixels[..., 0] if header.grey else pixels


def _is_habit(warning: str, data: bytes) -> bool:
    """Whether a warning is about the way an encoder writes, and not about damage."""
    padding = _PADDING.search(warning)
    if padding:  # some cameras fill up with zeros
        return re.search(rb"\0{%d}\xff+\xd9" % int(padding[1]), data) is not None
    return _HABIT.search(warning) is not None


def _decode_png(data: bytes, header: Header) -> NDArray[np.uint8]:
    flags = cv2.IMREAD_GRAYSCALE if header.grey else cv2.IMREAD_COLOR
    pixels = _decode_by_opencv(data, header, flags | cv2.IMREAD_ANYDEPTH)
    if pixels.dtype == np.uint8:
        return pixels
    # Cameras of 10 to 14 bits write their values as they are into 16.
    used = int(pixels.max()).bit_length()
    bits = next(bits for bits in _SENSOR_BITS if used <= bits)
    return (pixels >> (bits - 8)).astype(np.uint8)


def _decode_by_opencv(data: bytes, header: Header, flags: int) -> NDArray[Any]:
    try:
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), flags | cv2.IMREAD_IGNORE_ORIENTATION)
    except cv2.error:
        pixels = None
    if pixels is None:
        raise _corrupt(header, data, "the data is incomplete or wrong")
    return pixels


def _corrupt(header: Header, data: bytes, why: str) -> ImageRefused:
    size = f"{header.width}x{header.height} px"
    return ImageRefused(
        "corrupt_image", f"{header.format} of {size} cannot be decoded from {len(data)} bytes: {why}"
    )
