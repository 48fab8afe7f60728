"""Grafana's provisioning: the data sources, and the folder with the boards.

Boards are loaded from `dashboards/*.dashboard.py` by path and written as Grafana reads them.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeVar

from tritonobs import assets, names
from tritonobs.plan.fleet import Plan
from tritonobs.render.artifact import Artifact, yaml_text
from tritonobs.render.rules import mixin_knobs, rules_config
from tritonobs.units import format_duration

PROVISIONING: Final = PurePosixPath("/etc/grafana/provisioning")
"""Where Grafana's packages and image look; the folder `grafana` of a build goes there."""
_NOTHING: Final = {
    "plugins": {"apiVersion": 1, "apps": []},
    "notifiers": {"apiVersion": 1, "notifiers": []},
    "alerting": {"apiVersion": 1, "groups": []},
}
_COMMENT = "Made by tritonobs build from the fleet {fleet}; goes to {folder}."

FOLDER: Final = "grafana/dashboards/boards"
SOURCE: Final = f"{names.BOARD_TAG}-prometheus"
"""The uid of our data source: a built board never reads another Prometheus that happens to come first."""
_MOST_COLOURED: Final = 100
_T = TypeVar("_T")
# What grafanalib writes for Grafana 4 to 7.
_OLD: Final = frozenset(
    {"__inputs", "gnetId", "hideControls", "rows", "sharedCrosshair", "style", "timepicker"}
)


def render_grafana(plan: Plan, folder: PurePosixPath = PROVISIONING) -> tuple[Artifact, ...]:
    """Data sources, folder and boards, for a Grafana that reads its provisioning from `folder`."""
    comment = _COMMENT.format(fleet=" ".join(plan.fleet.split()), folder=folder)
    # Grafana looks for the last three folders, too, and logs an error for each that is not there.
    folders = {"datasources": _sources(plan), "dashboards": _boards(folder), **_NOTHING}
    return (
        *(
            Artifact(path=f"grafana/{name}/tritonobs.yaml", text=yaml_text(value, comment=comment))
            for name, value in folders.items()
        ),
        *render_dashboards(plan),
    )


def _sources(plan: Plan) -> dict[str, object]:
    prometheus = {
        "name": "Prometheus (Triton)",
        "uid": SOURCE,
        "type": "prometheus",
        "access": "proxy",
        "url": _literal(plan.addresses.prometheus_url),
        # Not the default: a Grafana with a default of its own would not start, and boards ask for the uid.
        "editable": False,
        "jsonData": {
            "httpMethod": "POST",
            # Shorter steps than a scrape would draw holes.
            "timeInterval": format_duration(plan.prometheus.scrape_interval_seconds),
            "manageAlerts": True,
        },
    }
    alertmanager = {
        "name": "Alertmanager (Triton)",
        "uid": f"{names.BOARD_TAG}-alertmanager",
        "type": "alertmanager",
        "access": "proxy",
        "url": _literal(plan.addresses.alertmanager_url),
        "editable": False,
        "jsonData": {"implementation": "prometheus", "handleGrafanaManagedAlerts": False},
    }
    return {"apiVersion": 1, "datasources": [prometheus, alertmanager]}


def _literal(text: str) -> str:
    """Grafana reads `$NAME` in these files as a variable of its environment."""
    return text.replace("$", "$$")


def _boards(folder: PurePosixPath) -> dict[str, object]:
    provider = {
        "name": names.BOARD_TAG,
        "orgId": 1,
        "folder": "Triton",
        "folderUid": names.BOARD_TAG,
        "type": "file",
        "disableDeletion": True,
        "allowUiUpdates": False,
        "updateIntervalSeconds": 30,
        "options": {"path": str(folder / PurePosixPath(FOLDER).relative_to("grafana"))},
    }
    return {"apiVersion": 1, "providers": [provider]}


def board_knobs(plan: Plan) -> dict[str, Any]:
    """What the fleet file decides about boards: the replica's label, names, and what it decides about rules.

    Names of models, SLOs and replicas are for their colours.
    """
    rules = plan.rules
    return {
        "replica": rules.replica_label,
        "triton": rules.selector,
        "serve": rules.serve_selector,
        "pools": rules.pool_names,
        "source": SOURCE,
        "cluster": rules.cluster_label or names.CLUSTER,
        "mixin": mixin_knobs(rules_config(plan)),
        "models": _few(tuple((model.name, model.versions) for model in plan.models)),
        "slos": _few(tuple(sorted({slo.name for slo in plan.slos}))),
        "replicas": _few(tuple(replica.name for replica in plan.replicas)),
    }


def _few(named: tuple[_T, ...]) -> tuple[_T, ...]:
    """Names that get colours of their own: hundreds look alike and make large boards."""
    return named if len(named) <= _MOST_COLOURED else ()


def load_boards(knobs: Mapping[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    """Every board by its name, as the JSON value that Grafana reads; the same knobs give the same value.

    Without `knobs`, the boards fit the rules mixin as it is.
    """
    with _importable(assets.folder("dashboards")) as folder:
        layout = importlib.import_module("layout")
        return {
            name: _plain(_load(folder / f"{name}.dashboard.py").build(layout.Knobs(**knobs or {})))
            for name in names.BOARDS
        }


def board_text(board: Mapping[str, Any]) -> str:
    """The text of a board's file: keys sorted, so that a change shows as itself."""
    return json.dumps(board, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def render_dashboards(plan: Plan, source: str = SOURCE) -> tuple[Artifact, ...]:
    """One file a board; the same plan gives the same bytes. Without a `source`, people choose one."""
    return tuple(
        Artifact(path=f"{FOLDER}/{names.board_uid(name)}.json", text=board_text(board))
        for name, board in load_boards({**board_knobs(plan), "source": source}).items()
    )


@contextmanager
def _importable(folder: Path) -> Iterator[Path]:
    """Let the files in `folder` import each other, as `PYTHONPATH=dashboards generate-dashboard` does."""
    sys.path.insert(0, str(folder))
    before = set(sys.modules)
    try:
        yield folder
    finally:
        sys.path.remove(str(folder))
        # Modules with names as common as `signals` would hide those of the program that calls us.
        for name in set(sys.modules) - before:
            if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(folder):
                del sys.modules[name]


def _load(path: Path) -> Any:  # noqa: ANN401 (a module found by path has no type)
    spec = importlib.util.spec_from_file_location(f"tritonobs_board_{path.name.split('.')[0]}", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _plain(dashboard: object) -> dict[str, Any]:
    """Dictionaries and lists only, without unset and obsolete fields."""
    board = json.loads(json.dumps(dashboard, default=lambda value: value.to_json_data()))
    kept = {key: value for key, value in _set(board).items() if key not in _OLD}
    return kept | {
        "panels": [_set(panel) for panel in board["panels"]],
        "templating": {"list": [_set(variable) for variable in board["templating"]["list"]]},
    }


def _set(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
