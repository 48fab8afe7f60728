"""Panels: what a board is made of, drawn from signals; plain values that `house` turns into Grafana's."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, Final

import fields
import palette

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from signals import Signal

_LAST: Final = {"calcs": ["lastNotNull"], "fields": "", "values": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel. `sort` is Grafana's type; `defaults`, `overrides`, `options` are as Grafana stores them."""

    sort: str
    title: str
    description: str
    signals: tuple[Signal, ...]
    size: tuple[int, int]
    defaults: dict[str, Any]
    options: dict[str, Any]
    overrides: list[dict[str, Any]] = field(default_factory=list)
    transformations: list[dict[str, Any]] = field(default_factory=list)
    form: str = "time_series"
    instant: bool = False
    most_points: int | None = None
    shortest_step: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Panels under a headline, laid out from left to right."""

    title: str
    panels: tuple[Panel, ...]


def row(title: str, *panels: Panel) -> Row:
    """A row of a board."""
    return Row(title=title, panels=panels)


def timeseries(
    *signals: Signal,
    limits: Sequence[Signal] = (),
    stacked: bool = False,
    wide: bool = False,
    logarithmic: bool = False,
    title: str = "",
    size: tuple[int, int] = (12, 8),
) -> Panel:
    """Lines over time. `limits` are dashed; `wide` puts a legend with numbers to the right.

    `logarithmic` is for values of very different size, none of them 0.
    """
    first = signals[0]
    aside = {"displayMode": "table", "placement": "right", "calcs": ["lastNotNull", "max"]}
    below: dict[str, Any] = {"displayMode": "list", "placement": "bottom", "calcs": []}
    # A logarithm has no zero to begin at.
    scaled = replace(first, minimum=None) if logarithmic else first
    custom = fields.lines(stacked=stacked, thresholds=first.lines, logarithmic=logarithmic)
    return Panel(
        sort="timeseries",
        title=title or first.title,
        description=first.description,
        signals=(*signals, *limits),
        size=size,
        defaults=fields.basics(scaled, custom) | {"color": {"mode": "palette-classic-by-name"}},
        overrides=[*fields.fixed_colours(signals), *map(fields.dashed, limits)],
        options={
            "legend": {"showLegend": True, **(aside if wide else below)},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
    )


def stat(signal: Signal, *, size: tuple[int, int] = (4, 4), title: str = "") -> Panel:
    """The latest value, large, in the colour of its threshold."""
    return Panel(
        sort="stat",
        title=title or signal.title,
        description=signal.description,
        signals=(signal,),
        size=size,
        defaults=fields.basics(signal) | {"color": {"mode": "thresholds"}},
        options={
            "colorMode": "background_solid" if signal.says else "value",
            "graphMode": "none" if signal.says else "area",
            "justifyMode": "auto",
            "orientation": "auto",
            "textMode": "auto",
            "wideLayout": True,
            "reduceOptions": _LAST,
        },
    )


def bars(signal: Signal, *, size: tuple[int, int] = (12, 8), title: str = "") -> Panel:
    """The latest value of every series as a bar."""
    return Panel(
        sort="bargauge",
        title=title or signal.title,
        description=signal.description,
        signals=(signal,),
        size=size,
        instant=True,
        defaults=fields.basics(signal) | {"color": {"mode": "thresholds"}},
        options={
            "displayMode": "basic",
            "orientation": "horizontal",
            "showUnfilled": True,
            "valueMode": "color",
            "namePlacement": "auto",
            "minVizHeight": 16,
            "minVizWidth": 8,
            "maxVizHeight": 300,
            "sizing": "auto",
            "reduceOptions": _LAST,
        },
    )


def heatmap(signal: Signal, *, size: tuple[int, int] = (24, 9)) -> Panel:
    """Buckets over time, darker where there is more."""
    return Panel(
        sort="heatmap",
        title=signal.title,
        description=signal.description,
        signals=(signal,),
        size=size,
        form="heatmap",
        most_points=60,
        shortest_step="1m",
        defaults={
            "unit": signal.unit,
            "custom": {"scaleDistribution": {"type": "linear"}, "hideFrom": fields.NOWHERE},
        },
        options={
            "calculate": False,
            "cellGap": 1,
            "cellValues": {"unit": "reqps", "decimals": 2},
            "color": {
                "mode": "scheme",
                "scheme": "Oranges",
                "scale": "exponential",
                "exponent": 0.5,
                "fill": "dark-orange",
                "reverse": False,
                "steps": 64,
            },
            "exemplars": {"color": palette.CRITICAL},
            "filterValues": {"le": 1e-9},
            "legend": {"show": True},
            "rowsFrame": {"layout": "auto"},
            "tooltip": {"mode": "single", "yHistogram": True, "showColorScale": True},
            "yAxis": {"axisPlacement": "left", "reverse": False, "unit": signal.unit},
        },
    )


def timeline(signal: Signal, *, size: tuple[int, int] = (24, 7)) -> Panel:
    """A band a series, in the colour and word of its state."""
    return Panel(
        sort="state-timeline",
        title=signal.title,
        description=signal.description,
        signals=(signal,),
        size=size,
        defaults=fields.basics(signal, {"fillOpacity": 80, "lineWidth": 0})
        | {"color": {"mode": "thresholds"}},
        options={
            "alignValue": "left",
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": False},
            "mergeValues": True,
            "rowHeight": 0.85,
            "showValue": "auto",
            "tooltip": {"mode": "single", "sort": "none"},
        },
    )


def table(
    title: str,
    description: str,
    columns: Sequence[Signal],
    by: Sequence[str],
    *,
    links: Iterable[tuple[str, str, str]] = (),
    worst_is_least: bool = False,
    size: tuple[int, int] = (24, 9),
) -> Panel:
    """One row for each set of the labels `by`, one column a signal; `links` are (column, words, address).

    The rows stand in the order of the first column, the largest on top unless `worst_is_least`.
    """
    labels = ", ".join(by)
    found = [f"Value #{letter}" for letter in ascii_uppercase[: len(columns)]]
    wanted = [signal.title for signal in columns]
    return Panel(
        sort="table",
        title=title,
        description=description,
        signals=tuple(replace(one, expr=f"max by ({labels}) (\n{one.expr}\n)") for one in columns),
        size=size,
        form="table",
        instant=True,
        defaults={
            "unit": "short",
            "custom": {"align": "auto", "cellOptions": {"type": "auto"}, "filterable": False},
        },
        overrides=[
            *map(fields.column, columns),
            *(fields.linked(column, words, address) for column, words, address in links),
        ],
        options={
            "cellHeight": "sm",
            "footer": {"show": False, "reducer": ["sum"], "countRows": False, "fields": ""},
            "showHeader": True,
            "sortBy": [{"displayName": wanted[0], "desc": not worst_is_least}],
        },
        transformations=[
            {"id": "merge", "options": {}},
            {
                "id": "organize",
                "options": {
                    "excludeByName": {"Time": True},
                    "indexByName": {name: place for place, name in enumerate((*by, *found))},
                    "renameByName": dict(zip(found, wanted, strict=True)),
                },
            },
        ],
    )
