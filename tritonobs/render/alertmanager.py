"""Alertmanager's configuration (0.25 and newer): ours alone, or merged into the user's own.

A fragment is written beside it, for an Alertmanager whose configuration is kept elsewhere. Inhibitions say
which alerts make which others superfluous.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final

from tritonobs import names
from tritonobs.plan.fleet import Plan
from tritonobs.render.artifact import Artifact, yaml_text
from tritonobs.render.routing import branches, matcher, receivers, whole_tree
from tritonobs.spec.notify import OwnAlertmanager

Config = dict[str, Any]
PATH = "alertmanager/alertmanager.yml"
FRAGMENT = "alertmanager/fragment.yml"
_TEMPLATES = "templates/tritonobs.tmpl"

_SUBJECT = ("cluster", "model", "version")
_LIMITS = ("TritonQpsNearLimit", "TritonQpsWillExceedLimit", "TritonQpsSpike")
_PAGES = ("TritonErrorBudgetBurnFast", "TritonErrorBudgetBurnMedium")
_BURNS = tuple(f"TritonErrorBudgetBurn{tier}" for tier in ("Fast", "Medium", "Slow", "Long"))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Superfluous:
    """While one of `causes` fires, `effects` with the same `equal` labels are not sent.

    An effect that outlives its cause is sent when the cause is over, as if something new had happened:
    entries of the table end with their cause, or must be known after it (`bench/incidents.py`). With
    `cause_slo` and `effect_reason` only alerts about that SLO and that reason are meant.
    """

    causes: tuple[str, ...]
    effects: tuple[str, ...]
    equal: tuple[str, ...]
    cause_slo: str = ""
    effect_reason: str = ""


TABLE: Final = (
    # A server that is down explains what its own models, workers and pages seem to lack.
    Superfluous(
        causes=("TritonServerDown",),
        effects=(
            "TritonMetricsEmpty",
            "TritonRestartLoop",
            "TritonReplicaSlow",
            "TritonWorkerDead",
            "TritonModelReloaded",
            "TritonStageMetricsFailing",
            "TritonHostMemoryPressure",
        ),
        equal=("cluster", names.REPLICA),
    ),
    # On an empty page every model is missing.
    Superfluous(
        causes=("TritonMetricsEmpty",), effects=("TritonModelMissing",), equal=("cluster", names.REPLICA)
    ),
    Superfluous(
        causes=("TritonModelUnloaded",),
        effects=("TritonSliMissing", "TritonVersionNotLoaded"),
        equal=_SUBJECT,
    ),
    Superfluous(
        causes=("TritonModelUnloaded",), effects=("TritonTrafficStopped",), equal=("cluster", "model")
    ),
    Superfluous(causes=("TritonTrafficStopped",), effects=("TritonTrafficDrop",), equal=("cluster", "model")),
    # Above the limit is more than near it, and no forecast.
    Superfluous(causes=("TritonQpsAboveLimit",), effects=_LIMITS, equal=_SUBJECT),
    Superfluous(causes=("TritonTokensAboveLimit",), effects=("TritonTokensNearLimit",), equal=_SUBJECT),
    # For one SLO, the fastest burn is enough.
    *(
        Superfluous(causes=(fast,), effects=_BURNS[place + 1 :], equal=(*_SUBJECT, names.SLO))
        for place, fast in enumerate(_BURNS[:-1])
    ),
    # Errors that spend the budget at the rate of a page: why is in the page.
    Superfluous(
        causes=_PAGES,
        cause_slo="availability",
        effects=("TritonErrorReasonSurge",),
        equal=("cluster", "model"),
    ),
    # A dead worker fails what it gets; Triton counts that for the backend.
    Superfluous(
        causes=("TritonWorkerDead",),
        effects=("TritonErrorReasonSurge",),
        equal=_SUBJECT,
        effect_reason="BACKEND",
    ),
    # All model instances busy means that requests wait.
    Superfluous(causes=("TritonSaturated",), effects=("TritonQueueWaitHigh",), equal=_SUBJECT),
    Superfluous(causes=("TritonobsServeDown",), effects=("TritonLimitSourceLost",), equal=("cluster",)),
)
# More requests to a pipeline are more requests to its members. All other alerts of a member (that it is
# saturated, that requests wait, that it fails) may be the cause of its pipeline's, and are sent. One short
# pattern, because a fleet may have hundreds of pipelines.
_FELT_BY_MEMBERS: Final = 'alertname=~"TritonQps.+"'


def inhibit_rules(plan: Plan) -> list[dict[str, Any]]:
    """The rules; none mutes an alert by itself, none mutes an alert about something else."""
    return [*_table(plan), *_pipelines(plan)]


def _table(plan: Plan) -> Iterator[dict[str, Any]]:
    own = {names.CLUSTER: plan.rules.cluster_label, names.REPLICA: plan.rules.replica_label}
    for one in TABLE:
        yield {
            "source_matchers": list(_about(one.causes, {names.SLO: one.cause_slo})),
            "target_matchers": list(_about(one.effects, {names.REASON: one.effect_reason})),
            "equal": [label for name in one.equal if (label := own.get(name, name))],
        }


def _about(alerts: tuple[str, ...], labels: Mapping[str, str]) -> Iterator[str]:
    yield matcher("alertname", alerts)
    yield from (matcher(label, (value,)) for label, value in labels.items() if value)


def _pipelines(plan: Plan) -> Iterator[dict[str, Any]]:
    """A page about too many requests to a pipeline is enough: its members need no page of their own."""
    callers: dict[tuple[str, ...], list[str]] = {}
    for model in plan.models:
        members = tuple(dict.fromkeys(call.model for call in model.calls))
        if members:
            callers.setdefault(members, []).append(model.name)
    for members, pipelines in callers.items():
        yield {
            "source_matchers": [
                matcher("alertname", ("TritonQpsAboveLimit",)),
                matcher(names.MODEL, tuple(pipelines)),
            ],
            "target_matchers": [_FELT_BY_MEMBERS, matcher(names.MODEL, members)],
            "equal": list(plan.cluster_labels),
        }
