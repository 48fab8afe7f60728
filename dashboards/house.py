"""From panels to a Grafana board: the only file that knows grafanalib, and what that lacks of Grafana 10.

What all boards share (data source, variables, links, marks, layout) is decided here.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, Final

import marks
from grafanalib import core
from variables import CLUSTER, Variable

from tritonobs import names
from tritonobs.plan.windows import rule_windows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from marks import Mark
    from panels import Panel, Row
    from signals import Signal

COLUMNS: Final = 24
# Grafana 10.0's; newer ones take it as it is, older ones lack panels we use.
SCHEMA_VERSION: Final = 38
SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
_REFRESH_ON_TIME_CHANGE: Final = 2
_ALL: Final = "$__all"
_ONE_ALL: Final = {"selected": True, "text": "All", "value": _ALL}
_WINDOWS: Final = rule_windows(Decimal(15), Decimal(15))


@dataclass(frozen=True, slots=True, kw_only=True)
class Knobs:
    """What a fleet file decides about boards; the defaults are the mixin's."""

    short: str = _WINDOWS.short
    medium: str = _WINDOWS.medium
    replica: str = names.INSTANCE
    triton: str = 'job="triton"'
    serve: str = 'job="tritonobs"'


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
    chosen = (CLUSTER, *variables)
    words = _words(knobs, {variable.name for variable in chosen})
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
        annotations=core.Annotations(list=[_annotation(mark, words) for mark in marks.ALL]),
        templating=core.Templating(list=[_source(), *(_template(one, words) for one in chosen)]),
        links=[core.DashboardLink(title="Boards", tags=[names.BOARD_TAG], includeVars=True, keepTime=True)],
        panels=_placed(rows, words),
    )


def _words(knobs: Knobs, variables: set[str]) -> dict[str, str]:
    """What expressions are filled with."""
    cluster = 'cluster=~"$cluster"'
    model = f'{cluster}, model=~"$model"'
    subject = f'{model}, version=~"$version"'
    return {
        "short": knobs.short,
        "medium": knobs.medium,
        "replica": knobs.replica,
        "triton": knobs.triton,
        "serve": knobs.serve,
        "cluster": cluster,
        "model": model,
        "subject": subject,
        "stage": f'{subject}, stage=~"$stage"',
        "by_model": "cluster, model",
        "by_subject": "cluster, model, version",
        # Alerts about the board's models, and those about no model at all.
        "concerns": f'{cluster}, model=~"$model|"' if "model" in variables else cluster,
    }


def _placed(rows: Iterable[Row], words: Mapping[str, str]) -> list[Any]:
    """Panels from left to right, a new line where one does not fit; a headline above each row."""
    panels: list[Any] = []
    top = 0
    for row in rows:
        place = core.GridPos(h=1, w=COLUMNS, x=0, y=top)
        panels.append(core.RowPanel(title=row.title, gridPos=place, id=len(panels) + 1))
        top += 1
        left = tallest = 0
        for panel in row.panels:
            width, height = panel.size
            if left + width > COLUMNS:
                top, left, tallest = top + tallest, 0, 0
            place = core.GridPos(h=height, w=width, x=left, y=top)
            panels.append({"id": len(panels) + 1, "gridPos": place, **_panel(panel, words)})
            left, tallest = left + width, max(tallest, height)
        top += tallest
    return panels


def _panel(panel: Panel, words: Mapping[str, str]) -> dict[str, Any]:
    """As Grafana 10 stores it: grafanalib's own classes write options that have moved since."""
    return {
        "type": panel.sort,
        "title": panel.title,
        "description": panel.description,
        "datasource": SOURCE,
        "maxDataPoints": panel.most_points,
        "interval": panel.shortest_step,
        "targets": [
            _target(panel, signal, letter, words)
            for letter, signal in zip(ascii_uppercase, panel.signals, strict=False)
        ],
        "transformations": panel.transformations,
        "fieldConfig": {"defaults": panel.defaults, "overrides": panel.overrides},
        "options": panel.options,
    }


def _target(panel: Panel, signal: Signal, letter: str, words: Mapping[str, str]) -> dict[str, Any]:
    return {
        "datasource": SOURCE,
        "editorMode": "code",
        "expr": signal.expr % words,
        "format": panel.form,
        "instant": panel.instant,
        "range": not panel.instant,
        "legendFormat": signal.legend % words,
        "refId": letter,
    }


def _source() -> dict[str, Any]:
    return {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "description": "The Prometheus that scrapes the Triton servers.",
        "current": {},
        "hide": 0,
        "includeAll": False,
        "multi": False,
        "options": [],
        "refresh": 1,
        "regex": "",
    }


def _template(variable: Variable, words: Mapping[str, str]) -> dict[str, Any]:
    query = variable.query % words
    everything = {"selected": True, "text": ["All"], "value": [_ALL]} if variable.multi else _ONE_ALL
    return {
        "name": variable.name,
        "label": variable.label,
        "description": variable.description,
        "type": "query",
        "datasource": SOURCE,
        "definition": query,
        "query": query,
        "refresh": _REFRESH_ON_TIME_CHANGE,
        "sort": int(variable.ordered),
        "regex": variable.regex,
        "multi": variable.multi,
        "includeAll": variable.every,
        # Rows over all versions, and those of a Prometheus with one cluster, lack the label altogether.
        "allValue": ".*" if variable.every else None,
        "current": everything if variable.every else {},
        "hide": 0,
        "options": [],
    }


def _annotation(mark: Mark, words: Mapping[str, str]) -> dict[str, Any]:
    return {
        "name": mark.name,
        "datasource": SOURCE,
        "enable": True,
        "expr": mark.expr % words,
        "iconColor": mark.colour,
        "step": "60s",
        "titleFormat": mark.title,
        "textFormat": mark.text,
        "useValueForTime": False,
    }
