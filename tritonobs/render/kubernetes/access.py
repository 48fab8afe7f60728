"""What `tritonobs serve` may do in the cluster, and who may reach it: no more than it needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tritonobs.plan.fleet import Plan, Pods
from tritonobs.plan.kubernetes import Objects
from tritonobs.render.kubernetes.objects import NAME, PORT, SELECTED, Object, labelled, metadata

_RIGHTS = "rbac.authorization.k8s.io"
_NAMESPACE = "kubernetes.io/metadata.name"
Rule = dict[str, Any]


def access_objects(plan: Plan, objects: Objects) -> Iterator[Object]:
    """The service account; its rights on its Lease, on annotated objects, and on the pods it looks for."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(NAME, objects)}
    # The pods of serve ask for the token in their own spec; no other pod of this account gets one.
    yield {**account, "automountServiceAccountToken": False}
    lease = [
        # RBAC cannot restrict `create` to a name, so it stands apart from the other verbs.
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": [NAME],
            "verbs": ["get", "update"],
        },
    ]
    yield from _granted(NAME, objects.namespace, lease, objects)
    watched = plan.kubernetes.watched
    if watched:
        events = {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]}
        rules: list[Rule] = [
            {"apiGroups": [kind.group], "resources": [kind.plural], "verbs": ["list", "watch"]}
            for kind in watched.kinds
        ]
        rules += [events] if watched.events else []
        yield from _granted(f"{NAME}-annotations", watched.namespace, rules, objects)
    if isinstance(plan.replica_source, Pods):
        pods = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
        yield from _granted(f"{NAME}-pods", plan.replica_source.namespace, pods, objects)


def reach_objects(plan: Plan, objects: Objects) -> Iterator[Object]:
    """Only its own namespace reaches serve, that of Prometheus and Alertmanager, and that of the servers."""
    how = plan.replica_source
    # Triton posts its traces to serve.
    servers = how.namespace if isinstance(how, Pods) else ""
    named = sorted({objects.namespace, objects.prometheus_namespace, servers} - {""})
    peers: list[Rule] = [{"namespaceSelector": {"matchLabels": {_NAMESPACE: name}}} for name in named]
    yield {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(NAME, objects),
        "spec": {
            "podSelector": {"matchLabels": dict(SELECTED)},
            "policyTypes": ["Ingress"],
            "ingress": [{"from": peers, "ports": [{"port": PORT, "protocol": "TCP"}]}],
        },
    }
    yield {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(NAME, objects),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": dict(SELECTED)}},
    }


def _granted(name: str, namespace: str, rules: Sequence[Rule], objects: Objects) -> Iterator[Object]:
    """Rights in one namespace, or in all, for the service account."""
    kind = "Role" if namespace else "ClusterRole"
    place = {"namespace": namespace} if namespace else {}
    about = {"name": name, **place, "labels": labelled(objects)}
    api = f"{_RIGHTS}/v1"
    yield {"apiVersion": api, "kind": kind, "metadata": about, "rules": list(rules)}
    yield {
        "apiVersion": api,
        "kind": f"{kind}Binding",
        "metadata": about,
        "roleRef": {"apiGroup": _RIGHTS, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": objects.namespace}],
    }
