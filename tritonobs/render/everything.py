"""All artifacts of a fleet, in one call."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from tritonobs.render.alertmanager import render_alertmanager
from tritonobs.render.grafana import render_grafana
from tritonobs.render.kubernetes import render_kubernetes
from tritonobs.render.objectives import render_objectives
from tritonobs.render.prometheus import render_prometheus
from tritonobs.render.rules import render_rules

if TYPE_CHECKING:
    from tritonobs.plan.fleet import Plan
    from tritonobs.render.artifact import Artifact

_RENDERERS = (render_prometheus, render_rules, render_objectives, render_alertmanager, render_grafana)


def render_fleet(plan: Plan) -> tuple[Artifact, ...]:
    """Every file that Prometheus, Alertmanager and Grafana need; the same plan gives the same bytes.

    Raises:
        RenderFailed: the rules could not be made.
    """
    artifacts = tuple(chain.from_iterable(render(plan) for render in _RENDERERS))
    return (*artifacts, *render_kubernetes(plan, artifacts))
