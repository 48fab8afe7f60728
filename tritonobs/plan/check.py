"""What a fleet file whose fields are well-formed says that is not valid: limits, pools, rules, SLOs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from decimal import Decimal
from itertools import pairwise
from typing import Final
from urllib.parse import urlsplit

from tritonobs import names
from tritonobs.findings import Finding, Step, listed, quoted
from tritonobs.plan.fleet import Model, QpsLimit, sections
from tritonobs.plan.kubernetes import ScaledPool, build_pools
from tritonobs.plan.limits import (
    declared_limits,
    limited_models,
    limits_with_paths,
    pieces,
    resolve_limits,
)
from tritonobs.plan.objectives import (
    TRACED_REQUEST,
    TRACED_SECONDS,
    Promise,
    bounds_of,
    nearest_two,
    promises,
    shown,
)
from tritonobs.plan.rules import labels_selected, matchers, replica_label, selects
from tritonobs.spec.kubernetes import PoolSpec
from tritonobs.spec.rules import ALERTS
from tritonobs.spec.schema import ModelSpec, ScheduledLimit, Spec
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
            number = spec.source.original((*path, "scheduled_limits", first))[-1]
            message = (
                f"is in force at the same time as scheduled_limits[{number}]; only one limit can be in force"
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
            yield spec.source.warning((*path, "versions", version, "qps_limit"), message)


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
    written = {limit.origin: (path, limit) for path, limit in limits_with_paths(spec)}
    caps: dict[str, QpsLimit] = {}
    for limit in resolve_limits(models, declared_limits(spec)):
        if limit.instead_of and limit.qps <= caps.get(limit.instead_of, limit).qps:
            caps[limit.instead_of] = limit
    for field, limit in caps.items():
        path, own = written[field]
        message = f"{format_number(own.qps)} is more than the pipeline's members allow: {limit.origin}"
        hint = f"{format_number(limit.qps)} is in force"
        yield spec.source.warning(path, message, hint=hint)


def autoscaling_findings(spec: Spec) -> Iterator[Finding]:
    """Every finding about the pools."""
    pools = build_pools(spec)
    if not pools:
        return
    limited = limited_models(declared_limits(spec))
    first: dict[tuple[str, str, str], str] = {}
    for pool in pools:
        name = pool.name
        yield from _pool_models(spec, name, pool.said)
        yield from _signals(spec, pool, limited)
        if not pool.namespace:
            yield spec.source.finding(
                (*_AT, name), "needs `namespace`: neither replicas nor kubernetes names one", key=True
            )
        scaled = (pool.said.kind, pool.namespace, pool.object_name)
        if (other := first.setdefault(scaled, name)) != name:
            what = f"{pool.said.kind} {quoted(pool.object_name)}"
            message = f"scales {what}, and so does {quoted(other)}; allowed is one pool for each"
            yield spec.source.finding((*_AT, name), message, key=True)
        prometheus = urlsplit(spec.addresses.prometheus).hostname
        if pool.said.by == "keda" and prometheus in _THIS_MACHINE:
            yield spec.source.warning(
                (*_AT, name, "by"),
                f"KEDA would ask {quoted(spec.addresses.prometheus)}, which is its own pod",
                hint="write addresses.prometheus as pods of the cluster reach it",
            )
        # TritonAutoscalerBlind asks for autoscalers by this pattern, which PromQL matches as a whole.
        if not re.fullmatch(spec.rules.pool_names, pool.autoscaler):
            yield spec.source.warning(
                (*_AT, name),
                f"its autoscaler {quoted(pool.autoscaler)} is not matched by rules.pool_names "
                f"({quoted(spec.rules.pool_names)}), so no alert reports that it has no metric",
                key=True,
            )


def _pool_models(spec: Spec, name: str, said: PoolSpec) -> Iterator[Finding]:
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
        yield spec.source.warning(
            (*_AT, pool.name),
            f"{listed(unlimited)} {has} no qps_limit, so the offered load does not grow the pool; "
            "only waiting requests do",
            hint="write a qps_limit; an annotation still takes its place",
            key=True,
        )


Path = tuple[Step, ...]

_JOBS: Final = {"selector": "triton", "serve_selector": "tritonobs", "traces_selector": "tritonobs-traces"}
# Labels that the rules, Triton or Prometheus give another meaning.
_TAKEN: Final = frozenset(
    {
        *("job", "model", "version", "stage", "slo", "kind", "reason", "outcome", "worker", "le", "pipeline"),
        *("team", "tier", "device", "vendor", "robot", "source", "alertname", "alertstate", "severity"),
        names.SHARD,
        *("burn_tier", "seen_by", "before", "counted", "bound", "group", "model_instance", "__name__"),
    }
)


def rules_findings(spec: Spec) -> Iterator[Finding]:
    """Every finding about the section."""
    yield from _severities(spec)
    yield from _shards(spec)
    yield from _agents(spec)
    yield from _labels(spec)
    for field, job in _JOBS.items():
        yield from _selector(spec, field, job)


def _severities(spec: Spec) -> Iterator[Finding]:
    shards = () if spec.rules.tier == "all" else names.SHARD_ALERTS
    alerts = (*ALERTS, *shards, *(names.AGENT_ALERTS if spec.prometheus.agents else ()))
    for alert in spec.rules.severities:
        if alert not in alerts:
            message = f"is not an alert; alerts are {listed(alerts)}"
            hint = spec.source.guess(alert, alerts)
            yield spec.source.finding(("rules", "severities", alert), message, hint=hint, key=True)


def _shards(spec: Spec) -> Iterator[Finding]:
    tier, shards = spec.rules.tier, spec.prometheus.shards
    if shards and tier == "all":
        message = "found shards, which need rules.tier; allowed are global and shard"
        yield spec.source.finding(("prometheus", "shards"), message)
    if tier != "all" and not shards:
        yield spec.source.warning(
            ("rules", "tier"),
            "prometheus.shards is empty, so no configuration of shards is written and nothing reads them",
            hint="correct where shards write to the global Prometheus, or where an operator has them",
        )
    yield from _addresses(spec, "shard", shards)


def _agents(spec: Spec) -> Iterator[Finding]:
    tier, agents = spec.rules.tier, spec.prometheus.agents
    if agents and tier != "all":
        message = f"found agents and the rules.tier {tier}; allowed is the tier all, or shards without agents"
        yield spec.source.finding(("prometheus", "agents"), message)
    yield from _addresses(spec, "agent", agents)


def _addresses(spec: Spec, what: str, addresses: Sequence[str]) -> Iterator[Finding]:
    for place, address in enumerate(addresses):
        if address in addresses[:place]:
            message = f"found {quoted(address)} twice; allowed is one address for each {what}"
            yield spec.source.finding(("prometheus", f"{what}s", place), message)


def _labels(spec: Spec) -> Iterator[Finding]:
    rules, replica = spec.rules, replica_label(spec)
    for field, label in (("replica_label", replica), ("cluster_label", rules.cluster_label)):
        if label in _TAKEN:
            message = f"found {quoted(label)}, which already has another meaning; allowed is another label"
            yield spec.source.finding(("rules", field), message)
    if replica == rules.cluster_label:
        message = f"found {quoted(rules.cluster_label)}, which is the replica_label, too"
        yield spec.source.finding(("rules", "cluster_label"), message)
    if rules.replica_label == names.REPLICA:
        yield spec.source.warning(
            ("rules", "replica_label"),
            "Thanos usually takes the label replica for copies of one Prometheus and would merge the servers",
            hint="write the label that your PodMonitor gives servers, like pod or instance",
        )


def _selector(spec: Spec, field: str, job: str) -> Iterator[Finding]:
    """Patterns must be patterns, and the labels of the targets that are built must be selected."""
    selector = getattr(spec.rules, field)
    for _, operator, value in matchers(selector):
        if operator.endswith("~"):
            try:
                re.compile(value)
            except re.error as error:
                message = f"{quoted(value)} is not a regular expression: {error}"
                yield spec.source.finding(("rules", field), message)
                # `selects` below compiles the same pattern and would raise.
                return
    if spec.kubernetes is None and not selects(selector, {"job": job, **labels_selected(selector)}):
        yield spec.source.warning(
            ("rules", field),
            f"prometheus.yml as built gives job={quoted(job)}, which this does not select",
            hint="correct where your own Prometheus scrapes; else write labels with =, targets then get them",
        )


def slo_findings(spec: Spec) -> Iterator[Finding]:
    """Every finding about SLOs; what many models inherit is reported once."""
    for path, *_, section in sections(spec):
        yield from _unsorted(spec, section.latency_buckets, path)
    reported: set[tuple[Path, str]] = set()
    off_bounds: dict[tuple[Path, str, str], list[str]] = {}
    for promise in promises(spec):
        for path, message in _incomplete(spec, promise):
            if (path, message) not in reported:
                reported.add((path, message))
                yield spec.source.finding(path, message, key=path == promise.written)
        bounds, threshold = bounds_of(spec.models[promise.model], promise.version), promise.said.threshold
        # Prometheus counts exactly only at bounds; a threshold between two would be a guess.
        if threshold is not None and not promise.traced and threshold not in bounds:
            beside = " and ".join(shown(bound) for bound in nearest_two(threshold, bounds))
            key = (promise.places["threshold"], shown(threshold), beside)
            off_bounds.setdefault(key, []).append(promise.model)
    for (path, found, beside), models in off_bounds.items():
        message = (
            f"{found} is not a latency bound of {listed(dict.fromkeys(models))}; the nearest are {beside}"
        )
        yield spec.source.finding(path, message)


def _incomplete(spec: Spec, promise: Promise) -> Iterator[tuple[Path, str]]:
    said, threshold, places = promise.said, promise.said.threshold, promise.places
    if said.objective is None and not _wrote(spec, promise, "objective"):
        yield promise.written, "has no objective, neither here nor inherited; write one like 99.9%"
    if threshold is None and promise.stage and not _wrote(spec, promise, "threshold"):
        yield places["stage"], "times a stage but has no threshold; write one like 250ms"
    allowed = spec.rules.latency_thresholds
    if allowed and threshold is not None and not promise.traced and threshold not in allowed:
        message = f"{shown(threshold)} is not one of rules.latency_thresholds"
        yield places["threshold"], f"{message}; allowed are {listed([*map(shown, allowed)])}"
    if threshold is not None and said.invalid == "bad":
        yield places["invalid"], "latency never counts invalid requests; only availability can charge them"
    if promise.traced:
        yield from _untraceable(spec, promise)
    elif threshold is not None and spec.models[promise.model].pipeline == "ensemble":
        yield (
            # A threshold of the defaults is right for other models: the ensemble's own lines are wrong.
            places["threshold"] if places["threshold"][0] != "defaults" else promise.written,
            (
                "an ensemble has no code that times its requests; "
                "write source: traces, or a latency SLO for members or a BLS pipeline"
            ),
        )


_OLD_NAMES = {"threshold": "target"}


def _wrote(spec: Spec, promise: Promise, field: str) -> bool:
    """Whether the file has it, here or inherited, or by its old name: what is refused has a finding."""
    model = ("models", promise.model)
    places = (("defaults",), model, (*model, "versions", promise.version))
    return any(
        spec.source.has((*place, "slos", promise.name, name))
        for place in places
        for name in (field, _OLD_NAMES.get(field, field))
    )


def _untraceable(spec: Spec, promise: Promise) -> Iterator[tuple[Path, str]]:
    threshold = promise.said.threshold
    if threshold is None:
        if not _wrote(spec, promise, "threshold"):
            yield promise.written, "has source: traces but no threshold; write one like 250ms"
    elif not TRACED_SECONDS[0] <= threshold <= TRACED_SECONDS[1]:
        low, high = map(shown, TRACED_SECONDS)
        message = f"{shown(threshold)} is not traced; allowed is {low} to {high}"
        yield promise.places["threshold"], message
    if promise.stage not in {"", TRACED_REQUEST}:
        message = f"traces know the whole request, not stage {promise.stage}; leave out stage or source"
        yield promise.places.get("stage", promise.written), message


def _unsorted(spec: Spec, bounds: tuple[Decimal, ...], path: Path) -> Iterator[Finding]:
    for position, (low, high) in enumerate(pairwise(bounds), start=1):
        if low >= high:
            message = f"{shown(high)} is not above the bound before it, {shown(low)}"
            yield spec.source.finding((*path, "latency_buckets", position), message)
