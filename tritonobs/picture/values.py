"""Numbers as Grafana shows them: a value with its unit, few digits."""

from __future__ import annotations

import math
from typing import Final

_SECONDS: Final = (
    (1e-6, "µs", 1e6),
    (1e-3, "ms", 1e3),
    (1.0, "s", 1.0),
    (60.0, "min", 1 / 60),
    (3600.0, "h", 1 / 3600),
    (86400.0, "d", 1 / 86400),
)
_TIMES: Final = frozenset({"s", "dthms", "dtdhms"})
_LONG_SECONDS: Final = 120.0
_SHORT: Final = ((1.0, "", 1.0), (1e3, " K", 1e-3), (1e6, " M", 1e-6), (1e9, " G", 1e-9))
_BYTES: Final = tuple(
    (float(1024**power), f" {name}", 1 / 1024**power)
    for power, name in enumerate(("B", "KiB", "MiB", "GiB", "TiB"))
)
_PREFIXES: Final = ((1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"))
_SCALES: Final = {
    "short": _SHORT,
    "bytes": _BYTES,
    "hertz": tuple((size, f" {prefix}Hz", 1 / size) for size, prefix in _PREFIXES),
    "Bps": tuple((size, f" {prefix}B/s", 1 / size) for size, prefix in _PREFIXES),
}
_AFTER: Final = {
    "reqps": " req/s",
    "cps": " /s",
    "eps": " /s",
    "mpm": " /min",
    "epm": " /min",
    "opm": " /min",
    "reqpm": " req/min",
    "watt": " W",
    "celsius": " °C",
    "none": "",
    "percentunit": " %",
}
_DIGITS: Final = 3
_MOST_DECIMALS: Final = 4


def text_of(value: float, unit: str, decimals: int | None = None, *, like: float | None = None) -> str:
    """The value in its unit; `like` is a value whose scale it shares, so that an axis has one unit."""
    scale = abs(value if like is None else like)
    if unit in _TIMES:
        number, after = _scaled(value, scale, _SECONDS if scale >= _LONG_SECONDS else _SECONDS[:3])
        after = f" {after}"
    elif unit in _SCALES:
        number, after = _scaled(value, scale, _SCALES[unit])
    else:
        number, after = value * (100 if unit == "percentunit" else 1), _AFTER.get(unit, f" {unit}")
    return f"{_digits(number, decimals)}{after}"


def binary_step(span: float) -> float:
    """Bytes between two ticks: a power of two, four to seven of them in the span."""
    return 2.0 ** math.floor(math.log2(span / 4)) if span > 0 else 1.0


def _scaled(value: float, scale: float, units: tuple[tuple[float, str, float], ...]) -> tuple[float, str]:
    if scale == 0:
        first = next(one for one in units if one[0] >= 1)
        return value, first[1]
    # What three digits round up belongs to the next unit: 0.9996 s is 1 s and not 1000 ms.
    _, name, factor = next((one for one in reversed(units) if scale >= one[0] * 0.9995), units[0])
    return value * factor, name


def _digits(number: float, decimals: int | None) -> str:
    """Three digits that count, or as many decimals as asked for; no zeros at the end."""
    if decimals is None:
        size = math.floor(math.log10(abs(number))) if number else 0
        decimals = max(0, min(_MOST_DECIMALS, _DIGITS - 1 - size))
        text = f"{number:.{decimals}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{number:.{decimals}f}"
