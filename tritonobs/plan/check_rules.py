"""What the `rules:` section says that is not valid, and SLOs that are not complete or not valid."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Final

from tritonobs import names
from tritonobs.findings import Finding, Severity
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
from tritonobs.spec.rules import ALERTS
from tritonobs.spec.schema import Spec
from tritonobs.spec.source import Step
from tritonobs.spec.words import listed, quoted

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
        yield spec.source.finding(
            ("rules", "tier"),
            "prometheus.shards is empty, so no configuration of shards is written and nothing reads them",
            hint="correct where shards write to the global Prometheus, or where an operator has them",
            severity=Severity.WARNING,
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
        yield spec.source.finding(
            ("rules", "replica_label"),
            "Thanos usually takes the label replica for copies of one Prometheus and would merge the servers",
            hint="write the label that your PodMonitor gives servers, like pod or instance",
            severity=Severity.WARNING,
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
        yield spec.source.finding(
            ("rules", field),
            f"prometheus.yml as built gives job={quoted(job)}, which this does not select",
            hint="correct where your own Prometheus scrapes; else write labels with =, targets then get them",
            severity=Severity.WARNING,
        )


def slo_findings(spec: Spec) -> Iterator[Finding]:
    """Every finding about SLOs; what many models inherit is reported once."""
    yield from _bounds(spec)
    reported: set[tuple[str, Path, str]] = set()
    off_bounds: dict[tuple[str, Path, str, str], list[Promise]] = {}
    for promise in promises(spec):
        for path, message in _incomplete(spec, promise):
            if (promise.source.file, path, message) not in reported:
                reported.add((promise.source.file, path, message))
                yield promise.source.finding(path, message, key=path == promise.written)
        bounds = bounds_of(spec.models[promise.model], promise.version)
        # Prometheus counts exactly only at bounds; a threshold between two would be a guess.
        if promise.threshold is not None and not promise.traced and promise.threshold not in bounds:
            beside = " and ".join(shown(bound) for bound in nearest_two(promise.threshold, bounds))
            key = (promise.source.file, promise.threshold_written, shown(promise.threshold), beside)
            off_bounds.setdefault(key, []).append(promise)
    for (_, path, threshold, beside), off in off_bounds.items():
        models = listed(dict.fromkeys(promise.model for promise in off))
        message = f"{threshold} is not a latency bound of {models}; the nearest are {beside}"
        yield off[0].source.finding(path, message)


def _incomplete(spec: Spec, promise: Promise) -> Iterator[tuple[Path, str]]:
    if promise.objective is None and not _wrote(promise, "objective"):
        yield promise.written, "has no objective, neither here nor inherited; write one like 99.9%"
    if promise.threshold is None and promise.stage and not _wrote(promise, "threshold"):
        yield promise.stage_written, "times a stage but has no threshold; write one like 250ms"
    allowed = spec.rules.latency_thresholds
    if allowed and promise.threshold is not None and not promise.traced and promise.threshold not in allowed:
        message = f"{shown(promise.threshold)} is not one of rules.latency_thresholds"
        yield promise.threshold_written, f"{message}; allowed are {listed([*map(shown, allowed)])}"
    if promise.threshold is not None and promise.charges_invalid:
        yield (
            promise.invalid_written,
            "latency never counts invalid requests; only availability can charge them",
        )
    if promise.traced:
        yield from _untraceable(promise)
    elif promise.threshold is not None and spec.models[promise.model].pipeline == "ensemble":
        yield (
            # A threshold of the defaults is right for other models: the ensemble's own lines are wrong.
            promise.threshold_written if promise.threshold_written[0] != "defaults" else promise.written,
            (
                "an ensemble has no code that times its requests; "
                "write source: traces, or a latency SLO for members or a BLS pipeline"
            ),
        )


_OLD_NAMES = {"threshold": "target"}


def _wrote(promise: Promise, field: str) -> bool:
    """Whether the file has it, here or inherited, or by its old name: what is refused has a finding."""
    model = ("models", promise.model)
    places = (("defaults",), model, (*model, "versions", promise.version))
    return any(
        promise.source.has((*place, "slos", promise.name, name))
        for place in places
        for name in (field, _OLD_NAMES.get(field, field))
    )


def _untraceable(promise: Promise) -> Iterator[tuple[Path, str]]:
    if promise.threshold is None:
        if not _wrote(promise, "threshold"):
            yield promise.written, "has source: traces but no threshold; write one like 250ms"
    elif not TRACED_SECONDS[0] <= promise.threshold <= TRACED_SECONDS[1]:
        low, high = map(shown, TRACED_SECONDS)
        yield (
            promise.threshold_written,
            f"{shown(promise.threshold)} is not traced; allowed is {low} to {high}",
        )
    if promise.stage not in {"", TRACED_REQUEST}:
        message = f"traces know the whole request, not stage {promise.stage}; leave out stage or source"
        yield promise.stage_written or promise.written, message


def _bounds(spec: Spec) -> Iterator[Finding]:
    for name, model in spec.models.items():
        path = ("models", name)
        yield from _unsorted(spec, model.latency_buckets, path)
        for version, own in model.versions.items():
            yield from _unsorted(spec, own.latency_buckets, (*path, "versions", version))


def _unsorted(spec: Spec, bounds: tuple[Decimal, ...], path: Path) -> Iterator[Finding]:
    for position, (low, high) in enumerate(pairwise(bounds), start=1):
        if low >= high:
            message = f"{shown(high)} is not above the bound before it, {shown(low)}"
            yield spec.source.finding((*path, "latency_buckets", position), message)
