"""The kinds of value a fleet file holds: text in, exact numbers out, a sentence for what is allowed."""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, WithJsonSchema

from tritonobs.spec.words import found
from tritonobs.units import parse_duration, parse_ratio

MAX_QPS: Final = Decimal(1_000_000)
"""No single Triton server answers a million requests a second; a larger limit is a slip of the keyboard."""
MAX_TOKENS: Final = Decimal(1_000_000_000)
MAX_CALLS: Final = 10_000
MIN_OBJECTIVE: Final = Decimal("0.5")
UNLIMITED: Final = Decimal("Infinity")
"""The value of `qps_limit: unlimited`: no limit here, whatever is inherited."""

_VERSION = re.compile(r"^[1-9][0-9]{0,18}$")


def parse_qps(value: object) -> Decimal:
    """Requests a second: above 0, at most `MAX_QPS`, or the word `unlimited`.

    Raises:
        ValueError: anything else.
    """
    return _parse_rate(value, MAX_QPS, "requests")


def parse_tokens(value: object) -> Decimal:
    """Tokens a second: above 0, at most `MAX_TOKENS`, or the word `unlimited`.

    Raises:
        ValueError: anything else.
    """
    return _parse_rate(value, MAX_TOKENS, "tokens")


def _parse_rate(value: object, most: Decimal, things: str) -> Decimal:
    allowed = f"allowed is a number above 0 and at most {most} ({things} a second), or unlimited"
    if value in ("unlimited", UNLIMITED):
        return UNLIMITED
    number = _number(value, allowed)
    if not 0 < number <= most:
        raise ValueError(f"found {found(value)}; {allowed}")
    return number


def _parse_calls(value: object) -> Decimal:
    allowed = f"allowed is a number above 0 and at most {MAX_CALLS} (calls per request)"
    number = _number(value, allowed)
    if not 0 < number <= MAX_CALLS:
        raise ValueError(f"found {found(value)}; {allowed}")
    return number


def _parse_seconds(value: object) -> Decimal:
    allowed = "allowed is a number of seconds above 0, like 0.25"
    number = _number(value, allowed)
    if number <= 0:
        raise ValueError(f"found {found(value)}; {allowed}")
    return number


def _number(value: object, allowed: str) -> Decimal:
    try:
        number = (
            Decimal(str(value).strip()) if isinstance(value, (str, int, float, Decimal)) else Decimal("NaN")
        )
    except InvalidOperation:
        number = Decimal("NaN")
    if isinstance(value, bool) or not number.is_finite():
        raise ValueError(f"found {found(value)}; {allowed}")
    return number


def duration_field(value: object) -> Decimal:
    """Seconds, above 0, from a duration as people write it.

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
    if seconds <= 0:
        raise ValueError(f"found {found(value)}; {allowed}, above 0")
    return seconds


def _seconds(text: str) -> Decimal:
    """As Prometheus writes durations, and `0.5ms` and `2.5s` for latencies besides."""
    fraction = re.fullmatch(r"(\d+\.\d+)(ms|s)", text.strip())
    if not fraction:
        return parse_duration(text)
    return Decimal(fraction[1]) / (1000 if fraction[2] == "ms" else 1)


def _parse_objective(value: object) -> Decimal:
    allowed = "allowed is a share of good requests from 50% up to, but not, 100%, like 99.9% or 0.999"
    try:
        ratio = parse_ratio(value if isinstance(value, str) else str(value))
    except ValueError:
        raise ValueError(f"found {found(value)}; {allowed}{_percent_sign(value)}") from None
    if not MIN_OBJECTIVE <= ratio < 1:
        raise ValueError(f"found {found(value)}; {allowed}")
    return ratio


def _percent_sign(value: object) -> str:
    try:
        forgotten = 0 <= parse_ratio(f"{value}%") < 1
    except ValueError:
        return ""
    return f"; write {value}% if you mean per cent" if forgotten else ""


def parse_moment(value: object) -> datetime:
    """A moment with its time zone.

    Raises:
        ValueError: anything else, also a moment without a time zone.
    """
    allowed = "allowed is a moment with its time zone, like 2026-11-11T00:00:00+08:00 or 2026-11-11T00:00Z"
    if isinstance(value, datetime):
        moment = value
    else:
        try:
            moment = datetime.fromisoformat(re.sub(r"[Zz]$", "+00:00", str(value).strip()))
        except ValueError:
            raise ValueError(f"found {found(value)}; {allowed}") from None
    if moment.tzinfo is None:
        raise ValueError(f"found {found(value)} without a time zone; {allowed}")
    return moment


def _parse_version(value: object) -> str:
    text = str(value) if isinstance(value, int) else value
    if not isinstance(text, str) or not _VERSION.fullmatch(text):
        raise ValueError(f"found {found(value)}; allowed is a version as Triton numbers them: 1, 2, 3, …")
    return text


def _parse_url(value: object) -> str:
    allowed = "allowed is an address like http://127.0.0.1:8000"
    try:
        parts = urlsplit(value if isinstance(value, str) else "")
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable, parts = False, urlsplit("")
    if parts.username or parts.password:
        raise ValueError(
            "found an address with a user name or a password in it; secrets do not belong in this file"
        )
    if not usable or parts.query or parts.fragment or re.search(r"\s", str(value)):
        raise ValueError(f"found {found(value)}; {allowed}")
    return str(value).rstrip("/")


def _schema(kind: str, examples: list[Any], description: str, *, pattern: str = "") -> WithJsonSchema:
    one: dict[str, Any] = {"type": kind, "examples": examples, "description": description}
    return WithJsonSchema(one | ({"pattern": pattern} if pattern else {}))


_DURATION_PATTERN = r"^(\d+w)?(\d+d)?(\d+h)?(\d+m)?(\d+(\.\d+)?s)?(\d+(\.\d+)?ms)?$"


def _rate_schema(most: Decimal, things: str) -> WithJsonSchema:
    number = {"type": "number", "exclusiveMinimum": 0, "maximum": int(most)}
    return WithJsonSchema(
        {"description": f"{things} a second, or unlimited", "anyOf": [number, {"const": "unlimited"}]}
    )


Qps = Annotated[
    Decimal, Field(allow_inf_nan=True), BeforeValidator(parse_qps), _rate_schema(MAX_QPS, "Requests")
]
Tokens = Annotated[
    Decimal, Field(allow_inf_nan=True), BeforeValidator(parse_tokens), _rate_schema(MAX_TOKENS, "Tokens")
]
CallCount = Annotated[
    Decimal,
    BeforeValidator(_parse_calls),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "maximum": MAX_CALLS}),
]
Duration = Annotated[
    Decimal,
    BeforeValidator(duration_field),
    _schema("string", ["250ms", "30s", "5m", "30d"], "A duration", pattern=_DURATION_PATTERN),
]
Seconds = Annotated[
    Decimal, BeforeValidator(_parse_seconds), WithJsonSchema({"type": "number", "exclusiveMinimum": 0})
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
    BeforeValidator(parse_moment),
    _schema("string", ["2026-11-11T00:00:00+08:00"], "A moment with its time zone"),
]
Version = Annotated[
    str,
    BeforeValidator(_parse_version),
    _schema("string", ["1"], "A Triton version", pattern=_VERSION.pattern),
]
Url = Annotated[str, BeforeValidator(_parse_url), _schema("string", ["http://127.0.0.1:8000"], "An address")]
Name = Annotated[str, Field(min_length=1, max_length=255)]
