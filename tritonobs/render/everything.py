"""All artifacts of a fleet, in one call."""

from __future__ import annotations

from itertools import chain
from pathlib import PurePosixPath

from tritonobs.plan.fleet import Plan
from tritonobs.render.alertmanager import render_alertmanager
from tritonobs.render.artifact import Artifact
from tritonobs.render.grafana import PROVISIONING, render_grafana
from tritonobs.render.objectives import render_objectives
from tritonobs.render.prometheus import render_prometheus
from tritonobs.render.rules import render_rules
from tritonobs.render.shards import render_shards

_RENDERERS = (render_prometheus, render_rules, render_objectives, render_alertmanager)


def render_fleet(plan: Plan, provisioning: PurePosixPath = PROVISIONING) -> tuple[Artifact, ...]:
    """Every file that Prometheus, Alertmanager and Grafana need; the same plan gives the same bytes.

    `provisioning` is the folder that Grafana will read its files from.

    Raises:
        RenderFailed: the rules could not be made.
    """
    if plan.rules.tier == "shard":
        return tuple(render_shards(plan))
    return (
        *chain.from_iterable(render(plan) for render in _RENDERERS),
        *(render_shards(plan) if plan.rules.tier == "global" else ()),
        *render_grafana(plan, provisioning),
    )
