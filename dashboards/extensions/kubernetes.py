"""Pools of servers in Kubernetes: desired and ready servers, from kube-state-metrics."""

from __future__ import annotations

from typing import Final

from panels import row, timeseries
from signals import Signal

from extensions import Added

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
    title="Ready replicas",
    unit="none",
    expr=_pools("kube_deployment_status_replicas_available", "kube_statefulset_status_replicas_ready"),
    legend="{{pool}}",
    description=(
        "Ready replicas (lines), and desired ones (dashed). Good: the same, except during "
        "rollouts. Empty without Kubernetes and kube-state-metrics. From "
        "`kube_deployment_status_replicas_available` and its like."
    ),
    decimals=0,
    empty=_EMPTY,
)

WANTED = Signal(
    title="Desired replicas",
    unit="none",
    expr=_pools("kube_deployment_spec_replicas", "kube_statefulset_replicas"),
    legend="{{pool}} desired",
    description=(
        "The replicas of the Deployment or StatefulSet. From `kube_deployment_spec_replicas` and its like."
    ),
)

DESIRED = Signal(
    title="Desired replicas of autoscalers",
    unit="none",
    expr=_autoscalers("kube_horizontalpodautoscaler_status_desired_replicas"),
    legend="{{horizontalpodautoscaler}}",
    description=(
        "Replicas that the autoscaler requests (lines), and its maximum (dashed). Good: below it, "
        "with few changes of direction. Empty without Kubernetes and kube-state-metrics. From "
        "`kube_horizontalpodautoscaler_status_desired_replicas`."
    ),
    decimals=0,
    empty=_EMPTY,
)

MOST = Signal(
    title="Maximum replicas",
    unit="none",
    expr=_autoscalers("kube_horizontalpodautoscaler_spec_max_replicas"),
    legend="maximum of {{horizontalpodautoscaler}}",
    description="The autoscaler's maximum. From `kube_horizontalpodautoscaler_spec_max_replicas`.",
)

ADDED: Final = (
    Added(
        board="hosts",
        after="Hosts",
        row=row("Pools", timeseries(READY, limits=(WANTED,)), timeseries(DESIRED, limits=(MOST,))),
    ),
)
