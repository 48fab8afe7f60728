"""Durations, moments, ratios, sizes, addresses: parse what people write, print what Prometheus reads.

Objectives are kept as `Decimal` from the text on: 100 - 99.9 is 0.1, not 0.09999999999999432. Every number
from outside comes through `parse_number`, which refuses sizes that arithmetic or formatting would spell out
as gigabytes of digits.
"""

from __future__ import annotations

import re
from datetime import datetime, timezone, tzinfo
from decimal import Decimal

MAX_DIGITS = 40
"""The most characters of a number."""
MAX_EXPONENT = 20
"""Numbers but 0 are at least 1e-20 and below 1e21."""
MAX_SECONDS = 9_223_372_036
"""The longest duration, 292 years: Prometheus counts in nanoseconds of 63 bits and refuses longer ones."""
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_FIRST_YEAR, _LAST_YEAR = 1970, 9000
_SHOWN = 60
_DURATION_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_DURATION = re.compile("".join(rf"(?:([0-9]{{1,15}}){unit})?" for unit in ("w", "d", "h", "m", "s", "ms")))


def parse_number(text: str) -> Decimal:
    """A finite number in digits of ASCII, of a size that is cheap to calculate with.

    Raises:
        ValueError: the text is none, has more than `MAX_DIGITS` characters, or is beyond 1e-20 to 1e21.
    """
    cleaned = text.strip()
    if len(cleaned) > MAX_DIGITS or not _NUMBER.fullmatch(cleaned):
        raise ValueError(f"{_short(text)} is not a number of at most {MAX_DIGITS} digits")
    number = Decimal(cleaned)
    if number and not -MAX_EXPONENT <= number.adjusted() <= MAX_EXPONENT:
        raise ValueError(f"{_short(text)} is out of range; allowed are 1e-{MAX_EXPONENT} to 1e{MAX_EXPONENT}")
    return number or Decimal(0)


def parse_duration(text: str) -> Decimal:
    """Seconds from Prometheus' own notation: `250ms`, `5m`, `1h30m`, `30d`.

    Raises:
        ValueError: the text is not a duration, or is longer than `MAX_SECONDS`; the message says what is
            allowed.
    """
    match = _DURATION.fullmatch(text.strip())
    if not match or not any(match.groups()):
        raise ValueError(f"{_short(text)} is not a duration; write one like 250ms, 30s, 5m, 1h30m or 30d")
    values = zip(("w", "d", "h", "m", "s", "ms"), match.groups(), strict=True)
    milliseconds = sum(_DURATION_UNITS[unit] * int(count) for unit, count in values if count)
    seconds = Decimal(milliseconds) / 1000
    if seconds > MAX_SECONDS:
        raise ValueError(f"{_short(text)} is too long; Prometheus reads durations of at most {MAX_SECONDS}s")
    return seconds


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


def parse_moment(text: str) -> datetime:
    """A moment with its time zone, as RFC 3339 writes it: `2026-11-11T00:00:00.5+08:00`, `2026-11-11T00:00Z`.

    The only reader of moments, for files, options and what programs answer. Seconds may be left out; digits
    below the microsecond are. A moment without a time zone has no meaning that two machines agree on.

    Raises:
        ValueError: anything else, also a year before 1970 or after 9000.
    """
    match = _MOMENT.fullmatch(text.strip())
    if not match:
        naive = any(_MOMENT.fullmatch(f"{text.strip()}{rest}") for rest in ("Z", "T00:00Z"))
        what = "has no time zone" if naive else "is not a moment"
        raise ValueError(
            f"{_short(text)} {what}; write one like 2026-11-11T00:00:00+08:00 or 2026-11-11T00:00Z"
        )
    date, clock, seconds, fraction, zone = match.groups()
    fraction = f".{fraction[:6]:0<6}" if fraction else ""
    zone = "+00:00" if zone in "Zz" else zone
    moment = datetime.fromisoformat(f"{date}T{clock}:{seconds or '00'}{fraction}{zone}")
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        raise ValueError(
            f"{_short(text)} is out of range; allowed are years from {_FIRST_YEAR} to {_LAST_YEAR}"
        )
    return moment


def parse_ratio(text: str) -> Decimal:
    """A share of one from `99.9%` or `0.999`; 0 and 1 are allowed here, callers narrow it.

    Raises:
        ValueError: the text is not a share between 0 and 1.
    """
    cleaned = text.strip()
    try:
        value = parse_number(cleaned[:-1]) / 100 if cleaned.endswith("%") else parse_number(cleaned)
    except ValueError:
        raise ValueError(f"{_short(text)} is not a share; write 99.9% or 0.999") from None
    if not 0 <= value <= 1:
        raise ValueError(f"{_short(text)} is not between 0 and 1 (0% and 100%)")
    return value


def format_number(value: Decimal | float) -> str:
    """A number as PromQL and the text exposition read it: no exponent, no trailing zeros, never NaN.

    Raises:
        ValueError: the value is not finite.
    """
    number = Decimal(str(value))
    if not number.is_finite():
        raise ValueError(f"{value!r} is not a finite number")
    text = f"{abs(number) if number == 0 else number:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def format_percent(ratio: Decimal | float) -> str:
    """A ratio as people say it: 0.999 is `99.9%`."""
    return format_number(Decimal(str(ratio)) * 100) + "%"


def format_latency(seconds: float) -> str:
    """A latency with the unit people use at that size: `850 µs`, `85 ms`, `1.2 s`."""
    if seconds >= 999.5:  # noqa: PLR2004 (from here on three digits would need an exponent)
        return f"{seconds:.0f} s"
    if seconds >= 0.9995:  # noqa: PLR2004 (likewise: what rounds to 1000 ms is a second)
        return f"{seconds:.3g} s"
    if seconds >= 0.0009995 or seconds == 0:  # noqa: PLR2004 (likewise)
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds * 1e6:.3g} µs"


def format_clock(moment: float, zone: tzinfo = timezone.utc) -> str:
    """A Unix time as a time of day with its zone: `21:43:10 UTC`; `an unknown time` for NaN and its like."""
    return _written(moment, zone, "%H:%M:%S %Z")


def format_moment(moment: float, zone: tzinfo = timezone.utc) -> str:
    """A Unix time as date and time with its zone: `2026-05-01 21:43:10 UTC`; else as `format_clock` does."""
    return _written(moment, zone, "%Y-%m-%d %H:%M:%S %Z")


def _written(moment: float, zone: tzinfo, form: str) -> str:
    try:
        return datetime.fromtimestamp(moment, zone).strftime(form)
    except (ValueError, OverflowError, OSError):
        return "an unknown time"


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")


def version_order(version: str) -> tuple[int, str]:
    """What to sort versions of Triton by: their number, and before all of those what is none."""
    # Not by `int`, which refuses thousands of digits: versions are what a server says.
    digits = version.lstrip("0")
    return (len(digits), digits) if version.isascii() and version.isdigit() else (-1, version)


def host_port(host: str, port: int | str) -> str:
    """`host:port` of a URL or a target; an IPv6 address has brackets there."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def literal(text: str) -> str:
    """A string in double quotes, as PromQL and Alertmanager's matchers read it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
