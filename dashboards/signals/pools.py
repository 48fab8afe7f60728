"""Pools of servers in Kubernetes: how many there should be and are, as kube-state-metrics tells it."""

from __future__ import annotations

from typing import Final

from signals import Signal

_EMPTY: Final = "no pool is reported"
_KINDS: Final = ("deployment", "statefulset")


def _pools(*series: str) -> str:
    """The series of Deployments and of StatefulSets, each pool by the name of its object."""
    return "\nor\n".join(
        f'label_replace(\n  max by (%(by_cluster)s, namespace, {kind}) ({one}{{{kind}=~"%(pools)s", '
        f'%(cluster)s}}),\n  "pool", "$1", "{kind}", "(.*)"\n)'
        for kind, one in zip(_KINDS, series, strict=True)
    )


def _autoscalers(series: str) -> str:
    name = "horizontalpodautoscaler"
    return f'max by (%(by_cluster)s, namespace, {name}) ({series}{{{name}=~"%(pools)s", %(cluster)s}})'


READY = Signal(
    title="Servers of a pool",
    unit="none",
    expr=_pools("kube_deployment_status_replicas_available", "kube_statefulset_status_replicas_ready"),
    legend="{{pool}}",
    description=(
        "Servers that are ready (lines), and how many there should be (dashed). Good: the same, but for "
        "rollouts. Empty without Kubernetes and kube-state-metrics. From "
        "`kube_deployment_status_replicas_available` and its like."
    ),
    decimals=0,
    empty=_EMPTY,
)

WANTED = Signal(
    title="Servers that a pool should have",
    unit="none",
    expr=_pools("kube_deployment_spec_replicas", "kube_statefulset_replicas"),
    legend="{{pool}} should have",
    description=(
        "What the Deployment or StatefulSet asks for. From `kube_deployment_spec_replicas` and its like."
    ),
)

DESIRED = Signal(
    title="Servers that autoscalers want",
    unit="none",
    expr=_autoscalers("kube_horizontalpodautoscaler_status_desired_replicas"),
    legend="{{horizontalpodautoscaler}}",
    description=(
        "Servers that the load asks for (lines), and the most that are allowed (dashed). Good: below it, "
        "with few turns. Empty without Kubernetes and kube-state-metrics. From "
        "`kube_horizontalpodautoscaler_status_desired_replicas`."
    ),
    decimals=0,
    empty=_EMPTY,
)

MOST = Signal(
    title="The most servers",
    unit="none",
    expr=_autoscalers("kube_horizontalpodautoscaler_spec_max_replicas"),
    legend="most of {{horizontalpodautoscaler}}",
    description="The autoscaler's maximum. From `kube_horizontalpodautoscaler_spec_max_replicas`.",
)
