"""Prometheus' own configuration, for 2.42 and newer: scrape jobs, rules, alerting.

Servers are written out, or found by Prometheus' own discovery. Where agents share them, vmagents and
VictoriaMetrics have configurations, too: both refuse what Prometheus needs for rules, and vmalert gets that
by its flags. Where shards share them, the global Prometheus asks those for the records that its rules read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlsplit

from tritonobs import names
from tritonobs.plan.fleet import (
    Group,
    Plan,
    Pods,
    ReplicaSource,
    Resolved,
    TargetsFile,
    address_of,
    own_labels,
    page_group,
    target_groups,
    triton_labels,
)
from tritonobs.render.artifact import Artifact, yaml_text
from tritonobs.render.rules import Given, given_by_shards, rules_config
from tritonobs.units import format_duration

PATH = "prometheus/prometheus.yml"
# A changed limit is in force within ten seconds: one to notice, three to scrape, five to evaluate.
_SLOWEST_LIMITS_SECONDS = Decimal(3)
# The default of Prometheus, which refuses a timeout above the interval: hence the `min` in `clock`.
_LONGEST_TIMEOUT_SECONDS = Decimal(10)
_COMMENT = """\
Made by tritonobs build from the fleet {fleet}.
How long Prometheus keeps samples is set where it is started: --storage.tsdb.retention.time={retention}d"""

AGENTS: Final = "prometheus/agents.yml"
STORE: Final = "prometheus/prometheus.yml"
_AGENTS_COMMENT: Final = """\
Made by tritonobs build from the fleet {fleet}.
For every vmagent: -promscrape.config=agents.yml -promscrape.cluster.membersCount={count}
-promscrape.cluster.memberNum=N"""
_STORE_COMMENT: Final = """\
Made by tritonobs build from the fleet {fleet}.
For VictoriaMetrics: -promscrape.config=prometheus.yml -retentionPeriod={retention}d"""

JOB: Final = "tritonobs-shards"
COUNTED_JOB: Final = "tritonobs-shards-counted"
# The longest delay with which a shard's record is read.
_SLOWEST_SECONDS: Final = Decimal(5)

_ADDRESS = "__address__"
_HASH = "__tmp_hash"
_POD = "__meta_kubernetes_pod_"


def render_prometheus(plan: Plan) -> tuple[Artifact, ...]:
    """`prometheus.yml`, and `agents.yml` where agents share the servers; rules are rendered beside them."""
    if plan.prometheus.agents:
        return tuple(_render_agents(plan))
    config = {
        "global": {**clock(plan), "external_labels": plan.cluster_labels},
        "rule_files": [f"rules/{name}.rules.yml" for name in rule_files(plan)],
        "alerting": {"alertmanagers": [_endpoint(plan.addresses.alertmanager_url)]},
        "scrape_configs": [
            *(federation(plan) if plan.rules.tier == "global" else [triton_job(plan)]),
            *_own_jobs(plan),
        ],
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
        found = plan.replica_source
        return {**_discovery(plan, found), "relabel_configs": relabellings(plan, found)}
    return {"static_configs": target_groups(plan)}


def _prometheus(plan: Plan) -> dict[str, Any]:
    """The pages of Prometheus itself, and of its shards: whether their rules fail or come late."""
    page = _page(plan.addresses.prometheus_url, plan.cluster_labels)
    if plan.rules.tier == "global":
        page["static_configs"] += _numbered_pages(plan, plan.prometheus.shards, "/metrics")
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
    """The times of traced requests. The page names replicas itself: one receiver serves many servers."""
    own = own_labels(plan.rules.traces_selector, job="tritonobs-traces")
    page = _page(plan.traces.receiver_url, {**plan.cluster_labels, **own})
    return {**page, "metrics_path": f"{page['metrics_path']}/traces", "honor_labels": True}


def _endpoint(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    prefix = {"path_prefix": parts.path} if parts.path else {}
    return {"scheme": parts.scheme, **prefix, "static_configs": [{"targets": [address_of(url)]}]}


def _render_agents(plan: Plan) -> Iterator[Artifact]:
    """`agents.yml` with the job of the servers, and `prometheus.yml` with the pages of all other parts."""
    settings = plan.prometheus
    interval = format_duration(settings.scrape_interval_seconds)
    fleet = " ".join(plan.fleet.split())
    general = {"scrape_interval": interval, "external_labels": plan.cluster_labels}
    yield Artifact(
        path=AGENTS,
        text=yaml_text(
            {"global": general, "scrape_configs": [_understood(triton_job(plan))]},
            comment=_AGENTS_COMMENT.format(fleet=fleet, count=len(settings.agents)),
        ),
    )
    pages = _numbered_pages(plan, settings.agents, "/metrics")
    agents = {"job_name": names.AGENTS_JOB, "static_configs": pages}
    yield Artifact(
        path=STORE,
        text=yaml_text(
            {"global": general, "scrape_configs": [*_own_jobs(plan), agents]},
            comment=_STORE_COMMENT.format(fleet=fleet, retention=settings.retention_days),
        ),
    )


def _understood(job: dict[str, Any]) -> dict[str, Any]:
    """The job without the interval of its discovery: for vmagent that is a flag, and the field an error."""
    return {
        name: [{key: one[key] for key in one if key != "refresh_interval"} for one in value]
        if name.endswith("_sd_configs")
        else value
        for name, value in job.items()
    }


def shard_labels(plan: Plan, number: int) -> dict[str, str]:
    """What a shard adds to all that leaves it."""
    return {**plan.cluster_labels, names.SHARD: str(number)}


def _numbered_pages(plan: Plan, urls: Sequence[str], path: str) -> list[Group]:
    """A page of each shard or agent, with the labels of what it gives."""
    return [page_group(f"{url}{path}", shard_labels(plan, number)) for number, url in enumerate(urls)]


def federation(plan: Plan) -> list[dict[str, Any]]:
    """The jobs that read the records of shards, each under the name `shard:` and its own.

    Samples that count keep the time they were recorded at, so that each counts once. All others get the time
    of the scrape: Prometheus then ends a series that the shard ended, and all of a shard that is gone.

    Raises:
        RenderFailed: the mixin refuses the config.
    """
    given = given_by_shards(rules_config(plan))
    return [
        _job(plan, JOB, [one for one in given if not one.counts], own_times=False),
        _job(plan, COUNTED_JOB, [one for one in given if one.counts], own_times=True),
    ]


def _job(plan: Plan, name: str, given: list[Given], *, own_times: bool) -> dict[str, Any]:
    interval = format_duration(min(_SLOWEST_SECONDS, plan.prometheus.evaluation_interval_seconds))
    matched = "|".join(one.record for one in given)
    return {
        "job_name": name,
        "scrape_interval": interval,
        "scrape_timeout": interval,
        "honor_labels": True,
        "honor_timestamps": own_times,
        "params": {"match[]": [f'{{__name__=~"{matched}"}}']},
        "static_configs": _numbered_pages(plan, plan.prometheus.shards, "/federate"),
        "metric_relabel_configs": [
            # A record that has no job would get that of this scrape.
            {"source_labels": ["job"], "regex": name, "target_label": "job", "replacement": ""},
            {"source_labels": ["__name__"], "target_label": "__name__", "replacement": f"{names.SHARD}:$1"},
        ],
    }


def relabellings(plan: Plan, how: ReplicaSource) -> list[dict[str, Any]]:
    """Which of the targets found are servers, and what their series are labelled with."""
    own = [
        {"target_label": label, "replacement": plain(value)} for label, value in triton_labels(plan).items()
    ]
    if not isinstance(how, Pods):
        return [_copied(_ADDRESS, plan.rules.replica_label), *own]
    return [
        # A pod that is over has no metrics page and keeps its address for a while.
        {"source_labels": [f"{_POD}phase"], "regex": "Pending|Succeeded|Failed|Unknown", "action": "drop"},
        {"source_labels": [f"{_POD}container_init"], "regex": "true", "action": "drop"},
        *(
            {
                "source_labels": [f"{_POD}ip"],
                "regex": address,
                "target_label": _ADDRESS,
                "replacement": f"{host}:{how.port}",
            }
            for address, host in (("(.+:.+)", "[$1]"), ("([^:]+)", "$1"))
        ),
        _copied(f"{_POD}name", plan.rules.replica_label),
        _copied("__meta_kubernetes_namespace", "namespace"),
        *own,
    ]


def pool_relabellings(how: ReplicaSource | None) -> list[dict[str, Any]]:
    """What shards are chosen by, in `__tmp_hash`: all servers of a pool are in one shard.

    A pool is a Deployment or StatefulSet, and elsewhere what targets call so: their label `pool`.
    """
    if not isinstance(how, Pods):
        return [_copied("pool", _HASH)]
    controller = f"{_POD}controller_"
    return [
        {
            "source_labels": ["__meta_kubernetes_namespace", f"{controller}name"],
            "separator": "/",
            "target_label": _HASH,
        },
        {
            "source_labels": ["__meta_kubernetes_namespace", f"{controller}kind", f"{controller}name"],
            "separator": ";",
            # A rollout makes a new ReplicaSet, whose name is the Deployment's and a hash.
            "regex": "([^;]+);ReplicaSet;(.+)-[a-z0-9]+",
            "target_label": _HASH,
            "replacement": "$1/$2",
        },
    ]


def shard_relabellings(how: ReplicaSource | None, number: int, shards: int) -> list[dict[str, Any]]:
    """Keep the servers of one shard, as Prometheus' operator does; without a pool by their address."""
    return [
        *pool_relabellings(how),
        {
            "source_labels": [_HASH, _ADDRESS],
            "regex": ";(.+)",
            "target_label": _HASH,
        },
        {"source_labels": [_HASH], "modulus": shards, "target_label": _HASH, "action": "hashmod"},
        {"source_labels": [_HASH], "regex": str(number), "action": "keep"},
    ]


