"""Colours and sizes of pictures; dark, as boards are usually seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from zlib import crc32

PAGE: Final = "#0f1115"
PANEL: Final = "#181b20"
EDGE: Final = "#2b2f37"
GRID: Final = "#2b2f37"
TEXT: Final = "#d5d9e0"
FAINT: Final = "#8e96a3"
EMPTY: Final = "#22262d"

SIZE: Final = 8.0
"""Points of ordinary text; at 100 dots an inch, 11 dots high."""
DOTS_PER_INCH: Final = 100

# Hues of Okabe and Ito come first, which colour-blind people distinguish (dashboards/palette.py).
_BY_NAME: Final = (
    "#56B4E9",
    "#E69F00",
    "#2FBF8F",
    "#CC79A7",
    "#F0E442",
    "#E8662F",
    "#9B7EDE",
    "#3CC8D8",
    "#C9A66B",
    "#7FA650",
    "#F28CB1",
    "#4E79C4",
)


def colours_of(names: Iterable[str], fixed: Mapping[str, str | None]) -> dict[str, str]:
    """A colour for every name, by the name: mostly the same in every picture."""
    colours: dict[str, str] = {}
    for name in sorted(names):
        if own := fixed.get(name):
            colours[name] = own
            continue
        # Python's own `hash` of a text differs from process to process.
        start = crc32(name.encode()) % len(_BY_NAME)
        order = [_BY_NAME[(start + offset) % len(_BY_NAME)] for offset in range(len(_BY_NAME))]
        colours[name] = next((one for one in order if one not in colours.values()), order[0])
    return colours
