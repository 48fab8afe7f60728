"""A fleet file compared with what runs: models, versions and stages that Prometheus does not know."""

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


def unknown_names(plan: Plan, prometheus: PrometheusClient, file: str) -> Iterator[Finding]:
    """Warnings for models and versions that no server had loaded, and for calls that pipelines do not report.

    It reads the last hour, so that servers that are down now count.

    Raises:
        ClientError: Prometheus did not answer.
    """
    scope = promql.Scope(
        cluster=plan.cluster if plan.rules.cluster_label else "",
        label=plan.rules.cluster_label or names.CLUSTER,
    )
    yield from _unknown_models(plan, prometheus, scope, file)
    yield from _unknown_stages(plan, prometheus, scope, file)


def _unknown_models(
    plan: Plan, prometheus: PrometheusClient, scope: promql.Scope, file: str
) -> Iterator[Finding]:
    loaded = f"last_over_time({names.TRITON_SUCCESS}{scope.of()}[{_HOUR}])"
    versions: dict[str, set[str]] = {}
    for reading in prometheus.query(promql.summed(loaded, promql.MODEL_VERSION)):
        known = versions.setdefault(reading.labels.get(names.MODEL, ""), set())
        known.add(reading.labels.get(names.VERSION, ""))
    if not versions:
        where = f" with {scope.label}={quoted(scope.cluster)}" if scope.cluster else ""
        yield _warning(
            file,
            "models",
            f"Prometheus has seen no model{where} within the hour",
            "is Triton scraped, and do its targets have that label?",
        )
        return
    for model in plan.models:
        there = versions.get(model.name)
        if there is None:
            seen = listed(sorted(versions))
            message = f"no server has loaded {quoted(model.name)} within the hour; seen: {seen}"
            yield _warning(file, f"models.{model.name}", message, nearest(model.name, sorted(versions)))
            continue
        for version in model.versions:
            if version not in there:
                message = (
                    f"no server has loaded version {quoted(version)} of {model.name} within the hour; "
                    f"seen: {listed(sorted(there))}"
                )
                yield _warning(file, f"models.{model.name}.versions.{version}", message, "")


def _unknown_stages(
    plan: Plan, prometheus: PrometheusClient, scope: promql.Scope, file: str
) -> Iterator[Finding]:
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
                message = f"{model.name} reports no stage {quoted(call.stage)}; it reports {listed(there)}"
                path = f"models.{model.name}.calls.{call.stage}"
                yield _warning(file, path, message, nearest(call.stage, there))


def _warning(file: str, path: str, message: str, hint: str) -> Finding:
    return Finding(place=Place(file=file), path=path, message=message, hint=hint, severity=Severity.WARNING)
