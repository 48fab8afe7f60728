"""Reads the chunks of a PNG up to its pixels, in bounded work for any bytes."""

from __future__ import annotations

import struct

from exif import read_orientation
from header import MOST_PARTS, UPRIGHT, Header
from refusal import ImageRefused

_GREY = (0, 4)  # colour types without and with alpha


def read_png_header(data: bytes) -> Header:
    """The header of a PNG.

    Raises:
        ImageRefused: `corrupt_image`.
        struct.error: the bytes end inside the header.
    """
    kind, width, height, bits, colour = struct.unpack_from(">4sIIBB", data, 12)
    if kind != b"IHDR":
        raise ImageRefused("corrupt_image", f"PNG begins with chunk {kind!r} instead of IHDR")
    return Header(
        format="PNG",
        width=width,
        height=height,
        grey=colour in _GREY,
        bits=bits,
        orientation=_find_orientation(data, 33),
    )


def _find_orientation(data: bytes, at: int) -> int:
    for _ in range(MOST_PARTS):
        if at + 8 > len(data):
            return UPRIGHT
        length, kind = struct.unpack_from(">I4s", data, at)
        if kind == b"IDAT":
            return UPRIGHT
        if kind == b"eXIf":
            return read_orientation(data[at + 8 : at + 8 + length])
        at += 12 + length
    raise ImageRefused("corrupt_image", f"more than {MOST_PARTS} PNG chunks before the pixels")
