"""Reads what an image file says of itself before anything is decoded: format, size, colours, orientation."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # SOF0..SOF15 without DHT, JPG and DAC
_BARE = frozenset({0x01, *range(0xD0, 0xD9)})  # markers that carry no length
_KNOWN = {b"GIF8": "GIF", b"BM": "BMP", b"II*\0": "TIFF", b"MM\0*": "TIFF", b"RIFF": "WebP", b"%PDF": "PDF"}
_MARKER, _APP1 = 0xFF, 0xE1
_ORIENTATION, _SHORT = 0x0112, 3


class ImageRefused(Exception):  # noqa: N818 (reads as an event)
    """The bytes are no image that can be used; `reason` is from a small fixed set and begins the text."""

    def __init__(self, reason: str, detail: str) -> None:
        self.reason = reason
        super().__init__(f"{reason}: {detail}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What the file says: its size as stored, and the EXIF orientation (1 to 8) that turns it upright."""

    format: str
    width: int
    height: int
    grey: bool
    orientation: int = 1


def read_header(data: bytes, *, max_side: int) -> Header:
    """The header of a JPEG or PNG.

    Raises:
        ImageRefused: `empty_image`, `unsupported_format`, `corrupt_image`, or `too_large` when a side is
            longer than `max_side` pixels.
    """
    if not data:
        raise ImageRefused("empty_image", "0 bytes, expected a JPEG or PNG")
    try:
        if data[:3] == b"\xff\xd8\xff":
            header = _read_jpeg(data)
        elif data[:8] == _PNG_SIGNATURE:
            header = _read_png(data)
        else:
            raise ImageRefused("unsupported_format", f"{_guess(data)}, expected a JPEG or PNG")
    except (struct.error, IndexError):
        raise ImageRefused("corrupt_image", f"the {len(data)} bytes end inside the header") from None
    if max(header.width, header.height) > max_side:
        size = f"{header.width}x{header.height} px"
        raise ImageRefused("too_large", f"{size}, the limit is {max_side} px a side")
    if min(header.width, header.height) < 1:
        raise ImageRefused("corrupt_image", f"{header.format} header says {header.width}x{header.height} px")
    return header


def _guess(data: bytes) -> str:
    for start, name in _KNOWN.items():
        if data.startswith(start):
            return f"{name} of {len(data)} bytes"
    return f"{len(data)} bytes that begin with {data[:4].hex(' ')}"


def _read_jpeg(data: bytes) -> Header:
    """Walk the segments up to the frame header; EXIF stands before it."""
    at, orientation = 2, 1
    while True:
        if data[at] != _MARKER:
            raise ImageRefused("corrupt_image", f"no JPEG marker at byte {at} of {len(data)}")
        marker = data[at + 1]
        if marker == _MARKER:  # a fill byte
            at += 1
        elif marker in _BARE:
            at += 2
        elif marker in _FRAMES:
            height, width, components = struct.unpack_from(">HHB", data, at + 5)
            return Header(
                format="JPEG", width=width, height=height, grey=components == 1, orientation=orientation
            )
        elif marker in (0xD9, 0xDA):
            raise ImageRefused("corrupt_image", f"no JPEG frame header before byte {at} of {len(data)}")
        else:
            (length,) = struct.unpack_from(">H", data, at + 2)
            if marker == _APP1 and data[at + 4 : at + 10] == b"Exif\0\0":
                orientation = _read_orientation(data[at + 10 : at + 2 + length])
            at += 2 + length


def _read_png(data: bytes) -> Header:
    """The first chunk, then the chunks up to the pixels for `eXIf`."""
    kind, width, height, _, colour = struct.unpack_from(">4sIIBB", data, 12)
    if kind != b"IHDR":
        raise ImageRefused("corrupt_image", f"PNG begins with chunk {kind!r} instead of IHDR")
    at, orientation = 33, 1
    while at + 8 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        if kind == b"eXIf":
            orientation = _read_orientation(data[at + 8 : at + 8 + length])
        if kind in (b"eXIf", b"IDAT"):
            break
        at += 12 + length
    return Header(format="PNG", width=width, height=height, grey=colour in (0, 4), orientation=orientation)


def _read_orientation(tiff: bytes) -> int:
    """The orientation in an EXIF block; 1 when there is none or the block is damaged, as viewers do."""
    order = {b"II": "<", b"MM": ">"}.get(tiff[:2])
    if order is None:
        return 1
    try:
        (start,) = struct.unpack_from(order + "I", tiff, 4)
        (count,) = struct.unpack_from(order + "H", tiff, start)
        for entry in range(start + 2, start + 2 + 12 * count, 12):
            tag, kind, _, value = struct.unpack_from(order + "HHIH", tiff, entry)
            if tag == _ORIENTATION and kind == _SHORT:
                return int(value) if value in range(1, 9) else 1
    except struct.error:
        pass
    return 1
