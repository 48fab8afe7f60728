"""The replicas and models of a fleet, everything inherited."""

from __future__ import annotations

from urllib.parse import urlsplit

from tritonobs.plan.fleet import Call, Model, Replica
from tritonobs.spec.replicas import DiscoverySpec, ReplicaSpec
from tritonobs.spec.schema import Spec

# Triton's own default.
_METRICS_PORT = 8002


def build_replicas(spec: Spec) -> tuple[Replica, ...]:
    """Every replica that the file names, with the address of its metrics page."""
    return () if isinstance(spec.replicas, DiscoverySpec) else tuple(map(_replica, spec.replicas))


def build_models(spec: Spec) -> tuple[Model, ...]:
    """Every model, in the order of the file."""
    return tuple(
        Model(
            name=name,
            versions=tuple(model.versions),
            kind=model.pipeline or "model",
            calls=tuple(
                Call(stage=stage, model=call.model or stage, per_request=call.per_request)
                for stage, call in model.calls.items()
            ),
            team=_first(model.team, spec.defaults.team),
            tier=_first(model.tier, spec.defaults.tier),
        )
        for name, model in spec.models.items()
    )


def _first(own: str | None, inherited: str | None) -> str:
    # An empty text of one's own ends inheritance; only what is left out inherits.
    return own if own is not None else inherited or ""


def _replica(replica: ReplicaSpec) -> Replica:
    if replica.metrics_url:
        metrics_url = replica.metrics_url
    else:
        parts = urlsplit(replica.url)
        # urlsplit takes the brackets off an IPv6 address.
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        metrics_url = f"{parts.scheme}://{host}:{_METRICS_PORT}/metrics"
    return Replica(name=replica.name, http_url=replica.url, metrics_url=metrics_url)
