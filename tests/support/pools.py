"""Pools of servers as a cluster has them: Deployments whose pods kwok says to run."""

from __future__ import annotations

from typing import Any, Final

from support.fake_pods import MODEL_LABEL

NODE: Final[dict[str, Any]] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "node-1", "annotations": {"kwok.x-k8s.io/node": "fake"}},
    "status": {"allocatable": {"cpu": "999", "memory": "999Gi", "pods": "9999"}},
}
# Each port would be a target of its own if the monitor did not see to it.
_CONTAINERS = (
    {"name": "triton", "image": "triton", "ports": [{"containerPort": 8000}, {"containerPort": 8002}]},
    {"name": "sidecar", "image": "proxy", "ports": [{"containerPort": 15090}]},
)


def pod(name: str, labels: dict[str, str]) -> dict[str, Any]:
    """A pod of nobody."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "models", "labels": {MODEL_LABEL: "inspect", **labels}},
        "spec": _pod_spec(),
    }


def pool(name: str, servers: int, *, model: str, at_once: int = 1) -> dict[str, Any]:
    """A Deployment; a rollout replaces so many servers at once."""
    labels = {"app": "triton", "pool": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "models"},
        "spec": {
            "replicas": servers,
            "minReadySeconds": 2,
            "progressDeadlineSeconds": 86_400,
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": at_once, "maxUnavailable": 0},
            },
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": {**labels, MODEL_LABEL: model}},
                "spec": _pod_spec(),
            },
        },
    }


def _pod_spec() -> dict[str, Any]:
    # There is no scheduler. A pod that goes is asked to end first, as a kubelet does it.
    return {"nodeName": NODE["metadata"]["name"], "containers": list(_CONTAINERS)}
