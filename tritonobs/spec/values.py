"""The kinds of value a fleet file holds: text in, exact numbers out, a sentence for what is allowed."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, WithJsonSchema

from tritonobs.findings import found
from tritonobs.outside import web_parts
from tritonobs.units import (
    format_duration,
    format_number,
    format_percent,
    parse_duration,
    parse_moment,
    parse_number,
    parse_ratio,
)

OBJECT_KIND: Final = r"^[A-Z][A-Za-z0-9]{0,62}$"
API_VERSION: Final = r"^([a-z0-9][a-z0-9.-]*/)?v[0-9]+((alpha|beta)[0-9]+)?$"
DNS_NAME: Final = r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$"
"""Objects of Kubernetes: their kind, group and version, and names."""
MIN_QPS: Final = Decimal("0.001")
"""One request in a quarter of an hour: rates are measured over minutes, and below this they are noise."""
MAX_QPS: Final = Decimal(1_000_000)
"""No single Triton server answers a million requests a second; a larger limit is a slip of the keyboard."""
MIN_TOKENS: Final = MIN_QPS
MAX_TOKENS: Final = Decimal(1_000_000_000)
MIN_CALLS: Final = Decimal("0.000001")
MAX_CALLS: Final = Decimal(10_000)
MIN_SECONDS: Final = Decimal("0.000001")
MAX_SECONDS: Final = Decimal(3650 * 86_400)
"""Ten years: no fleet file plans beyond it, and Prometheus reads durations of that size."""
MIN_OBJECTIVE: Final = Decimal("0.5")
UNLIMITED: Final = Decimal("Infinity")
"""The value of `qps_limit: unlimited`: no limit here, even if one is inherited."""
_VERSION = re.compile(r"^[1-9][0-9]{0,18}$")


def parse_qps(value: object) -> Decimal:
    """Requests a second: from `MIN_QPS` to `MAX_QPS`, or the word `unlimited`.

    Raises:
        ValueError: anything else.
    """
    return _parse_rate(value, MIN_QPS, MAX_QPS, "requests")


def parse_tokens(value: object) -> Decimal:
    """Tokens a second: from `MIN_TOKENS` to `MAX_TOKENS`, or the word `unlimited`.

    Raises:
        ValueError: anything else.
    """
    return _parse_rate(value, MIN_TOKENS, MAX_TOKENS, "tokens")


def _parse_rate(value: object, least: Decimal, most: Decimal, things: str) -> Decimal:
    if value in ("unlimited", UNLIMITED):
        return UNLIMITED
    return number_field(value, least, most, f"{things} per second", "or unlimited")


def parse_calls(value: object) -> Decimal:
    """Calls per request, from `MIN_CALLS` to `MAX_CALLS`.

    Raises:
        ValueError: anything else.
    """
    return number_field(value, MIN_CALLS, MAX_CALLS, "calls per request")


def number_field(value: object, least: Decimal, most: Decimal, unit: str, *more: str) -> Decimal:
    """The value as a number in these bounds; every number of the fleet file has a least and a most."""
    number = _parsed(value, parse_number)
    if number is None or not least <= number <= most:
        span = f"from {format_number(least)} to {format_number(most)}"
        allowed = ", ".join((f"allowed is a number {span} ({unit})", *more))
        raise ValueError(f"found {found(value)}; {allowed}")
    return number


def _parsed(value: object, parse: Callable[[str], Decimal]) -> Decimal | None:
    """What is written as a text or a number, or None where that is not a number or share."""
    if not isinstance(value, (str, int, float, Decimal)) or isinstance(value, bool):
        return None
    try:
        return parse(str(value))
    except ValueError:
        return None


def duration_field(value: object) -> Decimal:
    """Seconds, from `MIN_SECONDS` to `MAX_SECONDS`, from a duration as people write it.

    Raises:
        ValueError: anything else.
    """
    if isinstance(value, Decimal):
        return value
    allowed = "allowed is a duration like 250ms, 30s, 5m, 1h30m or 30d"
    try:
        seconds = _seconds(value) if isinstance(value, str) else Decimal(0)
    except ValueError:
        raise ValueError(f"found {found(value)}; {allowed}") from None
    if not MIN_SECONDS <= seconds <= MAX_SECONDS:
        raise ValueError(f"found {found(value)}; {allowed}, above 0 and at most {MAX_SECONDS / 86_400}d")
    return seconds


def _seconds(text: str) -> Decimal:
    """As Prometheus writes durations, and `0.5ms` and `2.5s` for latencies besides."""
    fraction = re.fullmatch(r"([0-9]+\.[0-9]+)(ms|s)", text.strip())
    if not fraction:
        return parse_duration(text)
    return parse_number(fraction[1]) / (1000 if fraction[2] == "ms" else 1)


def _parse_objective(value: object) -> Decimal:
    allowed = "allowed is a share of good requests from 50% up to, but not, 100%, like 99.9% or 0.999"
    try:
        ratio = parse_ratio(value if isinstance(value, str) else str(value))
    except ValueError:
        raise ValueError(f"found {found(value)}; {allowed}{percent_sign(value)}") from None
    if not MIN_OBJECTIVE <= ratio < 1:
        raise ValueError(f"found {found(value)}; {allowed}")
    return ratio


def percent_sign(value: object) -> str:
    """`; write 90% if you mean per cent` for a number that is a share with a sign behind it, or nothing."""
    try:
        forgotten = 0 <= parse_ratio(f"{value}%") < 1
    except ValueError:
        return ""
    return f"; write {value}% if you mean per cent" if forgotten else ""


def moment_field(value: object) -> datetime:
    """A moment with its time zone.

    Raises:
        ValueError: anything else, also a moment without a time zone.
    """
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value
    allowed = "allowed is a moment with its time zone, like 2026-11-11T00:00:00+08:00 or 2026-11-11T00:00Z"
    try:
        return parse_moment(str(value))
    except ValueError as error:
        naive = " without a time zone" if "has no time zone" in str(error) else ""
        raise ValueError(f"found {found(value)}{naive}; {allowed}") from None


def _parse_version(value: object) -> str:
    text = str(value) if isinstance(value, int) else value
    if not isinstance(text, str) or not _VERSION.fullmatch(text):
        raise ValueError(f"found {found(value)}; allowed is a version as Triton numbers them: 1, 2, 3, …")
    return text


# Such an address reached Prometheus as written, and its target was down.
_NO_HOST = frozenset("${}<>\\^`|*\"'")


def _parse_url(value: object) -> str:
    allowed = "allowed is an address like http://127.0.0.1:8000"
    parts = web_parts(value) if isinstance(value, str) else None
    # Before the finding that quotes the address, which would show the password. In one that cannot be parsed,
    # the text before an @ may be a password.
    if (parts.username or parts.password) if parts else "@" in str(value):
        raise ValueError(
            "found an address with a user name or a password in it; secrets do not belong in this file"
        )
    if parts and _NO_HOST & set(parts.netloc):
        raise ValueError(
            f"found {found(value)}; {allowed}; variables of a shell or a template stay as they are"
        )
    if not parts or parts.query or parts.fragment:
        raise ValueError(f"found {found(value)}; {allowed}{', without ? and #' if parts else ''}")
    return str(value).rstrip("/")


def _text_schema(examples: list[str], description: str, *, pattern: str = "") -> WithJsonSchema:
    one: dict[str, Any] = {"type": "string", "examples": examples, "description": description}
    return WithJsonSchema(one | ({"pattern": pattern} if pattern else {}))


_DURATION_PATTERN = r"^(\d+w)?(\d+d)?(\d+h)?(\d+m)?(\d+(\.\d+)?s)?(\d+(\.\d+)?ms)?$"


def number_schema(least: Decimal, most: Decimal) -> dict[str, Any]:
    """JSON Schema of a number in these bounds."""
    return {"type": "number", "minimum": float(least), "maximum": int(most)}


def _rate_schema(least: Decimal, most: Decimal, things: str) -> WithJsonSchema:
    number = number_schema(least, most)
    return WithJsonSchema(
        {"description": f"{things} per second, or unlimited", "anyOf": [number, {"const": "unlimited"}]}
    )


Qps = Annotated[
    Decimal, Field(allow_inf_nan=True), BeforeValidator(parse_qps), _rate_schema(MIN_QPS, MAX_QPS, "Requests")
]
Tokens = Annotated[
    Decimal,
    Field(allow_inf_nan=True),
    BeforeValidator(parse_tokens),
    _rate_schema(MIN_TOKENS, MAX_TOKENS, "Tokens"),
]
CallCount = Annotated[
    Decimal,
    BeforeValidator(parse_calls),
    WithJsonSchema(number_schema(MIN_CALLS, MAX_CALLS)),
]
Duration = Annotated[
    Decimal,
    BeforeValidator(duration_field),
    _text_schema(["250ms", "30s", "5m", "30d"], "A duration", pattern=_DURATION_PATTERN),
]
Objective = Annotated[
    Decimal,
    BeforeValidator(_parse_objective),
    WithJsonSchema(
        {
            "description": "A share of good requests",
            "examples": ["99.9%", 0.999],
            "type": ["string", "number"],
        }
    ),
]
Moment = Annotated[
    datetime,
    BeforeValidator(moment_field),
    _text_schema(["2026-11-11T00:00:00+08:00"], "A moment with its time zone"),
]
Version = Annotated[
    str,
    BeforeValidator(_parse_version),
    _text_schema(["1"], "A Triton version", pattern=_VERSION.pattern),
]
Url = Annotated[str, BeforeValidator(_parse_url), _text_schema(["http://127.0.0.1:8000"], "An address")]
Name = Annotated[str, Field(min_length=1, max_length=255)]


SHARES = WithJsonSchema({"type": ["string", "number"], "examples": ["80%", 0.8]})


def bounded_share(lowest: str, highest: str) -> BeforeValidator:
    """Takes a share of one in these bounds, from `80%` or `0.8`."""
    least, most = parse_ratio(lowest), parse_ratio(highest)
    allowed = f"allowed is a share from {format_percent(least)} to {format_percent(most)}, like 80% or 0.8"

    def validate(value: object) -> Decimal:
        ratio = _parsed(value, parse_ratio)
        if ratio is None or not least <= ratio <= most:
            raise ValueError(f"found {found(value)}; {allowed}{percent_sign(value)}")
        return ratio

    return BeforeValidator(validate)


def bounded_number(lowest: str, highest: str, *, whole: bool = False) -> BeforeValidator:
    """Takes a number in these bounds."""
    least, most = Decimal(lowest), Decimal(highest)

    def validate(value: object) -> Decimal:
        number = number_field(value, least, most, "a whole number" if whole else "like 2 or 1.5")
        if whole and number != number.to_integral_value():
            raise ValueError(f"found {found(value)}; allowed is a whole number from {least} to {most}")
        return number

    return BeforeValidator(validate)


def bounded_duration(lowest: str, highest: str) -> BeforeValidator:
    """Takes a duration in these bounds."""
    least, most = parse_duration(lowest), parse_duration(highest)

    def validate(value: object) -> Decimal:
        seconds = duration_field(value)
        if not least <= seconds <= most:
            span = f"from {format_duration(least)} to {format_duration(most)}"
            raise ValueError(f"found {found(value)}; allowed is a duration {span}")
        return seconds

    return BeforeValidator(validate)
