"""A fleet file held against what runs: stages it names that no model reports."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs import names
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.findings import Finding, Place, Severity
from tritonobs.plan.fleet import Plan
from tritonobs.spec.words import listed, nearest, quoted
from tritonobs.timings import promql

_ENSEMBLE = "ensemble"
_HOUR = "1h"


def unknown_stages(plan: Plan, prometheus: PrometheusClient, file: str) -> Iterator[Finding]:
    """Warnings for calls under names that their pipelines, which report stages, do not report.

    Raises:
        ClientError: Prometheus did not answer.
    """
    scope = promql.Scope(
        cluster=plan.cluster if plan.rules.cluster_label else "",
        label=plan.rules.cluster_label or names.CLUSTER,
    )
    # An hour back, so that servers which are away just now have a say.
    counted = f"last_over_time({names.STAGE_DURATION}_count{scope.of()}[{_HOUR}])"
    reported: dict[str, set[str]] = {}
    for reading in prometheus.query(promql.summed(counted, (names.MODEL, names.STAGE))):
        stages = reported.setdefault(reading.labels.get(names.MODEL, ""), set())
        stages.add(reading.labels.get(names.STAGE, ""))
    for model in plan.models:
        there = sorted(reported.get(model.name, set()) - {names.TOTAL_STAGE})
        # An ensemble runs no code, so no stage of it is ever reported.
        for call in model.calls if model.kind != _ENSEMBLE and there else ():
            if call.stage not in there:
                yield Finding(
                    place=Place(file=file),
                    path=f"models.{model.name}.calls.{call.stage}",
                    message=f"{model.name} reports no stage {quoted(call.stage)}; it reports {listed(there)}",
                    hint=nearest(call.stage, there),
                    severity=Severity.WARNING,
                )
