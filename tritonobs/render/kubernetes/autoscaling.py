"""Autoscalers of pools: HorizontalPodAutoscalers with the rules of prometheus-adapter, or ScaledObjects.

Every metric is a number of servers, and its target is 1 for each. So a metric means the same to both, and
KEDA's fallback, which multiplies whole targets, is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tritonobs.plan.fleet import Plan
from tritonobs.plan.kubernetes import Objects, ScaledPool
from tritonobs.render.artifact import Artifact, yaml_text
from tritonobs.render.kubernetes.needed import needs
from tritonobs.render.kubernetes.objects import Object, labelled

ADAPTER_PATH: Final = "kubernetes/prometheus-adapter.yaml"
_COMMENT = """\
Made by tritonobs build. Values of the chart prometheus-adapter: --reuse-values -f prometheus-adapter.yaml
In a configuration of your own the list is called externalRules."""
_EACH: Final = "1"
# As often as the controller of a HorizontalPodAutoscaler asks; the default of KEDA is 30 s.
_POLL_SECONDS: Final = 15
_FAILURES: Final = 3
_BEHAVIOR: Final = {
    # Growing is the controller's default: twice as many, or four more, within 15 s.
    "scaleDown": {
        "stabilizationWindowSeconds": 300,
        "policies": [{"type": "Percent", "value": 20, "periodSeconds": 60}],
    }
}


def autoscaling_objects(plan: Plan, objects: Objects) -> Iterator[Object]:
    """One object for each pool."""
    for pool in objects.autoscaling:
        yield _scaled_object(plan, pool, objects) if pool.by == "keda" else _hpa(plan, pool, objects)


def adapter_rules(plan: Plan, objects: Objects) -> Iterator[Artifact]:
    """The metrics of HorizontalPodAutoscalers as prometheus-adapter serves them; nothing without any."""
    rules = [
        {
            "seriesQuery": need.series,
            # Our series are of no namespace of Kubernetes.
            "resources": {"namespaced": False},
            "name": {"matches": "^.*$", "as": need.name},
            "metricsQuery": need.query,
        }
        for pool in objects.autoscaling
        if pool.by == "hpa"
        for need in needs(plan, pool)
    ]
    if rules:
        yield Artifact(path=ADAPTER_PATH, text=yaml_text({"rules": {"external": rules}}, comment=_COMMENT))


def _hpa(plan: Plan, pool: ScaledPool, objects: Objects) -> Object:
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": _metadata(pool, objects),
        "spec": {
            "scaleTargetRef": _target(pool),
            "minReplicas": pool.min_replicas,
            "maxReplicas": pool.max_replicas,
            "metrics": [
                {
                    "type": "External",
                    "external": {
                        "metric": {"name": need.name},
                        "target": {"type": "AverageValue", "averageValue": _EACH},
                    },
                }
                for need in needs(plan, pool)
            ],
            "behavior": _BEHAVIOR,
        },
    }


def _scaled_object(plan: Plan, pool: ScaledPool, objects: Objects) -> Object:
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": _metadata(pool, objects),
        "spec": {
            "scaleTargetRef": _target(pool),
            "pollingInterval": _POLL_SECONDS,
            "minReplicaCount": pool.min_replicas,
            "maxReplicaCount": pool.max_replicas,
            # Without data the pool stays as large as it is.
            "fallback": {
                "failureThreshold": _FAILURES,
                "replicas": pool.min_replicas,
                "behavior": "currentReplicasIfHigher",
            },
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": _BEHAVIOR}},
            "triggers": [
                {
                    "type": "prometheus",
                    "name": need.name,
                    "metricType": "AverageValue",
                    "metadata": {
                        "serverAddress": plan.addresses.prometheus_url,
                        "query": need.query,
                        "threshold": _EACH,
                        # KEDA's default takes an empty answer for 0.
                        "ignoreNullValues": "false",
                    },
                }
                for need in needs(plan, pool)
            ],
        },
    }


def _metadata(pool: ScaledPool, objects: Objects) -> Object:
    return {"name": pool.name, "namespace": pool.namespace, "labels": labelled(objects)}


def _target(pool: ScaledPool) -> Object:
    return {"apiVersion": pool.api, "kind": pool.kind, "name": pool.object_name}
