"""Recognises a file by its first bytes, and refuses formats that are not read."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING

from jpeg_header import read_jpeg_header
from png_header import read_png_header
from refusal import ImageRefused

if TYPE_CHECKING:
    from header import Header
    from settings import Settings

_ALLOWED = "JPEG and PNG are read"
_JPEG, _PNG = b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n"
_OTHERS = tuple(
    (re.compile(start, re.DOTALL), name)
    for start, name in (
        (rb"GIF8", "GIF"),
        (rb"BM", "BMP"),
        (rb"II[*+]\0|MM\0[*+]", "TIFF"),
        (rb"RIFF....WEBP", "WebP"),
        (rb"....ftypavi[fs]", "AVIF"),
        (rb"....ftyp(hei|hev|mif1|msf1)", "HEIC"),
        (rb"\0\0\0\x0cjP  |\xff\x4f\xff\x51", "JPEG 2000"),
        (rb"\0\0\0\x0cJXL |\xff\x0a", "JPEG XL"),
        (rb"%PDF", "PDF"),
        (rb"data:|/9j/|iVBORw0KGgo", "an image as base64 text"),
        (rb"\s*<", "XML or HTML"),
    )
)


def read_header(data: bytes, settings: Settings) -> Header:
    """The header of a JPEG or PNG.

    Raises:
        ImageRefused: `empty_image`, `unsupported_format`, `corrupt_image`, or `too_large` when the file or
            a side is longer than `settings` allow.
    """
    if not data:
        raise ImageRefused("empty_image", f"0 bytes; {_ALLOWED}")
    if len(data) > settings.max_bytes:
        raise ImageRefused("too_large", f"{len(data)} bytes, the limit is {settings.max_bytes} bytes")
    try:
        if data.startswith(_JPEG):
            header = read_jpeg_header(data)
        elif data.startswith(_PNG):
            header = read_png_header(data)
        else:
            raise ImageRefused("unsupported_format", f"{_guess(data)}; {_ALLOWED}")
    except (struct.error, IndexError):
        raise ImageRefused("corrupt_image", f"the {len(data)} bytes end inside the header") from None
    size = f"{header.width}x{header.height} px"
    if max(header.width, header.height) > settings.max_side:
        raise ImageRefused("too_large", f"{size}, the limit is {settings.max_side} px a side")
    if min(header.width, header.height) < 1:
        raise ImageRefused("corrupt_image", f"{header.format} header says {size}")
    return header


def _guess(data: bytes) -> str:
    start = data[:64]
    for pattern, name in _OTHERS:
        if pattern.match(start):
            return f"{name} of {len(data)} bytes"
    return f"{len(data)} bytes that begin with {data[:4].hex(' ')}"
