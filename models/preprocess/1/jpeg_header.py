"""Reads the segments of a JPEG up to its pixels, in bounded work for any bytes."""

from __future__ import annotations

import re
import struct

from exif import read_orientation
from header import MOST_PARTS, UPRIGHT, Header
from refusal import ImageRefused

_MARKER = re.compile(rb"\xff+([^\xff])", re.DOTALL)  # fill bytes may stand before any marker
_BARE = frozenset({0x01, *range(0xD0, 0xD9)})  # markers that carry no length
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # SOF0..SOF15 without DHT, JPG and DAC
_PROGRESSIVE = frozenset({0xC2, 0xCA})
_READ = frozenset({0xC0, 0xC1, 0xC2, 0xC9, 0xCA})  # the others are lossless or hierarchical
_END, _SCAN, _APP1 = 0xD9, 0xDA, 0xE1
_EXIF = b"Exif\0\0"
_BITS, _COLOURS = 8, (1, 3, 4)
_MOST_SCANS = 64
"""10 are usual. A scan of no bytes takes as long to decode as any other."""


def read_jpeg_header(data: bytes) -> Header:
    """The header of a JPEG.

    Raises:
        ImageRefused: `unsupported_format`, `corrupt_image`, or `too_large` when there are too many scans.
        struct.error, IndexError: the bytes end inside the header.
    """
    at, frame, orientation = 2, None, None
    for _ in range(MOST_PARTS):
        found = _MARKER.match(data, at)
        if not found:
            data[at + 1]  # the end of the bytes is not a wrong marker
            raise ImageRefused("corrupt_image", f"no JPEG marker at byte {at} of {len(data)}")
        marker, at = found[1][0], found.end()
        if marker in _BARE:
            continue
        if marker == _SCAN and frame:
            break
        if marker in (_END, _SCAN):
            raise ImageRefused("corrupt_image", f"no JPEG frame header before byte {at} of {len(data)}")
        (length,) = struct.unpack_from(">H", data, at)
        if marker in _FRAMES:
            frame = marker, *struct.unpack_from(">BHHB", data, at + 2)
        elif marker == _APP1 and orientation is None and data.startswith(_EXIF, at + 2):
            orientation = read_orientation(data[at + 8 : at + length])
        at += length
    else:
        raise ImageRefused("corrupt_image", f"more than {MOST_PARTS} JPEG segments before the pixels")
    kind, bits, height, width, colours = frame
    _check_kind(kind, bits, colours)
    if kind in _PROGRESSIVE or data[at + 2] < colours:
        _check_scans(data.count(bytes([0xFF, _SCAN]), at - 2))
    return Header(
        format="JPEG", width=width, height=height, grey=colours == 1, orientation=orientation or UPRIGHT
    )


def _check_kind(kind: int, bits: int, colours: int) -> None:
    if kind not in _READ:
        raise ImageRefused("unsupported_format", "lossless or hierarchical JPEG, which is not read")
    if bits != _BITS:
        raise ImageRefused("unsupported_format", f"JPEG of {bits} bits a colour; {_BITS} are read")
    if colours not in _COLOURS:
        raise ImageRefused("unsupported_format", f"JPEG of {colours} colours; 1, 3 and 4 are read")


def _check_scans(scans: int) -> None:
    if scans > _MOST_SCANS:
        raise ImageRefused("too_large", f"JPEG of {scans} scans, the limit is {_MOST_SCANS}")
