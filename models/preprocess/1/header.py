"""The header of an image file."""

from __future__ import annotations

from dataclasses import dataclass

UPRIGHT = 1
MOST_PARTS = 2000
"""The most segments or chunks before the pixels; the largest colour profile takes 256."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Its size as stored, bits a colour, and the EXIF orientation (1 to 8) that turns it upright."""

    format: str
    width: int
    height: int
    grey: bool
    bits: int = 8
    orientation: int = UPRIGHT
