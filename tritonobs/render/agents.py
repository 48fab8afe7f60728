"""What vmagents and VictoriaMetrics scrape where agents share the servers.

vmagent and VictoriaMetrics refuse what Prometheus needs for rules: vmalert gets those by its flags.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from tritonobs import names
from tritonobs.plan.fleet import Plan, address_of
from tritonobs.render.artifact import Artifact, yaml_text
from tritonobs.units import format_duration

AGENTS: Final = "prometheus/agents.yml"
STORE: Final = "prometheus/prometheus.yml"
_AGENTS_COMMENT: Final = """\
Made by tritonobs build from the fleet {fleet}.
For every vmagent: -promscrape.config=agents.yml -promscrape.cluster.membersCount={count}
-promscrape.cluster.memberNum=N"""
_STORE_COMMENT: Final = """\
Made by tritonobs build from the fleet {fleet}.
For VictoriaMetrics: -promscrape.config=prometheus.yml -retentionPeriod={retention}d"""


def render_agents(plan: Plan, servers: dict[str, Any], others: list[dict[str, Any]]) -> Iterator[Artifact]:
    """`agents.yml` with the job of the servers, and `prometheus.yml` with the pages of all other parts."""
    settings = plan.prometheus
    interval = format_duration(settings.scrape_interval_seconds)
    fleet = " ".join(plan.fleet.split())
    general = {"scrape_interval": interval, "external_labels": plan.cluster_labels}
    yield Artifact(
        path=AGENTS,
        text=yaml_text(
            {"global": general, "scrape_configs": [_understood(servers)]},
            comment=_AGENTS_COMMENT.format(fleet=fleet, count=len(settings.agents)),
        ),
    )
    pages = {"job_name": names.AGENTS_JOB, "static_configs": [*_pages(plan)]}
    yield Artifact(
        path=STORE,
        text=yaml_text(
            {"global": general, "scrape_configs": [*others, pages]},
            comment=_STORE_COMMENT.format(fleet=fleet, retention=settings.retention_days),
        ),
    )


def _understood(job: dict[str, Any]) -> dict[str, Any]:
    """The job without how often it looks for servers: for vmagent that is a flag, and the field an error."""
    return {
        name: [{key: one[key] for key in one if key != "refresh_interval"} for one in value]
        if name.endswith("_sd_configs")
        else value
        for name, value in job.items()
    }


def _pages(plan: Plan) -> Iterator[dict[str, Any]]:
    for number, url in enumerate(plan.prometheus.agents):
        yield {
            "targets": [address_of(url)],
            "labels": {
                "__scheme__": urlsplit(url).scheme,
                "__metrics_path__": f"{urlsplit(url).path}/metrics",
                **plan.cluster_labels,
                names.SHARD: str(number),
            },
        }
