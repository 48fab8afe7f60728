"""Limits and objectives as series: the same samples for the rules file and for `tritonobs serve`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import chain

from tritonobs import names
from tritonobs.plan import graph
from tritonobs.plan.fleet import ALL_VERSIONS, Plan, QpsLimit
from tritonobs.plan.limits import limits_at
from tritonobs.stage.series import format_bound

_ONE = Decimal(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One series with its value now. A label with an empty value is, for Prometheus, no label."""

    name: str
    labels: Mapping[str, str]
    value: Decimal


def objective_series(plan: Plan, now: datetime) -> Iterator[Sample]:
    """Everything the rules join with, as it holds at `now`; no two samples share name and labels."""
    return chain(limit_series(limits_at(plan.limits, now)), constant_series(plan))


def limit_series(limits: Iterable[QpsLimit]) -> Iterator[Sample]:
    """The limits as series."""
    for limit in limits:
        yield Sample(name=names.QPS_LIMIT, labels=_subject(limit.model, limit.version), value=limit.qps)


def constant_series(plan: Plan) -> Iterator[Sample]:
    """What does not change with time: objectives, latency thresholds, models and calls."""
    yield from _objectives(plan)
    yield from _tokens(plan)
    yield from _models(plan)
    for model in plan.models:
        for call in model.calls:
            labels = {names.PIPELINE: model.name, names.STAGE: call.stage, names.MODEL: call.model}
            yield Sample(name=names.PIPELINE_CALLS, labels=labels, value=call.per_request)


def _objectives(plan: Plan) -> Iterator[Sample]:
    models = {model.name: model for model in plan.models}
    seen: set[tuple[str, str, str]] = set()
    for slo in plan.slos:
        version = graph.series_version(models[slo.model], slo.version)
        if (slo.model, version, slo.name) in seen:
            continue
        seen.add((slo.model, version, slo.name))
        subject = {**_subject(slo.model, version), names.SLO: slo.name}
        tier = {names.TIER: models[slo.model].tier}
        yield Sample(name=names.SLO_OBJECTIVE, labels={**subject, **tier}, value=slo.objective_ratio)
        if slo.charges_invalid:
            yield Sample(name=names.SLO_INVALID_CHARGED, labels=subject, value=_ONE)
        if slo.threshold_seconds is not None:
            # The rules join on the text of `le`, so the bound is written in the same form as the stages' own.
            bound = {names.STAGE: slo.stage, names.LE: format_bound(float(slo.threshold_seconds))}
            yield Sample(name=names.LATENCY_TARGET, labels={**subject, **bound}, value=slo.threshold_seconds)


def _tokens(plan: Plan) -> Iterator[Sample]:
    models = {model.name: model for model in plan.models}
    # Versions of an ensemble share Triton's version 1.
    rows = {
        (limit.model, graph.series_version(models[limit.model], limit.version), limit.kind): limit.per_second
        for limit in plan.token_limits
    }
    for (model, version, kind), per_second in rows.items():
        labels = {**_subject(model, version), names.KIND: kind}
        yield Sample(name=names.TOKENS_LIMIT, labels=labels, value=per_second)


def _models(plan: Plan) -> Iterator[Sample]:
    callers = graph.callers(graph.direct_calls(plan.models))
    for model in plan.models:
        pipelines = [model.name] if model.calls else list(callers[model.name])
        # A model of several pipelines belongs to none of them alone, and one row must stay one row.
        pipeline = pipelines[0] if len(pipelines) == 1 else ""
        versions = (ALL_VERSIONS, *model.versions)
        for version in dict.fromkeys(graph.series_version(model, version) for version in versions):
            labels = {
                **_subject(model.name, version),
                names.KIND: model.kind,
                names.PIPELINE: pipeline,
                names.TEAM: model.team,
                names.TIER: model.tier,
            }
            yield Sample(name=names.MODEL_INFO, labels=labels, value=_ONE)


def _subject(model: str, version: str) -> dict[str, str]:
    return {names.MODEL: model, names.VERSION: version}
