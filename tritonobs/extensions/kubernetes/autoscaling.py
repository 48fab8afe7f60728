"""Autoscalers of pools: HorizontalPodAutoscalers with the rules of prometheus-adapter, or ScaledObjects.

Every metric is a number of servers, and its target is 1 for each. So a metric means the same to both, and
KEDA's fallback, which multiplies whole targets, is exact.

How many servers a pool needs is PromQL: one number for each model and reason. Each expression reads real
samples only. What is missing, not a number or infinite gives no row: the autoscaler then does not scale. No
expression reads a missing row as 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from math import ceil
from typing import Final

from tritonobs.extensions.kubernetes.objects import Object, manifest, metadata
from tritonobs.plan.fleet import Plan
from tritonobs.plan.kubernetes import Objects, ScaledPool
from tritonobs.plan.limits import limited_models
from tritonobs.render.artifact import Artifact, yaml_text
from tritonobs.render.rules import mixin_knobs, rules_config
from tritonobs.units import format_duration, format_number, literal

ADAPTER_PATH: Final = "kubernetes/prometheus-adapter.yaml"
_COMMENT = """\
Made by tritonobs build. Values of the chart prometheus-adapter: --reuse-values -f prometheus-adapter.yaml
In a configuration of your own the list is called externalRules."""
_EACH: Final = "1"
# As often as the controller of a HorizontalPodAutoscaler asks; the default of KEDA is 30 s.
_POLL_SECONDS: Final = 15
_FAILURES: Final = 3
_BEHAVIOR: Final = {
    # Growing is the controller's default: twice as many, or four more, within 15 s.
    "scaleDown": {
        "stabilizationWindowSeconds": 300,
        "policies": [{"type": "Percent", "value": 20, "periodSeconds": 60}],
    }
}

AHEAD: Final = "2m"
"""A server that starts in 40 s is ready before the load is there."""
_NEARLY_ALL: Final = "0.9"
"""A HorizontalPodAutoscaler does not change a pool by a tenth or less."""
_IDLE_RATE: Final = "0.001"
"""Requests a second below which a model is idle: a mean wait is then 0 seconds over this, not 0 over 0."""


def autoscaling_objects(plan: Plan, objects: Objects) -> Iterator[Object]:
    """One object for each pool."""
    for pool in plan.kubernetes.pools:
        about = {**metadata(pool.name, objects), "namespace": pool.namespace}
        target = {"apiVersion": pool.api, "kind": pool.said.kind, "name": pool.object_name}
        if pool.said.by == "keda":
            spec = {"scaleTargetRef": target, **_scaled(plan, pool)}
            yield manifest("keda.sh/v1alpha1", "ScaledObject", about, spec=spec)
        else:
            spec = {"scaleTargetRef": target, **_hpa(plan, pool)}
            yield manifest("autoscaling/v2", "HorizontalPodAutoscaler", about, spec=spec)


def adapter_rules(plan: Plan) -> Iterator[Artifact]:
    """The metrics of HorizontalPodAutoscalers as prometheus-adapter serves them; nothing without any."""
    rules = [
        {
            "seriesQuery": need.series,
            # Our series are of no namespace of Kubernetes.
            "resources": {"namespaced": False},
            "name": {"matches": "^.*$", "as": need.name},
            "metricsQuery": need.query,
        }
        for pool in plan.kubernetes.pools
        if pool.said.by == "hpa"
        for need in needs(plan, pool)
    ]
    if rules:
        yield Artifact(path=ADAPTER_PATH, text=yaml_text({"rules": {"external": rules}}, comment=_COMMENT))


def _hpa(plan: Plan, pool: ScaledPool) -> Object:
    return {
        "minReplicas": pool.said.min_replicas,
        "maxReplicas": pool.said.max_replicas,
        "metrics": [
            {
                "type": "External",
                "external": {
                    "metric": {"name": need.name},
                    "target": {"type": "AverageValue", "averageValue": _EACH},
                },
            }
            for need in needs(plan, pool)
        ],
        "behavior": _BEHAVIOR,
    }


def _scaled(plan: Plan, pool: ScaledPool) -> Object:
    return {
        "pollingInterval": _POLL_SECONDS,
        "minReplicaCount": pool.said.min_replicas,
        "maxReplicaCount": pool.said.max_replicas,
        # Without data the pool stays as large as it is.
        "fallback": {
            "failureThreshold": _FAILURES,
            "replicas": pool.said.min_replicas,
            "behavior": "currentReplicasIfHigher",
        },
        "advanced": {"horizontalPodAutoscalerConfig": {"behavior": _BEHAVIOR}},
        "triggers": [
            {
                "type": "prometheus",
                "name": need.name,
                "metricType": "AverageValue",
                "metadata": {
                    "serverAddress": plan.addresses.prometheus_url,
                    "query": need.query,
                    "threshold": _EACH,
                    # KEDA's default takes an empty answer for 0.
                    "ignoreNullValues": "false",
                },
            }
            for need in needs(plan, pool)
        ],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One reason for servers: a name for the metric, a series that is there when it is, and the number."""

    name: str
    series: str
    query: str


