"""Values as JSON, as the words of a table, and as HTML files that need nothing else."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from tritonobs.units import format_latency, format_number

if TYPE_CHECKING:
    from jinja2 import Template

NOTHING = "-"
_Value: TypeAlias = Any


def json_text(value: _Value, **more: _Value) -> str:
    """A frozen dataclass (or a list of them) as JSON, names as in Python; not-a-number becomes null."""
    made = _made(value)
    return json.dumps(
        {**made, **_made(more)} if more else made, indent=2, ensure_ascii=False, allow_nan=False
    )


def _made(value: _Value) -> _Value:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _made(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return _mapping(value)
    if isinstance(value, (list, tuple)):
        return [_made(item) for item in value]
    if isinstance(value, (set, frozenset)):
        # A set has no order, and the same values must give the same text.
        return sorted(_made(item) for item in value)
    if isinstance(value, Decimal):
        return float(value)
    # NaN and Infinity are Python's own words; other readers of JSON refuse them.
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _mapping(value: Mapping[_Value, _Value]) -> dict[str, _Value]:
    return {"/".join(key) if isinstance(key, tuple) else str(key): _made(item) for key, item in value.items()}


def latency(seconds: float | None) -> str:
    """`85 ms`, or a dash for what was not measured."""
    return NOTHING if seconds is None else format_latency(seconds)


def bounded(seconds: float | None, lowest: float | None, highest: float | None) -> str:
    """A quantile from buckets: `<1 ms` in the lowest of them, `>10 s` above the highest, else exact."""
    if seconds is not None and lowest is not None and seconds <= lowest:
        return f"<{format_latency(lowest)}"
    if seconds is not None and highest is not None and seconds >= highest:
        return f">{format_latency(highest)}"
    return latency(seconds)


def few(known: float | None, lowest: float | None, highest: float | None) -> str:
    """A quantile for which there are too few requests: at least the highest that is known."""
    if known is None or (lowest is not None and known <= lowest):
        return NOTHING
    text = bounded(known, lowest, highest)
    return text if text.startswith(">") else f"≥{text}"


def share(ratio: float | None) -> str:
    """`61 %`, or a dash."""
    return NOTHING if ratio is None else f"{ratio:.1%}" if ratio < 0.1 else f"{ratio:.0%}"  # noqa: PLR2004 (one digit more below 10 %)


def rate(per_second: float | None) -> str:
    """Requests a second with three digits: `0.25`, `12.5`, `1234`."""
    return NOTHING if per_second is None else number(per_second, 3)


def number(value: float, digits: int) -> str:
    """This many digits and no exponent; whole from 1000 on: `0.25`, `1234`, `205000`."""
    if not math.isfinite(value):
        return NOTHING
    return f"{value:.0f}" if abs(value) >= 1000 else format_number(float(f"{value:.{digits}g}"))  # noqa: PLR2004 (no exponent)


def template(package: str, name: str) -> Template:
    """The template of this name in the folder `templates` of a package; names in it are data."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 (slow, and for pages alone)

    # Strict, because a name that is missing would leave a hole in the page, and no error.
    pages = Environment(
        loader=PackageLoader(package), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return pages.get_template(name)
