"""Alertmanager's configuration (0.25 and newer): ours alone, or merged into the user's own.

A fragment is written beside it, for an Alertmanager whose configuration is kept elsewhere.
"""

from __future__ import annotations

import copy
from importlib import resources
from pathlib import Path
from typing import Any

from tritonobs.plan.fleet import Plan
from tritonobs.render.artifact import Artifact, yaml_text
from tritonobs.render.inhibition import inhibit_rules
from tritonobs.render.receivers import receivers
from tritonobs.render.routing import branches, whole_tree
from tritonobs.spec.notify import OwnAlertmanager

Config = dict[str, Any]
PATH = "alertmanager/alertmanager.yml"
FRAGMENT = "alertmanager/fragment.yml"
_TEMPLATES = "templates/tritonobs.tmpl"


def render_alertmanager(plan: Plan) -> tuple[Artifact, ...]:
    """The configuration, the fragment and the message templates; no secret is read for them."""
    own = plan.notify.alertmanager
    config = _alone(plan) if own is None else _merged(plan, own)
    source = "" if own is None else " and notify.alertmanager_file"
    comment = f"Made by tritonobs from the fleet file of {plan.fleet}{source}; change those and build again."
    how = (
        f"Made by tritonobs from the fleet file of {plan.fleet}. For an Alertmanager that is configured "
        "elsewhere: add each list to the list of the same name there, our routes first, and copy the template"
    )
    templates = resources.files("tritonobs.render") / "templates" / "tritonobs.tmpl"
    return (
        Artifact(path=PATH, text=yaml_text(config, comment=comment)),
        Artifact(path=FRAGMENT, text=yaml_text(fragment(plan), comment=how)),
        Artifact(path=f"alertmanager/{_TEMPLATES}", text=templates.read_text(encoding="utf-8")),
    )


def _alone(plan: Plan) -> Config:
    return {
        "templates": [_TEMPLATES],
        "route": whole_tree(plan),
        "inhibit_rules": inhibit_rules(plan),
        "receivers": receivers(plan),
    }


def fragment(plan: Plan) -> Config:
    """Ours, as lists to add to those of another configuration."""
    return {
        "templates": [_TEMPLATES],
        "route": {"routes": branches(plan)},
        "inhibit_rules": inhibit_rules(plan),
        "receivers": receivers(plan),
    }


def _merged(plan: Plan, own: OwnAlertmanager) -> Config:
    """The user's configuration with our routes before theirs, so that none of theirs takes our alerts.

    Their routes to receivers of ours stay first: that is how they mute or delay our alerts.
    """
    config: Config = _absolute(copy.deepcopy(dict(own.config)), own.folder)
    ours = fragment(plan)
    config["templates"] = [*config.get("templates", []), *ours["templates"]]
    config["inhibit_rules"] = [*config.get("inhibit_rules", []), *ours["inhibit_rules"]]
    config["receivers"] = [*config.get("receivers", []), *ours["receivers"]]
    names = {receiver["name"] for receiver in ours["receivers"]}
    routes = config["route"].get("routes", [])
    first = [route for route in routes if route.get("receiver") in names]
    rest = [route for route in routes if route.get("receiver") not in names]
    config["route"]["routes"] = [*first, *ours["route"]["routes"], *rest]
    return config


def _absolute(value: Any, folder: Path, key: str = "") -> Any:  # noqa: ANN401 (any YAML value)
    """The value with every path absolute: what is written moves to another folder."""
    if isinstance(value, dict):
        return {name: _absolute(below, folder, str(name)) for name, below in value.items()}
    if isinstance(value, list):
        return [_absolute(below, folder, key) for below in value]
    if isinstance(value, str) and (key == "templates" or key.endswith("_file")):
        return str(folder / value)
    return value
