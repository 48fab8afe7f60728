"""Panels: what a board is made of, drawn from signals; plain values that `layout` turns into Grafana's."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, Final

import fields
import palette

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from signals import Signal

# Pixels: less than half of half a board that is 1280 wide, however long the names.
_ASIDE: Final = 290
# Pixels: what a line of the grid, and a row of a timeline take; what a timeline needs besides its rows.
_LINE: Final = 38
_ROW: Final = 16
_AROUND: Final = 122
_LAST: Final = {"calcs": ["lastNotNull"], "fields": "", "values": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel. `kind` is Grafana's type; `defaults`, `overrides`, `options` are as Grafana stores them."""

    kind: str
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
    """Lines over time. `limits` are dashed; `wide` puts a legend with the latest values to the right.

    `logarithmic` is for values of very different size, none of them 0.
    """
    first = signals[0]
    aside = {"displayMode": "table", "placement": "right", "calcs": ["lastNotNull"], "width": _ASIDE}
    below: dict[str, Any] = {"displayMode": "list", "placement": "bottom", "calcs": []}
    # A logarithm has no zero to begin at.
    scaled = replace(first, minimum=None) if logarithmic else first
    soft = fields.SOFT_MAXIMA.get(first.unit, 1.0) if first.maximum is None else None
    custom = fields.lines(stacked=stacked, thresholds=first.lines, logarithmic=logarithmic, soft=soft)
    return Panel(
        kind="timeseries",
        title=title or first.title,
        description=first.description,
        signals=(*signals, *limits),
        size=size,
        defaults=fields.basics(scaled, custom) | {"color": {"mode": "palette-classic"}},
        overrides=[*fields.fixed_colours(signals), *map(fields.dashed, limits)],
        options={
            "legend": {"showLegend": True, **(aside if wide else below)},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
    )


def stat(signal: Signal, *, size: tuple[int, int] = (4, 4), title: str = "") -> Panel:
    """The latest value, large, in the colour of its threshold."""
    return Panel(
        kind="stat",
        title=title or signal.title,
        description=signal.description,
        signals=(signal,),
        size=size,
        defaults=fields.basics(signal) | {"color": {"mode": "thresholds"}},
        options={
            # A colour says how good a value is; one without thresholds has none.
            "colorMode": "background_solid" if signal.says else "value" if signal.steps else "none",
            "graphMode": "none" if signal.says else "area",
            "justifyMode": "auto",
            "orientation": "auto",
            "textMode": "auto",
            "wideLayout": True,
            "showPercentChange": False,
            "percentChangeColorMode": "standard",
            "reduceOptions": _LAST,
        },
    )


def bars(signal: Signal, *, size: tuple[int, int] = (12, 8), title: str = "") -> Panel:
    """The latest value of every series as a bar, the worst on top."""
    order = "sort" if signal.worst_is_least else "sort_desc"
    return Panel(
        kind="bargauge",
        title=title or signal.title,
        description=signal.description,
        signals=(replace(signal, expr=f"{order}(\n{signal.expr}\n)"),),
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
            # Asked for from 12 on.
            "legend": {"displayMode": "list", "placement": "bottom", "calcs": [], "showLegend": False},
            "reduceOptions": _LAST,
        },
    )


def heatmap(signal: Signal, *, size: tuple[int, int] = (24, 9), counted: str = "reqps") -> Panel:
    """Buckets over time, in a stronger colour where there is more; `counted` is the unit of how many."""
    return Panel(
        kind="heatmap",
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
            "showValue": "never",
            "cellGap": 1,
            "cellValues": {"unit": counted, "decimals": 2},
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


def timeline(signal: Signal, *, size: tuple[int, int] = (24, 9)) -> Panel:
    """A band a series, in the colour and word of its state."""
    return Panel(
        kind="state-timeline",
        title=signal.title,
        description=signal.description,
        signals=(signal,),
        size=size,
        # With thresholds as colours, Grafana merges states by threshold and forgets what values are called.
        defaults=fields.basics(replace(signal, steps=()), {"fillOpacity": 80, "lineWidth": 0})
        | {"color": {"mode": "fixed", "fixedColor": palette.GREY}},
        options={
            "alignValue": "left",
            "legend": {"displayMode": "list", "placement": "bottom", "calcs": [], "showLegend": False},
            "mergeValues": True,
            "perPage": (_LINE * size[1] - _AROUND) // _ROW,
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

    The rows are in the order of the first column, the largest on top unless `worst_is_least`.
    """
    labels = ", ".join(by)
    found = [f"Value #{letter}" for letter in ascii_uppercase[: len(columns)]]
    wanted = [signal.short or signal.title for signal in columns]
    return Panel(
        kind="table",
        title=title,
        description=description,
        signals=tuple(replace(one, expr=f"max by ({labels}) (\n{one.expr}\n)") for one in columns),
        size=size,
        form="table",
        instant=True,
        defaults={
            "unit": "short",
            "custom": {
                "align": "auto",
                "cellOptions": {"type": "auto"},
                "filterable": False,
                "inspect": False,
                "minWidth": fields.NAME,
            },
        },
        overrides=[
            *map(fields.name, by),
            *map(fields.column, columns),
            *(fields.linked(column, words, address) for column, words, address in links),
        ],
        options={
            "cellHeight": "sm",
            "frameIndex": 0,
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
