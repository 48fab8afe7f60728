"""Pools of servers that Kubernetes makes larger and smaller, decided."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from tritonobs.spec.autoscaling import PoolSpec
from tritonobs.spec.kinds import SCALED_KINDS


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledPool:
    """A pool, what is scaled, and from where on it needs another server.

    `limit_replicas` servers take what the models' limits allow; `limit_share` and `kv_cache_ratio` are shares
    of one.
    """

    name: str
    by: Literal["hpa", "keda"]
    api: str
    kind: str
    object_name: str
    namespace: str
    models: tuple[str, ...]
    language_models: frozenset[str]
    min_replicas: int
    max_replicas: int
    limit_replicas: int
    limit_share: Decimal
    queue_wait_seconds: Decimal
    waiting_requests: Decimal
    kv_cache_ratio: Decimal

    @property
    def autoscaler(self) -> str:
        """The name of its HorizontalPodAutoscaler; KEDA makes one of its own for each ScaledObject."""
        return f"keda-hpa-{self.name}" if self.by == "keda" else self.name


def build_pool(name: str, spec: PoolSpec, namespace: str) -> ScaledPool:
    """A pool of the fleet file; `namespace` is that of the servers, for a pool that names none."""
    return ScaledPool(
        name=name,
        by=spec.by,
        api=spec.api or SCALED_KINDS[spec.kind],
        kind=spec.kind,
        object_name=spec.name or name,
        namespace=spec.namespace or namespace,
        # A model that is named twice would get every metric twice.
        models=tuple(dict.fromkeys(spec.models)),
        language_models=frozenset(spec.language_models),
        min_replicas=spec.min_replicas,
        max_replicas=spec.max_replicas,
        limit_replicas=spec.limit_replicas or spec.max_replicas,
        limit_share=spec.limit_share,
        queue_wait_seconds=spec.queue_wait,
        waiting_requests=spec.waiting_requests,
        kv_cache_ratio=spec.kv_cache,
    )
