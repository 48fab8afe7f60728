"""From panels to a Grafana board: the only file that knows grafanalib, and what that lacks of Grafana 11.

What all boards share (data source, variables, links, marks, layout) is decided here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, Final

import hues
import marks
from extensions import rows_with_added
from grafanalib import core
from links import links_to_others
from thresholds import numbered
from variables import CLUSTER, Variable, hidden

from tritonobs import names
from tritonobs.render.rules import mixin_knobs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from marks import Mark
    from panels import Panel, Row
    from signals import Signal

COLUMNS: Final = 24
# Grafana 11.2's, the oldest that colours series by name as we mean it; newer ones take it as it is.
SCHEMA_VERSION: Final = 39
_CHOOSER: Final = "${datasource}"
_REFRESH_ON_TIME_CHANGE: Final = 2
_HIDDEN: Final = 2
_ALL: Final = "$__all"
_ONE_ALL: Final = {"selected": True, "text": "All", "value": _ALL}
# As the names of records say it (`rate5m`, `p99_5m`), and as ranges do.
_WINDOW: Final = re.compile(r"(?:(?<=[a-z_])|(?<=\[))(\d+)([smh])\b")
# A mean of a record over a longer time has that time's window.
_OVER: Final = re.compile(r"avg_over_time\([^\[\]]*(?=\[\d)")
_UNITS: Final = {"s": "s", "m": "min", "h": "h"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Knobs:
    """What a fleet file decides about boards; the defaults are the mixin's."""

    replica: str = names.INSTANCE
    triton: str = 'job="triton"'
    serve: str = 'job="tritonobs"'
    pools: str = ".*triton.*"
    """Which Deployments, StatefulSets and autoscalers are pools of servers."""
    source: str = ""
    """The uid of the data source; empty for a board that lets people choose one."""
    models: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The models of the fleet with their versions, for their colours; so are `slos` and `replicas`."""
    slos: tuple[str, ...] = ()
    replicas: tuple[str, ...] = ()
    cluster: str = names.CLUSTER
    """The label that distinguishes clusters."""
    mixin: Mapping[str, Any] = field(default_factory=lambda: mixin_knobs({}))
    """The mixin's knobs: boards draw lines where alerts begin, and windows are in the names of records."""


def board(
    name: str,
    title: str,
    question: str,
    rows: Iterable[Row],
    *,
    variables: Sequence[Variable] = (),
    knobs: Knobs,
    start: str = "now-1h",
) -> core.Dashboard:
    """A whole board. `question` is what it answers; its uid is `tritonobs-<name>`."""
    chosen = (CLUSTER, *variables, *hidden(variables))
    words = _words(knobs, {variable.name for variable in variables})
    source = {"type": "prometheus", "uid": knobs.source or _CHOOSER}
    return core.Dashboard(
        title=f"Triton / {title}",
        uid=names.board_uid(name),
        description=question,
        tags=[names.BOARD_TAG],
        editable=False,
        graphTooltip=core.GRAPH_TOOLTIP_MODE_SHARED_CROSSHAIR,
        schemaVersion=SCHEMA_VERSION,
        timezone="browser",
        refresh="30s",
        time=core.Time(start, "now"),
        version=1,
        annotations=core.Annotations(list=[_annotation(mark, words, source) for mark in marks.ALL]),
        templating=core.Templating(
            list=[
                *([] if knobs.source else [_source()]),
                *(_template(one, words, source) for one in chosen),
            ]
        ),
        links=links_to_others(name, {variable.name for variable in chosen}, chooser=not knobs.source),
        panels=_placed(rows_with_added(name, rows), words, source, knobs),
    )


def _words(knobs: Knobs, variables: set[str]) -> dict[str, str]:
    """What expressions are filled with."""
    cluster = f'{knobs.cluster}=~"$cluster"'
    model = f'{cluster}, model=~"$model"'
    subject = f'{model}, version=~"$version"'
    return {
        "short": knobs.mixin["shortWindow"],
        "medium": knobs.mixin["mediumWindow"],
        "replica": knobs.replica,
        "triton": knobs.triton,
        "serve": knobs.serve,
        "pools": knobs.pools,
        "cluster": cluster,
        "model": model,
        "subject": subject,
        "stage": f'{subject}, stage=~"$stage"',
        "by_cluster": knobs.cluster,
        "by_model": f"{knobs.cluster}, model",
        "by_subject": f"{knobs.cluster}, model, version",
        # Alerts about the board's models, and those about no model at all.
        "concerns": f'{cluster}, model=~"$model|"' if "model" in variables else cluster,
    }


