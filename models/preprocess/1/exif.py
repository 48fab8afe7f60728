"""Which way up a camera held the image: the orientation in an EXIF block."""

from __future__ import annotations

import struct

from header import UPRIGHT

_ORIENTATION, _SHORT = 0x0112, 3
_MOST_BYTES = 1 << 16  # what a JPEG segment holds; a PNG chunk could hold much more


def read_orientation(tiff: bytes) -> int:
    """The orientation (1 to 8); 1 when there is none or the block is damaged, as viewers do."""
    tiff = tiff[:_MOST_BYTES]
    order = {b"II": "<", b"MM": ">"}.get(tiff[:2])
    if order is None:
        return UPRIGHT
    try:
        (start,) = struct.unpack_from(order + "I", tiff, 4)
        (count,) = struct.unpack_from(order + "H", tiff, start)
        for entry in range(start + 2, start + 2 + 12 * count, 12):
            tag, kind, _, value = struct.unpack_from(order + "HHIH", tiff, entry)
            if tag == _ORIENTATION and kind == _SHORT:
                return int(value) if value in range(1, 9) else UPRIGHT
    except struct.error:
        pass
    return UPRIGHT
