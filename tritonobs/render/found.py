"""Servers that Prometheus finds by itself: its own discovery, with the labels that the rules read."""

from __future__ import annotations

from typing import Any

from tritonobs.plan.fleet import Plan, Pods, ReplicaSource, Resolved, TargetsFile, triton_labels

_ADDRESS = "__address__"
_HASH = "__tmp_hash"
_POD = "__meta_kubernetes_pod_"


def found_targets(plan: Plan, how: ReplicaSource) -> dict[str, Any]:
    """The part of a scrape configuration that finds servers and names them."""
    return {**_discovery(plan, how), "relabel_configs": relabellings(plan, how)}


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
        {
            "source_labels": [f"{_POD}ip"],
            "regex": "(.+:.+)",
            "target_label": _ADDRESS,
            "replacement": f"[$1]:{how.port}",
        },
        {
            "source_labels": [f"{_POD}ip"],
            "regex": "([^:]+)",
            "target_label": _ADDRESS,
            "replacement": f"$1:{how.port}",
        },
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
    """Prometheus takes `$1` in a replacement for a group."""
    return text.replace("$", "$$")
