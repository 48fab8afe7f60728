"""Spec → plan: everything inherited and derived, nonsense refused."""

from __future__ import annotations

from pathlib import Path

from tritonobs.errors import SpecInvalid
from tritonobs.findings import Severity
from tritonobs.plan.check import check
from tritonobs.plan.declared import declared_limits, token_limits
from tritonobs.plan.fleet import (
    Addresses,
    Plan,
    PrometheusSettings,
    Traces,
    build_models,
    build_replicas,
    build_source,
)
from tritonobs.plan.kubernetes import build_kubernetes
from tritonobs.plan.limits import resolve_limits
from tritonobs.plan.notify import build_notify
from tritonobs.plan.objectives import promises, slo
from tritonobs.plan.rules import build_rules
from tritonobs.spec.schema import Spec

_DAY_SECONDS = 86_400


def _serve_link(spec: Spec) -> str:
    """Where people reach `tritonobs serve`."""
    return spec.addresses.public.serve or spec.addresses.serve


def build_plan(spec: Spec, base: Path) -> Plan:
    """What the fleet file means; relative paths in it count from `base`, its folder.

    Raises:
        SpecInvalid: with every error found; warnings do not stop a plan (`plan.check.check` tells them).
    """
    errors = [finding for finding in check(spec) if finding.severity is Severity.ERROR]
    if errors:
        raise SpecInvalid(errors)
    models, declared = build_models(spec), tuple(declared_limits(spec))
    return Plan(
        fleet=spec.fleet,
        cluster=spec.cluster,
        replicas=build_replicas(spec),
        replica_source=build_source(spec, base),
        models=models,
        limits=resolve_limits(models, declared),
        declared_limits=declared,
        token_limits=tuple(token_limits(spec)),
        slos=tuple(slo(promise) for promise in promises(spec)),
        # `check` refuses a period or a retention that is not in whole days, so `int` cuts nothing off.
        slo_period_days=int(spec.slo_period / _DAY_SECONDS),
        limits_source=spec.limits_source,
        addresses=Addresses(
            prometheus_url=spec.addresses.prometheus,
            alertmanager_url=spec.addresses.alertmanager,
            serve_url=spec.addresses.serve,
            prometheus_link=spec.addresses.public.prometheus or spec.addresses.prometheus,
            runbooks_link=spec.addresses.runbooks or f"{_serve_link(spec)}/runbooks",
            serve_link=_serve_link(spec),
            alertmanager_link=spec.addresses.public.alertmanager or spec.addresses.alertmanager,
            grafana_url=spec.addresses.grafana or "",
            serve_names=spec.addresses.serve_names,
        ),
        prometheus=PrometheusSettings(
            scrape_interval_seconds=spec.prometheus.scrape_interval,
            evaluation_interval_seconds=spec.prometheus.evaluation_interval,
            retention_days=int(spec.prometheus.retention / _DAY_SECONDS),
            discovery=spec.prometheus.discovery,
            shards=spec.prometheus.shards,
            agents=spec.prometheus.agents,
        ),
        traces=Traces(
            receiver_url=spec.traces.receiver or spec.addresses.serve, forward=spec.traces.forward or ""
        ),
        notify=build_notify(spec.notify, spec.own_alertmanager, base),
        kubernetes=build_kubernetes(spec, base),
        rules=build_rules(spec),
    )
