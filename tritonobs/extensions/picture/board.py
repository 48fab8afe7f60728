"""The parts of a board's JSON that drawing needs, and its knobs.

Which windows the records of a Prometheus are made with is part of the records' names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tritonobs import names
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.errors import BadAnswer
from tritonobs.render.rules import mixin_knobs
from tritonobs.units import parse_duration

KINDS: Final = frozenset({"timeseries", "stat", "bargauge", "heatmap", "table", "state-timeline"})
"""The types of panels that can be drawn."""

_SHORT: Final = "replica_model_version:triton_requests_succeeded:rate"
_MEDIUM: Final = "model_version_stage:tritonobs_stage_duration_seconds_sum:rate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One query of a panel; `legend` names a series with `{{label}}`."""

    ref: str
    expr: str
    legend: str
    instant: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """From this value on (minus infinity for the first), this colour."""

    value: float
    colour: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How a series or a column is drawn: a unit, thresholds, perhaps a colour of its own."""

    unit: str = "none"
    minimum: float | None = None
    maximum: float | None = None
    decimals: int | None = None
    steps: tuple[Step, ...] = ()
    colour: str | None = None
    dashed: bool = False
    stacked: bool = False
    words: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Value → (word, colour)."""

    def colour_at(self, value: float) -> str | None:
        """The colour of the threshold that the value is in."""
        return next((step.colour for step in reversed(self.steps) if value >= step.value), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel and its place on a grid 24 columns wide."""

    kind: str
    title: str
    description: str
    place: tuple[int, int, int, int]
    """Left, top, width, height."""
    targets: tuple[Target, ...]
    base: Look
    overrides: tuple[tuple[re.Pattern[str], Mapping[str, Any]], ...] = ()
    lines_at_steps: bool = False
    legend_aside: bool = False
    logarithmic: bool = False
    descending: bool = True
    """Of a table: the largest value of the first column on top."""
    most_points: int = 0
    shortest_step_seconds: float = 0
    counted: str = "reqps"
    """Of a heatmap: the unit of what is in a cell."""
    empty: str = "no data"
    """What a panel without series says."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Of a table: `Value #A` → title."""

    def look(self, name: str) -> Look:
        """How the series (or column) with this name is drawn."""
        # Where several overrides name a series the last one wins, as in Grafana.
        properties = {
            key: value
            for pattern, found in self.overrides
            if pattern.search(name)
            for key, value in found.items()
        }
        return _look(self.base, properties)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A variable of the board; it opens with `every`, otherwise with the first value."""

    name: str
    label: str
    query: str
    regex: str
    every: bool
    ordered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """An annotation: while the expression has a value, something happened."""

    name: str
    expr: str
    colour: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """A whole board; `rows` are (title, top)."""

    title: str
    question: str
    panels: tuple[Panel, ...]
    rows: tuple[tuple[str, int], ...]
    variables: tuple[Variable, ...]
    marks: tuple[Mark, ...]


def read_board(board: Mapping[str, Any]) -> Board:
    """The board that `render.grafana` made.

    Raises:
        ValueError: it has a panel that cannot be drawn.
    """
    panels = board["panels"]
    return Board(
        title=board["title"],
        question=board["description"],
        panels=tuple(_panel(panel) for panel in panels if panel["type"] != "row"),
        rows=tuple((row["title"], row["gridPos"]["y"]) for row in panels if row["type"] == "row"),
        variables=tuple(_variable(one) for one in board["templating"]["list"] if one["type"] == "query"),
        marks=tuple(
            Mark(name=one["name"], expr=one["expr"], colour=one["iconColor"])
            for one in board["annotations"]["list"]
        ),
    )


def _panel(panel: Mapping[str, Any]) -> Panel:
    kind = panel["type"]
    if kind not in KINDS:
        raise ValueError(f"panel {panel['title']!r} is a {kind}; can be drawn: {', '.join(sorted(KINDS))}")
    defaults, place = panel["fieldConfig"]["defaults"], panel["gridPos"]
    custom = defaults.get("custom", {})
    return Panel(
        kind=kind,
        title=panel["title"],
        description=panel["description"],
        place=(place["x"], place["y"], place["w"], place["h"]),
        targets=tuple(
            Target(ref=one["refId"], expr=one["expr"], legend=one["legendFormat"], instant=one["instant"])
            for one in panel["targets"]
        ),
        base=_look(Look(), _flat(defaults)),
        overrides=tuple(_override(one) for one in panel["fieldConfig"]["overrides"]),
        lines_at_steps=custom.get("thresholdsStyle", {}).get("mode") == "dashed",
        logarithmic=custom.get("scaleDistribution", {}).get("type") == "log",
        legend_aside=panel["options"].get("legend", {}).get("placement") == "right",
        descending=panel["options"].get("sortBy", [{"desc": True}])[0]["desc"],
        most_points=panel.get("maxDataPoints", 0),
        shortest_step_seconds=60 if panel.get("interval") == "1m" else 0,
        counted=panel["options"].get("cellValues", {}).get("unit", "reqps"),
        empty=defaults.get("noValue", "no data"),
        columns=next(
            (one["options"]["renameByName"] for one in panel["transformations"] if one["id"] == "organize"),
            {},
        ),
    )


def _flat(defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Defaults with the names that overrides use."""
    custom = {f"custom.{key}": value for key, value in defaults.get("custom", {}).items()}
    return {key: value for key, value in defaults.items() if key != "custom"} | custom


def _override(override: Mapping[str, Any]) -> tuple[re.Pattern[str], dict[str, Any]]:
    matcher, what = override["matcher"]["id"], override["matcher"]["options"]
    # Grafana writes expressions between slashes, and compares other names as a whole.
    text = what.strip("/") if matcher == "byRegexp" else f"^{re.escape(what)}$"
    return re.compile(text), {one["id"]: one["value"] for one in override["properties"]}


def _look(base: Look, properties: Mapping[str, Any]) -> Look:
    steps = properties.get("thresholds", {}).get("steps")
    stacking, line = properties.get("custom.stacking"), properties.get("custom.lineStyle", {})
    mappings = properties.get("mappings")
    return Look(
        unit=properties.get("unit", base.unit),
        minimum=properties.get("min", base.minimum),
        maximum=properties.get("max", base.maximum),
        decimals=properties.get("decimals", base.decimals),
        steps=base.steps if steps is None else _steps(steps),
        colour=properties.get("color", {}).get("fixedColor", base.colour),
        dashed=line.get("fill") == "dash" or base.dashed,
        stacked=base.stacked if stacking is None else stacking["mode"] == "normal",
        words=base.words if mappings is None else _words(mappings),
    )


def _steps(steps: list[dict[str, Any]]) -> tuple[Step, ...]:
    lowest = float("-inf")
    return tuple(
        Step(value=lowest if one["value"] is None else one["value"], colour=one["color"]) for one in steps
    )


def _words(mappings: list[dict[str, Any]]) -> dict[str, tuple[str, str]]:
    return {
        value: (said["text"], said["color"])
        for mapping in mappings
        for value, said in mapping["options"].items()
    }


def _variable(variable: Mapping[str, Any]) -> Variable:
    return Variable(
        name=variable["name"],
        label=variable["label"],
        query=variable["query"],
        regex=variable["regex"].strip("/"),
        every=variable["includeAll"],
        ordered=bool(variable["sort"]),
    )


def knobs_of(client: PrometheusClient, *, start: float, end: float) -> dict[str, Any]:
    """What a board has to know of the rules that were in force between two moments (Unix seconds).

    Raises:
        BadAnswer: there are no records of tritonobs in that time.
        ClientError: Prometheus could not be asked.
    """
    short = _window(client, _SHORT, start, end)
    # The last hour counts, so that labels are found where the servers are away at the end.
    series = client.query(f"last_over_time({_SHORT}{short}[1h])", at=end)
    # Only models that time their stages have the other record.
    windows = {"shortWindow": short, "mediumWindow": _window(client, _MEDIUM, start, end, otherwise="1m")}
    return {
        "mixin": mixin_knobs({}) | windows,
        "replica": _replica_label([one.labels for one in series]),
    }


def _replica_label(series: Sequence[Mapping[str, str]]) -> str:
    """The label of a replica's record that distinguishes most of them; there is no fleet file."""
    own = {"__name__", names.MODEL, names.VERSION, names.CLUSTER}
    labels = {label for labels in series for label in labels} - own
    # `max` takes the first of equals; sorted, that is the same label every time.
    return max(
        sorted(labels), key=lambda label: len({one.get(label) for one in series}), default=names.INSTANCE
    )


def _window(client: PrometheusClient, record: str, start: float, end: float, *, otherwise: str = "") -> str:
    """The window at the end of a record's name; the shortest where rules were changed on the way."""
    found = client.label_values("__name__", f'{{__name__=~"{record}.+"}}', start=start, end=end)
    windows = [match[1] for name in found if (match := re.fullmatch(rf"{re.escape(record)}(\w+)", name))]
    if windows:
        return min(windows, key=parse_duration)
    if otherwise:
        return otherwise
    raise BadAnswer(
        f"{client.address} has no records of tritonobs in this time; are its rules loaded, was it scraping?"
    )
