"""What Kubernetes has to do with a fleet, decided: annotations, objects, pools of servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Final, Literal

from tritonobs.spec.kubernetes import SCALED_KINDS, KubernetesSpec, ObjectsSpec, PoolSpec
from tritonobs.spec.schema import DiscoverySpec, Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledPool:
    """A pool, what is scaled, and from which load on it needs another server.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServer:
    """An API server and who we are to it; an empty `url` is the cluster this process runs in."""

    url: str
    token_file: Path
    ca_file: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedKind:
    """A kind of objects as the API has it: `group/version` ("v1" for the core), name, plural."""

    api: str
    name: str
    plural: str

    @property
    def group(self) -> str:
        """The API group, as access rights name it."""
        # The core group's API is `v1` alone: `partition` would take the version for a group.
        return self.api.rpartition("/")[0]


DEPLOYMENT: Final = WatchedKind(api="apps/v1", name="Deployment", plural="deployments")
BOARD_LABELS: Final = {"grafana_dashboard": "1"}
"""What the sidecar of Grafana's chart looks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """Whose annotations are followed; an empty `namespace` is all of them."""

    server: ApiServer
    namespace: str
    annotation: str
    kinds: tuple[WatchedKind, ...]
    events: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedObject:
    """An object's name, our annotations on it, and which program wrote each of them last."""

    kind: str = "Deployment"
    api: str = "apps/v1"
    namespace: str
    name: str
    uid: str = ""
    annotations: Mapping[str, str]
    writers: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """`Kind namespace/name`."""
        return f"{self.kind} {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Objects:
    """How the objects that `build` writes are named, labelled and run."""

    namespace: str = "monitoring"
    labels: Mapping[str, str] = field(default_factory=dict)
    board_labels: Mapping[str, str] = field(default_factory=lambda: BOARD_LABELS)
    image: str = ""
    secret: str = "tritonobs"  # noqa: S105 (the name of an object)
    serve_replicas: int = 2
    prometheus_namespace: str = ""
    autoscaling: tuple[ScaledPool, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubernetes:
    """The `kubernetes:` section; what is None is not wanted."""

    server: ApiServer | None = None
    watched: Watched | None = None
    objects: Objects | None = None

    @property
    def naming(self) -> Objects:
        """How objects are named where they are wanted: as the fleet file says, or as usual."""
        return self.objects or Objects()


def build_kubernetes(spec: Spec, base: Path) -> Kubernetes:
    """Fill in what is left out; relative paths count from `base`."""
    said = spec.kubernetes or KubernetesSpec(watch=False)
    server = ApiServer(url=said.api or "", token_file=base / said.token_file, ca_file=base / said.ca_file)
    watched = Watched(
        server=server,
        namespace=said.namespace,
        annotation=said.annotation,
        kinds=tuple(WatchedKind(api=one.api, name=one.kind, plural=one.plural) for one in said.kinds)
        or (DEPLOYMENT,),
        events=said.events,
    )
    return Kubernetes(
        server=server,
        # A rules file holds the limits of the fleet file: annotations would have no effect.
        watched=watched if said.watch and spec.limits_source == "serve" else None,
        objects=build_objects(said.objects, servers_namespace(spec)) if said.objects else None,
    )


def servers_namespace(spec: Spec) -> str:
    """Where the servers' pods are: as they are looked for, or where annotated objects are; "" if not said."""
    how = spec.replicas
    pods = how.kubernetes if isinstance(how, DiscoverySpec) else None
    return (pods.namespace if pods else "") or (spec.kubernetes.namespace if spec.kubernetes else "")


def build_objects(spec: ObjectsSpec, servers: str) -> Objects:
    """The `kubernetes.objects` section; `servers` is the namespace of the servers."""
    return Objects(
        namespace=spec.namespace,
        labels=spec.labels,
        board_labels=spec.board_labels or BOARD_LABELS,
        image=spec.image,
        secret=spec.secret,
        serve_replicas=spec.serve_replicas,
        prometheus_namespace=spec.prometheus_namespace,
        autoscaling=tuple(build_pool(name, pool, servers) for name, pool in spec.autoscaling.items()),
    )
