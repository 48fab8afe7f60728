"""Prometheus' own configuration, for 2.42 and newer: what to scrape, which rules to load, whom to tell."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tritonobs import names
from tritonobs.plan.targets import address_of, triton_targets
from tritonobs.render.artifact import Artifact, yaml_text
from tritonobs.units import format_duration

if TYPE_CHECKING:
    from tritonobs.plan.fleet import Plan

PATH = "prometheus/prometheus.yml"
# A changed limit is in force within ten seconds: one to notice, three to scrape, five to evaluate.
_SLOWEST_LIMITS_SECONDS = Decimal(3)
_LONGEST_TIMEOUT_SECONDS = Decimal(10)
_COMMENT = """\
Made by tritonobs build from the fleet {fleet}.
How long Prometheus remembers is set where it is started: --storage.tsdb.retention.time={retention}d"""


def render_prometheus(plan: Plan) -> tuple[Artifact, ...]:
    """`prometheus.yml`; the rules it names are rendered beside it."""
    interval = plan.prometheus.scrape_interval_seconds
    config = {
        "global": {
            "scrape_interval": format_duration(interval),
            "scrape_timeout": format_duration(min(interval, _LONGEST_TIMEOUT_SECONDS)),
            "evaluation_interval": format_duration(plan.prometheus.evaluation_interval_seconds),
            "external_labels": {names.CLUSTER: plan.cluster},
        },
        "rule_files": [f"rules/{name}.rules.yml" for name in rule_files(plan)],
        "alerting": {"alertmanagers": [_endpoint(plan.addresses.alertmanager_url)]},
        "scrape_configs": _jobs(plan),
    }
    comment = _COMMENT.format(fleet=" ".join(plan.fleet.split()), retention=plan.prometheus.retention_days)
    return (Artifact(path=PATH, text=yaml_text(config, comment=comment)),)


def rule_files(plan: Plan) -> tuple[str, ...]:
    """The rule files of a fleet, without `.rules.yml`."""
    return ("records", "alerts", *(("objectives",) if plan.limits_source == "rules" else ()))


def _jobs(plan: Plan) -> list[dict[str, Any]]:
    addresses = plan.addresses
    limits = {
        "scrape_interval": format_duration(
            min(plan.prometheus.scrape_interval_seconds, _SLOWEST_LIMITS_SECONDS)
        )
    }
    return [
        {"job_name": "triton", **_triton(plan)},
        {"job_name": "tritonobs", **limits, **_page(addresses.serve_url)},
        {"job_name": "prometheus", **_page(addresses.prometheus_url)},
        {"job_name": "alertmanager", **_page(addresses.alertmanager_url)},
    ]


def _triton(plan: Plan) -> dict[str, Any]:
    if plan.prometheus.discovery == "serve":
        discovery = {"url": f"{plan.addresses.serve_url}/sd/triton", "refresh_interval": "15s"}
        return {"http_sd_configs": [discovery]}
    return {
        "static_configs": [
            {"targets": [target.address], "labels": target.labels} for target in triton_targets(plan.replicas)
        ]
    }


def _page(url: str) -> dict[str, Any]:
    """A part's own metrics page, below the prefix it is served under."""
    parts = urlsplit(url)
    return {
        "scheme": parts.scheme,
        "metrics_path": f"{parts.path}/metrics",
        "static_configs": [{"targets": [address_of(url)]}],
    }


def _endpoint(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    prefix = {"path_prefix": parts.path} if parts.path else {}
    return {"scheme": parts.scheme, **prefix, "static_configs": [{"targets": [address_of(url)]}]}
