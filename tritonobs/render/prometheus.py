"""Prometheus' own configuration, for 2.42 and newer: what to scrape, which rules to load, whom to tell."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from tritonobs.plan.fleet import Plan, address_of, own_labels, triton_targets
from tritonobs.render.agents import render_agents
from tritonobs.render.artifact import Artifact, yaml_text
from tritonobs.render.federation import federation, shard_targets
from tritonobs.render.found import found_targets
from tritonobs.units import format_duration

PATH = "prometheus/prometheus.yml"
# A changed limit is in force within ten seconds: one to notice, three to scrape, five to evaluate.
_SLOWEST_LIMITS_SECONDS = Decimal(3)
# The default of Prometheus, which refuses a timeout above the interval: hence the `min` in `clock`.
_LONGEST_TIMEOUT_SECONDS = Decimal(10)
_COMMENT = """\
Made by tritonobs build from the fleet {fleet}.
How long Prometheus remembers is set where it is started: --storage.tsdb.retention.time={retention}d"""


def render_prometheus(plan: Plan) -> tuple[Artifact, ...]:
    """`prometheus.yml`, and `agents.yml` where agents share the servers; rules are rendered beside them."""
    if plan.prometheus.agents:
        return tuple(render_agents(plan, triton_job(plan), _own_jobs(plan)))
    config = {
        "global": {**clock(plan), "external_labels": plan.cluster_labels},
        "rule_files": [f"rules/{name}.rules.yml" for name in rule_files(plan)],
        "alerting": {"alertmanagers": [_endpoint(plan.addresses.alertmanager_url)]},
        "scrape_configs": _jobs(plan),
    }
    comment = _COMMENT.format(fleet=" ".join(plan.fleet.split()), retention=plan.prometheus.retention_days)
    return (Artifact(path=PATH, text=yaml_text(config, comment=comment)),)


def clock(plan: Plan) -> dict[str, Any]:
    """How often a Prometheus of the fleet scrapes and evaluates."""
    interval = plan.prometheus.scrape_interval_seconds
    return {
        "scrape_interval": format_duration(interval),
        "scrape_timeout": format_duration(min(interval, _LONGEST_TIMEOUT_SECONDS)),
        "evaluation_interval": format_duration(plan.prometheus.evaluation_interval_seconds),
    }


def rule_files(plan: Plan) -> tuple[str, ...]:
    """The rule files of a fleet, without `.rules.yml`."""
    return ("records", "alerts", *(("objectives",) if plan.limits_source == "rules" else ()))


def _jobs(plan: Plan) -> list[dict[str, Any]]:
    federated = plan.rules.tier == "global"
    return [*(federation(plan) if federated else [triton_job(plan)]), *_own_jobs(plan)]


def _own_jobs(plan: Plan) -> list[dict[str, Any]]:
    """All but the servers."""
    addresses = plan.addresses
    cluster = plan.cluster_labels
    serve = {**cluster, **own_labels(plan.rules.serve_selector, job="tritonobs")}
    limits = {
        "scrape_interval": format_duration(
            min(plan.prometheus.scrape_interval_seconds, _SLOWEST_LIMITS_SECONDS)
        )
    }
    return [
        {"job_name": "tritonobs", **limits, **_page(addresses.serve_url, serve)},
        {"job_name": "tritonobs-traces", **_traces(plan)},
        {"job_name": "prometheus", **_prometheus(plan)},
        {"job_name": "alertmanager", **_page(addresses.alertmanager_url, cluster)},
    ]


def triton_job(plan: Plan) -> dict[str, Any]:
    """The servers."""
    return {"job_name": "triton", **_servers(plan)}


def _servers(plan: Plan) -> dict[str, Any]:
    if plan.prometheus.discovery == "serve":
        discovery = {"url": f"{plan.addresses.serve_url}/sd/triton", "refresh_interval": "15s"}
        return {"http_sd_configs": [discovery]}
    if plan.replica_source is not None:
        return found_targets(plan, plan.replica_source)
    return {
        "static_configs": [
            {"targets": [target.address], "labels": target.labels} for target in triton_targets(plan)
        ]
    }


def _prometheus(plan: Plan) -> dict[str, Any]:
    """The pages of Prometheus itself, and of its shards: whether their rules fail or come late."""
    page = _page(plan.addresses.prometheus_url, plan.cluster_labels)
    if plan.rules.tier == "global":
        page["static_configs"] += shard_targets(plan, "/metrics")
    return page


def _page(url: str, labels: dict[str, str]) -> dict[str, Any]:
    """A part's own metrics page, below the prefix it is served under; of a cluster as all series are."""
    parts = urlsplit(url)
    return {
        "scheme": parts.scheme,
        "metrics_path": f"{parts.path}/metrics",
        "static_configs": [{"targets": [address_of(url)], "labels": dict(labels)}],
    }


def _traces(plan: Plan) -> dict[str, Any]:
    """The times of traced requests. The page names replicas itself: one receiver hears many servers."""
    own = own_labels(plan.rules.traces_selector, job="tritonobs-traces")
    page = _page(plan.traces.receiver_url, {**plan.cluster_labels, **own})
    return {**page, "metrics_path": f"{page['metrics_path']}/traces", "honor_labels": True}


def _endpoint(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    prefix = {"path_prefix": parts.path} if parts.path else {}
    return {"scheme": parts.scheme, **prefix, "static_configs": [{"targets": [address_of(url)]}]}
