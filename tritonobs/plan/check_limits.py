"""Limits that contradict each other, or that Triton cannot distinguish; pools that cannot be scaled."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from typing import Final
from urllib.parse import urlsplit

from tritonobs.findings import Finding, Severity
from tritonobs.plan.declared import declared_limits, limit_paths, written_limits
from tritonobs.plan.fleet import Model, QpsLimit
from tritonobs.plan.kubernetes import ScaledPool, build_pool, servers_namespace
from tritonobs.plan.limits import limited_models, pieces, resolve_limits
from tritonobs.spec.kubernetes import PoolSpec
from tritonobs.spec.schema import ModelSpec, ScheduledLimit, Spec
from tritonobs.spec.words import listed, quoted
from tritonobs.units import format_number

# Keeps the promise of docs/security.md that `validate` answers any file within seconds.
MOST_PIECES: Final = 2_000_000
_ALWAYS = datetime.min.replace(tzinfo=timezone.utc)
_FOR_EVER = datetime.max.replace(tzinfo=timezone.utc)

_AT = ("kubernetes", "objects", "autoscaling")
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


def limit_findings(spec: Spec, models: Sequence[Model]) -> Iterator[Finding]:
    """Every finding about the limits of a fleet whose pipelines are sound."""
    yield from _overlaps(spec, spec.scheduled_limits, ())
    for name, model in spec.models.items():
        path = ("models", name)
        yield from _overlaps(spec, model.scheduled_limits, path)
        for version, own in model.versions.items():
            yield from _overlaps(spec, own.scheduled_limits, (*path, "versions", version))
        yield from _out_of_reach(spec, model, path)
        yield from _indistinct(spec, model, path)
    too_many = tuple(_too_many_pieces(spec, models))
    # `_capped` resolves all limits, which is the very work that `too_many` refuses.
    yield from too_many or _capped(spec, models)


def _overlaps(spec: Spec, scheduled: Sequence[ScheduledLimit], path: tuple[str, ...]) -> Iterator[Finding]:
    """Each limit that begins before an earlier one has ended, in the order of their beginning."""
    longest: int | None = None
    for position in sorted(range(len(scheduled)), key=lambda place: _begins(scheduled[place])):
        if longest is not None and _begins(scheduled[position]) < _ends(scheduled[longest]):
            first, second = sorted((longest, position))
            message = (
                f"is in force at the same time as scheduled_limits[{first}]; only one limit can be in force"
            )
            yield spec.source.finding((*path, "scheduled_limits", second), message)
        # A long limit may reach over several that follow, so each is compared with the one that ends last.
        if longest is None or _ends(scheduled[position]) > _ends(scheduled[longest]):
            longest = position


def _begins(limit: ScheduledLimit) -> datetime:
    return limit.valid_from or _ALWAYS


def _ends(limit: ScheduledLimit) -> datetime:
    return limit.valid_until or _FOR_EVER


def _too_many_pieces(spec: Spec, models: Sequence[Model]) -> Iterator[Finding]:
    """Limits whose resolution would take too long; `resolve_limits` goes span by span."""
    most = max(pieces(models, declared_limits(spec)), default=(0, ""))
    if most[0] > MOST_PIECES:
        message = (
            "scheduled limits change too often for the models they touch: moments times models and limits "
            f"are {most[0]:,}, allowed are {MOST_PIECES:,}"
        )
        yield spec.source.finding(("models", most[1]), message, key=True)


def _out_of_reach(spec: Spec, model: ModelSpec, path: tuple[str, ...]) -> Iterator[Finding]:
    whole = model.qps_limit
    for version, own in model.versions.items():
        if (
            whole is not None
            and own.qps_limit is not None
            and whole < own.qps_limit
            and own.qps_limit.is_finite()
        ):
            message = (
                f"{format_number(own.qps_limit)} is above the limit of the whole model "
                f"({format_number(whole)}), which is reached first"
            )
            yield spec.source.finding(
                (*path, "versions", version, "qps_limit"), message, severity=Severity.WARNING
            )


def _indistinct(spec: Spec, model: ModelSpec, path: tuple[str, ...]) -> Iterator[Finding]:
    if model.pipeline != "ensemble" or len(model.versions) < 2:  # noqa: PLR2004 (two versions to distinguish)
        return
    for version, own in model.versions.items():
        for field in ("qps_limit", "scheduled_limits", "tokens_per_second_limit", "slos"):
            if getattr(own, field):
                message = (
                    f"Triton counts all versions of an ensemble under version 1, so {listed(model.versions)} "
                    "cannot be distinguished; write it for the model"
                )
                yield spec.source.finding((*path, "versions", version, field), message, key=True)


def _capped(spec: Spec, models: Sequence[Model]) -> Iterator[Finding]:
    """Each field once, with the lowest limit that took its place."""
    written, paths = written_limits(spec), limit_paths(spec)
    caps: dict[str, QpsLimit] = {}
    for limit in resolve_limits(models, declared_limits(spec)):
        if limit.instead_of and limit.qps <= caps.get(limit.instead_of, limit).qps:
            caps[limit.instead_of] = limit
    for field, limit in caps.items():
        message = (
            f"{format_number(written[field].qps)} is more than the pipeline's members allow: {limit.origin}"
        )
        hint = f"{format_number(limit.qps)} is in force"
        yield spec.source.finding(paths[field], message, hint=hint, severity=Severity.WARNING)


def autoscaling_findings(spec: Spec) -> Iterator[Finding]:
    """Every finding about the pools."""
    objects = spec.kubernetes.objects if spec.kubernetes else None
    if not objects or not objects.autoscaling:
        return
    limited = limited_models(declared_limits(spec))
    first: dict[tuple[str, str, str], str] = {}
    for name, said in objects.autoscaling.items():
        pool = build_pool(name, said, servers_namespace(spec))
        yield from _models(spec, name, said)
        yield from _signals(spec, pool, limited)
        if not pool.namespace:
            yield spec.source.finding(
                (*_AT, name), "needs `namespace`: neither replicas nor kubernetes names one", key=True
            )
        scaled = (pool.kind, pool.namespace, pool.object_name)
        if (other := first.setdefault(scaled, name)) != name:
            what = f"{pool.kind} {quoted(pool.object_name)}"
            message = f"scales {what}, and so does {quoted(other)}; allowed is one pool for each"
            yield spec.source.finding((*_AT, name), message, key=True)
        prometheus = urlsplit(spec.addresses.prometheus).hostname
        if pool.by == "keda" and prometheus in _THIS_MACHINE:
            yield spec.source.finding(
                (*_AT, name, "by"),
                f"KEDA would ask {quoted(spec.addresses.prometheus)}, which is its own pod",
                hint="write addresses.prometheus as pods of the cluster reach it",
                severity=Severity.WARNING,
            )
        # TritonAutoscalerBlind asks for autoscalers by this pattern, which PromQL matches as a whole.
        if not re.fullmatch(spec.rules.pool_names, pool.autoscaler):
            yield spec.source.finding(
                (*_AT, name),
                f"its autoscaler {quoted(pool.autoscaler)} is not matched by rules.pool_names "
                f"({quoted(spec.rules.pool_names)}), so no alert reports that it has no metric",
                key=True,
                severity=Severity.WARNING,
            )


def _models(spec: Spec, name: str, said: PoolSpec) -> Iterator[Finding]:
    for field, known in (("models", list(spec.models)), ("language_models", list(said.models))):
        of = "this fleet" if field == "models" else "`models`"
        for position, model in enumerate(getattr(said, field)):
            if model not in known:
                message = f"{quoted(model)} is not a model of {of}; models are {listed(known)}"
                hint = spec.source.guess(model, known)
                yield spec.source.finding((*_AT, name, field, position), message, hint=hint)


def _signals(spec: Spec, pool: ScaledPool, limited: frozenset[str]) -> Iterator[Finding]:
    """A model without a limit is scaled by its queue alone, and an ensemble has none."""
    known = [one for one in pool.models if one in spec.models]
    unlimited = [one for one in known if one not in limited]
    if (
        known
        and all(spec.models[one].pipeline == "ensemble" for one in unlimited)
        and len(unlimited) == len(known)
    ):
        message = "nothing says how many servers it needs: no model has a qps_limit or a queue of its own"
        yield spec.source.finding((*_AT, pool.name), message, key=True)
    elif unlimited:
        has = "has" if len(unlimited) == 1 else "have"
        yield spec.source.finding(
            (*_AT, pool.name),
            f"{listed(unlimited)} {has} no qps_limit, so the offered load does not grow the pool; "
            "only waiting requests do",
            hint="write a qps_limit; an annotation still takes its place",
            key=True,
            severity=Severity.WARNING,
        )
