"""Pieces of Grafana's field configuration: units, thresholds, colours, dashed limits, columns of a table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import palette

if TYPE_CHECKING:
    from collections.abc import Iterable

    from signals import Signal

# Pixels: a number, or a header of eleven letters with the arrow of the order; a name, which may get more.
_NUMBER: Final = 112
NAME: Final = 100
NOWHERE: Final = {"legend": False, "tooltip": False, "viz": False}
# Grafana's axis of nothing but zeros reaches to 100 in any unit.
SOFT_MAXIMA: Final = {"percentunit": 0.05, "s": 0.01, "dthms": 10.0, "bytes": 1048576.0}


def basics(signal: Signal, custom: dict[str, Any] | None = None) -> dict[str, Any]:
    """Unit, range, thresholds and words of a signal; what is not set is left to Grafana."""
    steps = [{"color": step.colour, "value": step.value} for step in signal.steps]
    defaults = {
        "unit": signal.unit,
        "min": signal.minimum,
        "max": signal.maximum,
        "decimals": signal.decimals,
        "thresholds": {"mode": "absolute", "steps": steps or [{"color": palette.BLUE, "value": None}]},
        "mappings": _mappings(signal),
        "noValue": signal.empty or None,
        "custom": custom or None,
    }
    return {key: value for key, value in defaults.items() if value not in (None, [])}


def lines(*, stacked: bool, thresholds: bool, logarithmic: bool, soft: float | None) -> dict[str, Any]:
    """How lines are drawn: filled when they add up, thin when not; the axis reaches at least to `soft`."""
    return {
        **({} if soft is None or logarithmic else {"axisSoftMax": soft}),
        "drawStyle": "line",
        "lineInterpolation": "linear",
        "lineWidth": 1 if stacked else 2,
        "fillOpacity": 60 if stacked else 8,
        "gradientMode": "none",
        "showPoints": "never",
        "spanNulls": False,
        "stacking": {"mode": "normal" if stacked else "none", "group": "A"},
        "axisPlacement": "auto",
        "thresholdsStyle": {"mode": "dashed" if thresholds else "off"},
        "scaleDistribution": {"type": "log", "log": 10} if logarithmic else {"type": "linear"},
        "hideFrom": NOWHERE,
    }


def fixed_colours(signals: Iterable[Signal]) -> list[dict[str, Any]]:
    """A stage, an outcome, a phase keeps its colour: every legend that ends in its name gets it."""
    chosen = {name: colour for signal in signals for name, colour in signal.colours}
    return [
        _override("byRegexp", f"/(^|\\s){re.escape(name)}$/", color={"mode": "fixed", "fixedColor": colour})
        for name, colour in chosen.items()
    ]


def dashed(limit: Signal) -> dict[str, Any]:
    """A limit: a thin dashed line in the colour of limits, nothing under it, never stacked."""
    first_word = limit.legend.split(" ", 1)[0]
    return _override(
        "byRegexp",
        f"/^{re.escape(first_word)}\\b/",
        color={"mode": "fixed", "fixedColor": palette.LIMIT},
        **{
            "custom.lineStyle": {"fill": "dash", "dash": [8, 6]},
            "custom.lineWidth": 1,
            "custom.fillOpacity": 0,
            "custom.stacking": {"mode": "none", "group": "A"},
            # Five models with one limit are one line, not five entries.
            "custom.hideFrom": NOWHERE | {"legend": True},
        },
    )


def column(signal: Signal) -> dict[str, Any]:
    """A column of a table with the signal's unit; its thresholds colour the cell."""
    properties: dict[str, Any] = {"unit": signal.unit, "custom.width": _NUMBER}
    if signal.decimals is not None:
        properties["decimals"] = signal.decimals
    if signal.steps:
        properties |= {
            "thresholds": basics(signal)["thresholds"],
            "color": {"mode": "thresholds"},
            "custom.cellOptions": {"type": "color-text"},
        }
    return _override("byName", signal.short or signal.title, **properties)


def name(label: str) -> dict[str, Any]:
    """A column of names. A name of digits is not a number: version 20260115 is not `20.3 Mil`."""
    return _override("byName", label, unit="string")


def linked(name: str, words: str, address: str) -> dict[str, Any]:
    """A column whose cells lead to another board."""
    return _override("byName", name, links=[{"title": words, "url": address, "targetBlank": False}])


def _override(matcher: str, what: str, **properties: object) -> dict[str, Any]:
    return {
        "matcher": {"id": matcher, "options": what},
        "properties": [{"id": key, "value": value} for key, value in properties.items()],
    }


def _mappings(signal: Signal) -> list[dict[str, Any]]:
    options = {
        f"{value:g}": {"text": text, "color": colour, "index": index}
        for index, (value, text, colour) in enumerate(signal.says)
    }
    return [{"type": "value", "options": options}] if options else []