def _discovery(plan: Plan, how: ReplicaSource) -> dict[str, Any]:
    if isinstance(how, Pods):
        return {"kubernetes_sd_configs": [_pods(plan, how)]}
    # Prometheus' defaults are 5 m for files, 30 s for DNS and 1 m for pages: a new server would wait.
    if isinstance(how, TargetsFile):
        return {"file_sd_configs": [{"files": [str(how.path)], "refresh_interval": "15s"}]}
    if isinstance(how, Resolved):
        names = {"names": [how.name], "type": "A", "port": how.port, "refresh_interval": "15s"}
        return {"dns_sd_configs": [names]}
    return {"http_sd_configs": [{"url": how.url, "refresh_interval": "15s"}]}


def _pods(plan: Plan, how: Pods) -> dict[str, Any]:
    server = plan.kubernetes.server
    outside: dict[str, Any] = {}
    if server is not None and server.url:
        outside = {
            "api_server": server.url,
            "authorization": {"credentials_file": str(server.token_file)},
            **({"tls_config": {"ca_file": str(server.ca_file)}} if server.url.startswith("https") else {}),
        }
    return {
        "role": "pod",
        **outside,
        **({"namespaces": {"names": [how.namespace]}} if how.namespace else {}),
        "selectors": [{"role": "pod", "label": how.selector}],
    }


def _copied(source: str, target: str) -> dict[str, Any]:
    return {"source_labels": [source], "target_label": target}


def plain(text: str) -> str:
    """Prometheus reads `$1` in a replacement as a group."""
    return text.replace("$", "$$")
