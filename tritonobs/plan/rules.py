"""What the rules are made with, decided: labels, selectors, severities, thresholds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from tritonobs import names
from tritonobs.spec.rules import SERVE, TRACES, TRITON, Tier, threshold_knobs
from tritonobs.spec.schema import DiscoverySpec, Spec
from tritonobs.stage.series import format_bound
from tritonobs.units import format_duration

_MATCHER = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"')

SCRAPES_PER_WINDOW = 4
"""Fewer samples in a window, and one lost scrape leaves `rate` nothing to compare."""
LONGEST_SCRAPE_SECONDS = Decimal(60)
"""Above this the base window of 5 m would hold fewer than five scrapes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSettings:
    """The `rules:` section. `thresholds` are the knobs of the mixin that are set, by their name there."""

    selector: str = TRITON
    serve_selector: str = SERVE
    traces_selector: str = TRACES
    replica_label: str = names.REPLICA
    cluster_label: str = names.CLUSTER
    """"" where series carry no such label."""
    latency_bounds: tuple[str, ...] = ()
    """The only bounds, as `le`, that latency thresholds may name; none for any."""
    pool_names: str = ".*triton.*"
    """A regular expression for the Deployments, StatefulSets and autoscalers of Triton servers."""
    tier: Tier = "all"
    keep_firing: bool = True
    records_at_once: bool = True
    """Whether a rule reads what the rules above it have just recorded."""
    severities: Mapping[str, str] = field(default_factory=dict)
    thresholds: Mapping[str, float | str] = field(default_factory=dict)
    speed: float = 1.0
    """How many times as fast as written the rules run; more than 1 is for rehearsals."""


def replica_label(spec: Spec) -> str:
    """The label that distinguishes replicas."""
    # A PodMonitor gives series the label `pod`; Thanos takes `replica` for copies of one Prometheus.
    pods = isinstance(spec.replicas, DiscoverySpec) and spec.replicas.kubernetes is not None
    objects = spec.kubernetes is not None and spec.kubernetes.objects is not None
    return spec.rules.replica_label or (names.POD if pods or objects else names.REPLICA)


def build_rules(fleet: Spec) -> RuleSettings:
    """The section `rules` of a fleet file as the renderers want it."""
    spec = fleet.rules
    return RuleSettings(
        selector=spec.selector,
        serve_selector=spec.serve_selector,
        traces_selector=spec.traces_selector,
        replica_label=replica_label(fleet),
        cluster_label="" if spec.cluster_label == "none" else spec.cluster_label,
        latency_bounds=tuple(format_bound(float(bound)) for bound in spec.latency_thresholds),
        pool_names=spec.pool_names,
        tier=spec.tier,
        keep_firing=spec.keep_firing,
        # Agents mean vmalert, which writes a record to its store while it evaluates the next rule.
        records_at_once=spec.records_at_once and not fleet.prometheus.agents,
        severities=spec.severities,
        thresholds={
            knob.name: format_duration(value) if knob.as_text else json_number(value)
            for field, knob in threshold_knobs().items()
            if (value := getattr(spec.thresholds, field)) is not None
        },
    )


def matchers(selector: str) -> Iterator[tuple[str, str, str]]:
    """Label, operator and value of each matcher of a selector."""
    for label, operator, value in _MATCHER.findall(selector):
        yield label, operator, re.sub(r"\\(.)", lambda escaped: _UNESCAPED.get(escaped[1], escaped[1]), value)


def selects(selector: str, labels: Mapping[str, str]) -> bool:
    """Whether a series with these labels is selected.

    Raises:
        re.error: a pattern is not valid in Python.
    """
    for label, operator, value in matchers(selector):
        # Prometheus anchors patterns at both ends, and takes a label that is missing for an empty one.
        found = labels.get(label, "")
        same = bool(re.fullmatch(value, found)) if operator.endswith("~") else value == found
        if same == operator.startswith("!"):
            return False
    return True


def labels_selected(selector: str) -> dict[str, str]:
    """The labels that the selector asks for by name and value."""
    return {label: value for label, operator, value in matchers(selector) if operator == "=" and value}


_UNESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


def json_number(value: Decimal) -> int | float:
    """A whole number where it is one, so that jsonnet prints no `.0`."""
    return int(value) if value == value.to_integral_value() else float(value)