def _placed(
    rows: Iterable[Row], words: Mapping[str, str], source: Mapping[str, str], knobs: Knobs
) -> list[Any]:
    """Panels from left to right, a new line where one does not fit; a headline above each row."""
    panels: list[Any] = []
    top = 0
    for row in rows:
        place = core.GridPos(h=1, w=COLUMNS, x=0, y=top)
        panels.append(
            {
                "type": "row",
                "id": len(panels) + 1,
                "title": row.title,
                "gridPos": place,
                "collapsed": False,
                "panels": [],
            }
        )
        top += 1
        left = tallest = 0
        for panel in row.panels:
            width, height = panel.size
            if left + width > COLUMNS:
                top, left, tallest = top + tallest, 0, 0
            place = core.GridPos(h=height, w=width, x=left, y=top)
            panels.append({"id": len(panels) + 1, "gridPos": place, **_panel(panel, words, source, knobs)})
            left, tallest = left + width, max(tallest, height)
        top += tallest
    return panels


def _panel(panel: Panel, words: Mapping[str, str], source: Mapping[str, str], knobs: Knobs) -> dict[str, Any]:
    """As Grafana 11 stores it: grafanalib's own classes write options that have moved since."""
    coloured = panel.signals if panel.kind == "timeseries" else ()
    return {
        "type": panel.kind,
        "title": titled(panel, words),
        "description": panel.description,
        "datasource": source,
        "maxDataPoints": panel.most_points,
        "interval": panel.shortest_step,
        "targets": [
            {"datasource": source, **_target(panel, signal, letter, words)}
            for letter, signal in zip(ascii_uppercase, panel.signals, strict=False)
        ],
        "transformations": panel.transformations,
        "fieldConfig": {
            "defaults": numbered(panel.defaults, knobs.mixin),
            # What a panel says of its own series comes last, and wins.
            "overrides": [
                *hues.of_fleet(coloured, knobs.models, knobs.slos, knobs.replicas),
                *numbered(panel.overrides, knobs.mixin),
            ],
        },
        "options": panel.options,
    }


def titled(panel: Panel, words: Mapping[str, str]) -> str:
    """The title with the window of the numbers, where all of them have the same."""
    texts = [_OVER.sub("", one.expr % words) for one in panel.signals]
    found = {window for text in texts for window in _WINDOW.findall(text)}
    if panel.kind == "table" or len(found) != 1:
        return panel.title
    ((length, unit),) = found
    window = f", {length} {_UNITS[unit]}"
    return panel.title if panel.title.endswith(window) else panel.title + window


def _target(panel: Panel, signal: Signal, letter: str, words: Mapping[str, str]) -> dict[str, Any]:
    return {
        "editorMode": "code",
        "expr": signal.expr % words,
        "format": panel.form,
        "instant": panel.instant,
        "range": not panel.instant,
        "legendFormat": signal.legend % words,
        "refId": letter,
        **({"exemplar": True} if signal.exemplars else {}),
    }


def _source() -> dict[str, Any]:
    return {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "description": "The Prometheus that scrapes the Triton servers.",
        "hide": 0,
        "includeAll": False,
        "multi": False,
        "options": [],
        "refresh": 1,
        "regex": "",
    }


def _template(variable: Variable, words: Mapping[str, str], source: Mapping[str, str]) -> dict[str, Any]:
    query = variable.query % words
    everything = {"selected": True, "text": ["All"], "value": [_ALL]} if variable.multi else _ONE_ALL
    return {
        "name": variable.name,
        "label": variable.label,
        "description": variable.description,
        "type": "query",
        "datasource": source,
        "definition": query,
        "query": query,
        "refresh": _REFRESH_ON_TIME_CHANGE,
        "sort": int(variable.ordered),
        "regex": variable.regex,
        "multi": variable.multi,
        "includeAll": variable.every,
        # Rows over all versions, and those of a Prometheus with one cluster, lack the label altogether.
        "allValue": ".*" if variable.every else None,
        **({"current": everything} if variable.every else {}),
        "hide": _HIDDEN if variable.hidden else 0,
        "options": [],
    }


def _annotation(mark: Mark, words: Mapping[str, str], source: Mapping[str, str]) -> dict[str, Any]:
    return {
        "name": mark.name,
        "datasource": source,
        "enable": mark.shown,
        "expr": mark.expr % words,
        "iconColor": mark.colour,
        "step": marks.STEP,
        "titleFormat": mark.title,
        "textFormat": mark.text,
        "useValueForTime": False,
    }
