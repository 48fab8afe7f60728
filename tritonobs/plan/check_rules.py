"""What the `rules:` section says that is not valid."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tritonobs import names
from tritonobs.findings import Finding, Severity
from tritonobs.plan.rules import labels_selected, matchers, replica_label, selects
from tritonobs.spec.schema import Spec
from tritonobs.spec.words import listed, quoted

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
    alerts = (*names.ALERTS, *shards, *(names.AGENT_ALERTS if spec.prometheus.agents else ()))
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
            "prometheus.shards names none, so no configuration of them is written and nothing asks them",
            hint="right where shards write to the global Prometheus, or where an operator has them",
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
            message = f"found {quoted(label)}, which already says something else; allowed is another label"
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
            hint="right where your own Prometheus scrapes; else write labels with =, targets then get them",
            severity=Severity.WARNING,
        )
