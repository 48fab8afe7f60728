"""Grafana's provisioning: the data sources, and the folder with the boards."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from tritonobs import names
from tritonobs.render.artifact import Artifact, yaml_text
from tritonobs.render.dashboards import FOLDER, SOURCE, render_dashboards
from tritonobs.units import format_duration

if TYPE_CHECKING:
    from tritonobs.plan.fleet import Plan

PROVISIONING: Final = PurePosixPath("/etc/grafana/provisioning")
"""Where Grafana's packages and image look; the folder `grafana` of a build goes there."""

_NOTHING: Final = {
    "plugins": {"apiVersion": 1, "apps": []},
    "notifiers": {"apiVersion": 1, "notifiers": []},
    "alerting": {"apiVersion": 1, "groups": []},
}
_COMMENT = "Made by tritonobs build from the fleet {fleet}; goes to {folder}."


def render_grafana(plan: Plan, folder: PurePosixPath = PROVISIONING) -> tuple[Artifact, ...]:
    """Data sources, folder and boards, for a Grafana that reads its provisioning from `folder`."""
    comment = _COMMENT.format(fleet=" ".join(plan.fleet.split()), folder=folder)
    return (
        Artifact(path="grafana/datasources/tritonobs.yaml", text=yaml_text(_sources(plan), comment=comment)),
        Artifact(path="grafana/dashboards/tritonobs.yaml", text=yaml_text(_boards(folder), comment=comment)),
        # Grafana looks for these folders, too, and logs an error for each that is not there.
        *(
            Artifact(path=f"grafana/{name}/tritonobs.yaml", text=yaml_text(nothing, comment=comment))
            for name, nothing in _NOTHING.items()
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
        "isDefault": True,
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
    """Grafana takes `$NAME` in these files for a variable of its environment."""
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
