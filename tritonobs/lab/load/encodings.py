"""Image bytes as cameras, phones and print shops write them, and bytes that are not a usable image.

OpenCV writes no CMYK and no EXIF orientation, so those markers are laid around what it does write.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Final

import cv2
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]

_START_OF_IMAGE = b"\xff\xd8"
_START_OF_SCAN = b"\xff\xda"
_PNG_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"


def jpeg(pixels: Pixels, *, quality: int = 92, orientation: int = 1, grey: bool = False) -> bytes:
    """A JPEG that a viewer shows as `pixels` (BGR), stored turned by EXIF `orientation` (1 to 8)."""
    stored = _stored(_as_grey(pixels) if grey else pixels, orientation)
    data = _encoded(".jpg", stored, [cv2.IMWRITE_JPEG_QUALITY, quality])
    if orientation == 1:
        return data
    exif = _segment(0xE1, b"Exif\0\0" + _tiff(orientation))
    return _START_OF_IMAGE + exif + data[2:]


def cmyk_jpeg(pixels: Pixels, *, quality: int = 95) -> bytes:
    """A four-colour JPEG as Adobe programs write it: inverted, one scan per ink."""
    inks = 255 - pixels[:, :, ::-1].astype(np.int16)
    black = inks.min(axis=2)
    planes = [255 - (inks[:, :, i] - black) * 255 // np.maximum(255 - black, 1) for i in range(3)] + [
        255 - black
    ]
    singles = [
        _encoded(".jpg", plane.astype(np.uint8), [cv2.IMWRITE_JPEG_QUALITY, quality]) for plane in planes
    ]
    quantisation, frame, huffman = (b"".join(_segments(singles[0], marker)) for marker in (0xDB, 0xC0, 0xC4))
    height_width = frame[5:9]
    components = b"".join(bytes([i, 0x11, 0]) for i in range(1, 5))
    adobe = _segment(0xEE, b"Adobe" + struct.pack(">HHHB", 100, 0, 0, 0))
    head = adobe + quantisation + _segment(0xC0, b"\x08" + height_width + b"\x04" + components) + huffman
    scans = b"".join(
        _segment(0xDA, bytes([1, i, 0, 0, 63, 0])) + _entropy_coded(single)
        for i, single in enumerate(singles, 1)
    )
    return _START_OF_IMAGE + head + scans + b"\xff\xd9"


def png(pixels: Pixels, *, alpha: bool = False, grey: bool = False, orientation: int = 1) -> bytes:
    """A PNG that a viewer shows as `pixels` (BGR); with `alpha`, opaque but for two corners."""
    stored = _stored(_as_grey(pixels) if grey else pixels, orientation)
    if alpha:
        cover = np.full(stored.shape[:2], 255, np.uint8)
        cover[:2, :2] = cover[-2:, -2:] = 128
        stored = np.dstack([stored, cover])
    data = _encoded(".png", stored, [cv2.IMWRITE_PNG_COMPRESSION, 1])
    if orientation == 1:
        return data
    end_of_header = len(_PNG_SIGNATURE) + 25
    return data[:end_of_header] + _chunk(b"eXIf", _tiff(orientation)) + data[end_of_header:]


def huge_png(width: int = 12_000, height: int = 8_000) -> bytes:
    """A whole, valid PNG of one bit a pixel: a few kilobytes that ask for a lot of memory."""
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" * (1 + (width + 7) // 8)) * height)
    return _PNG_SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", rows) + _chunk(b"IEND", b"")


def _truncated(rng: np.random.Generator) -> bytes:
    data = jpeg(rng.integers(0, 256, (48, 64, 3), np.uint8))
    return data[: int(rng.integers(len(data) // 2, len(data) - 2))]


BROKEN: Final[dict[str, Callable[[np.random.Generator], bytes]]] = {
    "corrupt_image": _truncated,
    "empty_image": lambda _: b"",
    "too_large": lambda _: huge_png(),
    "unsupported_format": lambda rng: b"GIF89a" + rng.bytes(64),
}
"""By the reason the models refuse them under: makers of bytes that are not a usable image."""


def _stored(upright: Pixels, orientation: int) -> Pixels:
    """What a camera stores so that EXIF `orientation` turns it upright."""
    turns: dict[int, Callable[[Pixels], Pixels]] = {
        1: lambda p: p,
        2: lambda p: p[:, ::-1],
        3: lambda p: p[::-1, ::-1],
        4: lambda p: p[::-1],
        5: lambda p: p.swapaxes(0, 1),
        6: lambda p: p.swapaxes(0, 1)[::-1],
        7: lambda p: p.swapaxes(0, 1)[::-1, ::-1],
        8: lambda p: p.swapaxes(0, 1)[:, ::-1],
    }
    return np.ascontiguousarray(turns[orientation](upright))


def _as_grey(pixels: Pixels) -> Pixels:
    return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY), np.uint8)


def _encoded(suffix: str, pixels: Pixels, options: list[int]) -> bytes:
    return cv2.imencode(suffix, pixels, options)[1].tobytes()


def _tiff(orientation: int) -> bytes:
    """The TIFF block of EXIF: one directory with the orientation (tag 0x0112, SHORT)."""
    return b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x0112, 3, 1, orientation, 0, 0)


def _segment(marker: int, body: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(body) + 2) + body


def _segments(data: bytes, wanted: int) -> list[bytes]:
    """The segments with the marker `wanted` that stand before the first scan."""
    found, at = [], 2
    while data[at : at + 2] != _START_OF_SCAN:
        end = at + 2 + struct.unpack_from(">H", data, at + 2)[0]
        if data[at + 1] == wanted:
            found.append(data[at:end])
        at = end
    return found


def _entropy_coded(data: bytes) -> bytes:
    """The scan of a one-component JPEG, without its header and the end marker."""
    start = data.index(_START_OF_SCAN)
    return data[start + 2 + struct.unpack_from(">H", data, start + 2)[0] : -2]


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
