"""Validators for values with bounds of their own: shares, numbers, durations."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from tritonobs.spec.values import duration_field, number_field, percent_sign
from tritonobs.spec.words import found
from tritonobs.units import format_duration, format_percent, parse_ratio


def bounded_share(least: Decimal, most: Decimal) -> Callable[[object], Decimal]:
    """A validator for a share of one in these bounds, from `80%` or `0.8`."""
    allowed = f"allowed is a share from {format_percent(least)} to {format_percent(most)}, like 80% or 0.8"

    def validate(value: object) -> Decimal:
        usable = isinstance(value, (str, int, float, Decimal)) and not isinstance(value, bool)
        try:
            ratio = parse_ratio(str(value)) if usable else None
        except ValueError:
            ratio = None
        if ratio is None or not least <= ratio <= most:
            raise ValueError(f"found {found(value)}; {allowed}{percent_sign(value) if usable else ''}")
        return ratio

    return validate


def bounded_number(least: Decimal, most: Decimal, *, whole: bool = False) -> Callable[[object], Decimal]:
    """A validator for a number in these bounds."""

    def validate(value: object) -> Decimal:
        number = number_field(value, least, most, "a whole number" if whole else "like 2 or 1.5")
        if whole and number != number.to_integral_value():
            raise ValueError(f"found {found(value)}; allowed is a whole number from {least} to {most}")
        return number

    return validate


def bounded_duration(least: Decimal, most: Decimal) -> Callable[[object], Decimal]:
    """A validator for a duration in these bounds."""

    def validate(value: object) -> Decimal:
        seconds = duration_field(value)
        if not least <= seconds <= most:
            span = f"from {format_duration(least)} to {format_duration(most)}"
            raise ValueError(f"found {found(value)}; allowed is a duration {span}")
        return seconds

    return validate
