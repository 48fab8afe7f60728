"""Boards as grafana.com and Grafana's page *Import* take them: they ask for the data source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tritonobs.render.grafana import board_text, load_boards

INPUT: Final = "DS_PROMETHEUS"
_GRAFANA = "11.2.0"
"""The oldest release that the boards are for, as docs/dashboards.md says."""
_PANELS: Final = {
    "bargauge": "Bar gauge",
    "heatmap": "Heatmap",
    "stat": "Stat",
    "state-timeline": "State timeline",
    "table": "Table",
    "timeseries": "Time series",
}


def board_files() -> dict[str, str]:
    """The text of every board by its name.

    Raises:
        KeyError: a board has a kind of panel that is not known here.
    """
    return {name: board_text(shared(board)) for name, board in load_boards().items()}


def shared(board: Mapping[str, Any]) -> dict[str, Any]:
    """The board with the data source as an input, and with what it needs of Grafana.

    Queries go on reading the variable `datasource`, because links between boards hand it over. It begins with
    the data source that was chosen at the import.
    """
    kinds = sorted({panel["type"] for panel in board["panels"]} - {"row"})
    chosen = {"selected": True, "text": f"${{{INPUT}}}", "value": f"${{{INPUT}}}"}
    variables = [
        {**one, "current": chosen} if one["type"] == "datasource" else one
        for one in board["templating"]["list"]
    ]
    return {
        **board,
        "__elements": {},
        "__inputs": [
            {
                "name": INPUT,
                "label": "Prometheus",
                "description": "The Prometheus that has the rules of tritonobs.",
                "type": "datasource",
                "pluginId": "prometheus",
                "pluginName": "Prometheus",
            }
        ],
        "__requires": [
            {"type": "grafana", "id": "grafana", "name": "Grafana", "version": _GRAFANA},
            {"type": "datasource", "id": "prometheus", "name": "Prometheus", "version": "1.0.0"},
            *({"type": "panel", "id": kind, "name": _PANELS[kind], "version": ""} for kind in kinds),
        ],
        "id": None,
        "templating": {"list": variables},
    }