def needs(plan: Plan, pool: ScaledPool) -> Iterator[Need]:
    """Everything that decides how many servers the pool needs; names differ."""
    limited = limited_models(plan.declared_limits)
    queueing = {model.name for model in plan.models if model.kind != "ensemble"}
    taken: set[str] = set()
    for model in pool.models:
        word = _word(model, taken)
        reader = _Reader(plan, model)
        found: list[tuple[str, str, str]] = []
        if model in limited:
            found += [
                ("load", reader.offered, reader.load(pool, reader.offered_now())),
                ("ahead", reader.offered, reader.load(pool, reader.offered_ahead())),
            ]
        if model in queueing:
            found.append(("queue", reader.queued, reader.waited(pool.said.queue_wait)))
        if model in pool.said.language_models:
            found += [
                ("waiting", reader.waiting, reader.on_average(reader.waiting, pool.said.waiting_requests)),
                ("kv-cache", reader.kv_cache, reader.on_average(reader.kv_cache, pool.said.kv_cache)),
            ]
        for reason, series, query in found:
            yield Need(name=f"tritonobs_{pool.name}_{word}_{reason}", series=series, query=_real(query))


class _Reader:
    """The records of one model, by the names that the fleet's windows give them."""

    def __init__(self, plan: Plan, model: str) -> None:
        labels = {key: value for key, value in plan.cluster_labels.items() if value}
        # prometheus-adapter reads << as the begin of a template.
        self._matchers = ",".join(
            f"{key}={literal(value)}".replace("<", r"\x3c")
            for key, value in {**labels, "model": model}.items()
        )
        self._knobs = mixin_knobs(rules_config(plan))
        short = self._knobs["shortWindow"]
        self._replica = plan.rules.replica_label
        self._on = ", ".join(filter(None, (plan.rules.cluster_label, self._replica)))
        """The labels that distinguish servers."""
        self.offered = self._whole(f"subject:triton_requests_offered:rate{short}")
        self.queued = self._rows(f"model_version:triton_queue_duration_seconds:rate{short}")
        self.waiting = self._rows("replica_model_version:tritonobs_llm_requests_waiting:sum")
        self.kv_cache = self._rows("replica_model_version:tritonobs_kv_cache_used:ratio")
        self._succeeded = self._rows(f"model_version:triton_requests_succeeded:rate{short}")
        self._answering = self._rows(f"replica_model_version:triton_requests_succeeded:rate{short}")

    def offered_now(self, offset: str = "") -> str:
        """What is offered, over a minute at least: chance in a shorter time would make pools larger.

        Servers that cannot be read are assumed to be offered what the others are.
        """
        medium, step = self._knobs["mediumWindow"], self._knobs["evaluationInterval"]
        if medium == self._knobs["shortWindow"]:
            return self._offered_at(offset)
        return f"avg_over_time({self._offered_at()}[{medium}:{step}]{offset})"

    def offered_ahead(self) -> str:
        """The offered load if it continues to grow as in the last two minutes."""
        now, before = self.offered_now(), self.offered_now(f" offset {AHEAD}")
        return f"({now} + clamp_min({now} - {before}, 0))"

    def load(self, pool: ScaledPool, offered: str) -> str:
        """Servers for what is offered, each taking its share of the limit."""
        each = format_number(pool.limit_replicas / pool.said.limit_share)
        limit = f"(max({self._whole('subject:tritonobs_qps_limit:held')}) > 0 < Inf)"
        return f"{each} * {offered} / {limit}"

    def waited(self, seconds: Decimal) -> str:
        """Servers for which requests would wait this long in the queue."""
        mean = f"sum({self.queued}) / clamp_min(sum({self._succeeded}), {_IDLE_RATE})"
        return self._known(f"{self._servers()}\n  * ({mean}) / {format_number(seconds)}")

    def on_average(self, series: str, most: Decimal) -> str:
        """Servers for which the mean of a value of each server would be so much."""
        mean = f"avg(max by ({self._replica}) ({series}))"
        return self._known(f"{self._servers()}\n  * {mean} / {format_number(most)}")

    def _offered_at(self, offset: str = "") -> str:
        """What is offered to all servers at one moment, by what is offered to those that are read.

        Records of other groups are up to one evaluation behind: without those that have just begun to be
        read nearly all must be left, or there is no row.
        """
        back = f"replica:triton_returned:info{offset}"
        lately = f"max_over_time(replica:triton_returned:info[{self._evaluations(2)}]{offset})"
        read, long_read = (self._read(catching_up, offset) for catching_up in (back, lately))
        each = f"max({self.offered}{offset}) / (count({read}) <= count({long_read}) / {_NEARLY_ALL})"
        return self._known(f"{each} * {self._servers(offset)}", offset)

    def _read(self, catching_up: str, offset: str) -> str:
        """Servers whose requests are in what is offered: not those that were lost a short time ago."""
        answering = f"{self._answering}{offset}"
        return f"group by ({self._replica}) ({answering} unless on ({self._on}) {catching_up})"

    def _servers(self, offset: str = "") -> str:
        """How many servers have the model: those that answer, and those that cannot be read now."""
        had = f"{self._rows('replica_model_version:triton_loaded:last_seen_seconds')}{offset}"
        # A server that comes back can be reached one scrape before it has a rate.
        lately = f"max_over_time(replica:triton_unreachable:info[{self._evaluations(2)}]{offset})"
        lost = f"group by ({self._replica}) ({had} and on ({self._on}) {lately})"
        return f"count(group by ({self._replica}) ({self._answering}{offset}) or {lost})"

    def _known(self, query: str, offset: str = "") -> str:
        """The query where nothing was missing for a short window: after a gap rates begin too low."""
        wanted = ceil(self._knobs["shortSeconds"] / self._knobs["evaluationSeconds"]) + 1
        # One more than needed is read: the last one may not be complete yet.
        span = self._evaluations(wanted + 1)
        seen = f"max(count_over_time({self._succeeded}[{span}]{offset}))"
        return f"({query}\n  and {seen} >= {wanted})"

    def _evaluations(self, number: int) -> str:
        return format_duration(number * self._knobs["evaluationSeconds"])

    def _rows(self, record: str) -> str:
        return f"{record}{{{self._matchers}}}"

    def _whole(self, record: str) -> str:
        """The row of the model over its versions."""
        return f'{record}{{{self._matchers},version=""}}'


def _real(query: str) -> str:
    """The query without values that are not a number: prometheus-adapter would turn them into a number."""
    return f"(({query}) >= 0) < Inf"


def _word(model: str, taken: set[str]) -> str:
    """The model's name as part of a metric's; a number follows where two models would get the same."""
    plain = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")[:40] or "model"
    word, number = plain, 2
    while word in taken:
        word, number = f"{plain}-{number}", number + 1
    taken.add(word)
    return word
