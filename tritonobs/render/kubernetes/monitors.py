"""What Prometheus scrapes: the servers, and `tritonobs serve`, with the labels that the rules read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

from tritonobs.plan.fleet import Plan, Pods, own_labels
from tritonobs.plan.kubernetes import Objects
from tritonobs.plan.rules import labels_selected
from tritonobs.render.found import plain, pool_relabellings, relabellings
from tritonobs.render.kubernetes.objects import NAME, PORT_NAME, SELECTED, Object, metadata
from tritonobs.units import format_duration

_TRITON: Final = "tritonobs-triton"
_TRITON_JOB: Final = "triton"
_SLOWEST_LIMITS_SECONDS = Decimal(3)
_LONGEST_TIMEOUT_SECONDS = Decimal(10)
_MATCH = re.compile(r"([^=!\s]+)\s*(==?|!=)?\s*(.*)")


def monitor_objects(plan: Plan, objects: Objects) -> Iterator[Object]:
    """A PodMonitor where servers are pods, else what asks `tritonobs serve` for them; and one for serve.

    Shards scrape servers, the global Prometheus scrapes serve.
    """
    how, tier = plan.replica_source, plan.rules.tier
    if tier != "global":
        yield _pods(plan, objects, how) if isinstance(how, Pods) else _asked(plan, objects)
    if tier != "shard":
        yield _serve(plan, objects)


def pod_selector(selector: str) -> dict[str, Any]:
    """Labels as `kubectl get -l` takes them, as objects write them."""
    labels: dict[str, str] = {}
    more: list[dict[str, Any]] = []
    for part in selector.split(","):
        found = _MATCH.fullmatch(part.strip())
        key, operator, value = found.groups() if found else (part, None, "")
        if operator is None:
            more.append({"key": key, "operator": "Exists"})
        elif operator == "!=":
            more.append({"key": key, "operator": "NotIn", "values": [value]})
        else:
            labels[key] = value
    return {**({"matchLabels": labels} if labels else {}), **({"matchExpressions": more} if more else {})}


def _pods(plan: Plan, objects: Objects, how: Pods) -> Object:
    relabelled = [
        *relabellings(plan, how),
        # The operator names a job after the object; the rules select another name.
        _set("job", _job(plan.rules.selector, _TRITON_JOB)),
        # A sidecar's ports lead to the same page: without its name they are one target.
        _set("container", ""),
        # Prometheus shards by this: all pods of one Deployment are in one shard.
        *pool_relabellings(how),
    ]
    interval = plan.prometheus.scrape_interval_seconds
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": metadata(_TRITON, objects),
        "spec": {
            "namespaceSelector": {"matchNames": [how.namespace]} if how.namespace else {"any": True},
            "selector": pod_selector(how.selector),
            "podMetricsEndpoints": [
                {
                    "path": "/metrics",
                    "interval": format_duration(interval),
                    "scrapeTimeout": format_duration(min(interval, _LONGEST_TIMEOUT_SECONDS)),
                    "relabelings": [_camel(one) for one in relabelled],
                }
            ],
        },
    }


def _asked(plan: Plan, objects: Objects) -> Object:
    """Prometheus asks `tritonobs serve`, which finds servers in the way that the fleet file says."""
    interval = plan.prometheus.scrape_interval_seconds
    return {
        "apiVersion": "monitoring.coreos.com/v1alpha1",
        "kind": "ScrapeConfig",
        "metadata": metadata(_TRITON, objects),
        "spec": {
            "jobName": _job(plan.rules.selector, _TRITON_JOB),
            "scrapeInterval": format_duration(interval),
            "scrapeTimeout": format_duration(min(interval, _LONGEST_TIMEOUT_SECONDS)),
            "httpSDConfigs": [{"url": f"{plan.addresses.serve_url}/sd/triton", "refreshInterval": "15s"}],
            "relabelings": [_camel(_set("job", _job(plan.rules.selector, _TRITON_JOB)))],
        },
    }


def _serve(plan: Plan, objects: Objects) -> Object:
    rules = plan.rules
    interval = plan.prometheus.scrape_interval_seconds
    limits = format_duration(min(interval, _SLOWEST_LIMITS_SECONDS))
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": metadata(NAME, objects),
        "spec": {
            "selector": {"matchLabels": dict(SELECTED)},
            "namespaceSelector": {"matchNames": [objects.namespace]},
            "endpoints": [
                {
                    "port": PORT_NAME,
                    "path": "/metrics",
                    "interval": limits,
                    "relabelings": _own(plan, rules.serve_selector, "tritonobs"),
                },
                {
                    "port": PORT_NAME,
                    "path": "/metrics/traces",
                    "interval": format_duration(interval),
                    "honorLabels": True,
                    "relabelings": _own(plan, rules.traces_selector, "tritonobs-traces"),
                },
            ],
        },
    }


def _own(plan: Plan, selector: str, job: str) -> list[Object]:
    wanted = {**plan.cluster_labels, **own_labels(selector, job=job)}
    labels = {**wanted, "job": _job(selector, job)}
    return [_camel(_set(label, value)) for label, value in labels.items()]


def _job(selector: str, usual: str) -> str:
    """The job that rules read with a selector."""
    return labels_selected(selector).get("job", usual)


def _set(label: str, value: str) -> dict[str, Any]:
    return {"target_label": label, "replacement": plain(value)}


def _camel(relabelling: dict[str, Any]) -> Object:
    """As the operator's objects spell it."""
    names = {"source_labels": "sourceLabels", "target_label": "targetLabel"}
    return {names.get(key, key): value for key, value in relabelling.items()}
