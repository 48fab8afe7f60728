"""Durations, ratios and sizes: parse what people write, print what Prometheus reads.

Objectives are kept as `Decimal` from the text on: 100 - 99.9 is 0.1, not 0.09999999999999432.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

_DURATION_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_DURATION = re.compile(r"(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?")


def parse_duration(text: str) -> Decimal:
    """Seconds from Prometheus' own notation: `250ms`, `5m`, `1h30m`, `30d`.

    Raises:
        ValueError: the text is no duration; the message says what is allowed.
    """
    match = _DURATION.fullmatch(text.strip())
    if not match or not any(match.groups()):
        raise ValueError(f"{text!r} is no duration; write one like 250ms, 30s, 5m, 1h30m or 30d")
    values = zip(("w", "d", "h", "m", "s", "ms"), match.groups(), strict=True)
    milliseconds = sum(_DURATION_UNITS[unit] * int(count) for unit, count in values if count)
    return Decimal(milliseconds) / 1000


def format_duration(seconds: Decimal | float) -> str:
    """The shortest Prometheus duration for a whole number of milliseconds: 5400 is `1h30m`.

    The largest unit used is the day, so that a period of 30 days reads `30d`, not `4w2d`.
    """
    rest = int((Decimal(str(seconds)) * 1000).to_integral_value())
    if rest == 0:
        return "0s"
    text = ""
    for unit in ("d", "h", "m", "s", "ms"):
        count, rest = divmod(rest, _DURATION_UNITS[unit])
        text += f"{count}{unit}" if count else ""
    return text


def parse_ratio(text: str) -> Decimal:
    """A share of one from `99.9%` or `0.999`; 0 and 1 are allowed here, callers narrow it.

    Raises:
        ValueError: the text is no share between 0 and 1.
    """
    cleaned = text.strip()
    try:
        value = Decimal(cleaned[:-1]) / 100 if cleaned.endswith("%") else Decimal(cleaned)
    except InvalidOperation:
        raise ValueError(f"{text!r} is no share; write 99.9% or 0.999") from None
    if not value.is_finite() or not 0 <= value <= 1:
        raise ValueError(f"{text!r} is not between 0 and 1 (0% and 100%)")
    return value


def format_number(value: Decimal | float) -> str:
    """A number as PromQL and the text exposition read it: no exponent, no trailing zeros, never NaN.

    Raises:
        ValueError: the value is not finite.
    """
    number = Decimal(str(value))
    if not number.is_finite():
        raise ValueError(f"{value!r} is no finite number")
    text = f"{abs(number) if number == 0 else number:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def format_percent(ratio: Decimal | float) -> str:
    """A ratio as people say it: 0.999 is `99.9%`."""
    return format_number(Decimal(str(ratio)) * 100) + "%"


def format_latency(seconds: float) -> str:
    """A latency with the unit people use at that size: `0.85 ms`, `85 ms`, `1.2 s`."""
    if seconds >= 999.5:  # noqa: PLR2004 (from here on three digits would need an exponent)
        return f"{seconds:.0f} s"
    if seconds >= 0.9995:  # noqa: PLR2004 (likewise: what rounds to 1000 ms is a second)
        return f"{seconds:.3g} s"
    return f"{seconds * 1000:.3g} ms"
