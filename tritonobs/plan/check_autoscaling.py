"""What `kubernetes.objects.autoscaling` says that is not valid."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from tritonobs.findings import Finding, Severity
from tritonobs.plan.autoscaling import ScaledPool, build_pool
from tritonobs.plan.declared import declared_limits
from tritonobs.plan.kubernetes import servers_namespace
from tritonobs.plan.limits import limited_models
from tritonobs.spec.autoscaling import PoolSpec
from tritonobs.spec.schema import Spec
from tritonobs.spec.words import listed, quoted

_AT = ("kubernetes", "objects", "autoscaling")
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


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
                f"({quoted(spec.rules.pool_names)}), so no alert tells that it is blind",
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
            f"{listed(unlimited)} {has} no qps_limit, so the offered load makes the pool no larger; "
            "only requests that wait do",
            hint="write a qps_limit; an annotation still takes its place",
            key=True,
            severity=Severity.WARNING,
        )
