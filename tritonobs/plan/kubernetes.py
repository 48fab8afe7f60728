"""What Kubernetes has to do with a fleet, decided: annotations, objects, pools of servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tritonobs.spec.kubernetes import SCALED_KINDS, KindSpec, KubernetesSpec, ObjectsSpec, PoolSpec
from tritonobs.spec.schema import DiscoverySpec, Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledPool:
    """A pool as the fleet file says it, with what it leaves out: what is scaled, and its models, each once.

    `limit_replicas` servers take what the models' limits allow.
    """

    name: str
    said: PoolSpec
    api: str
    object_name: str
    namespace: str
    models: tuple[str, ...]
    limit_replicas: int

    @property
    def autoscaler(self) -> str:
        """The name of its HorizontalPodAutoscaler; KEDA makes one of its own for each ScaledObject."""
        return f"keda-hpa-{self.name}" if self.said.by == "keda" else self.name


def build_pools(spec: Spec) -> tuple[ScaledPool, ...]:
    """The pools of the fleet file; one that names no namespace has that of the servers."""
    objects = spec.kubernetes.objects if spec.kubernetes else None
    return tuple(
        ScaledPool(
            name=name,
            said=said,
            api=said.api or SCALED_KINDS[said.kind],
            object_name=said.name or name,
            namespace=said.namespace or servers_namespace(spec),
            # A model that is named twice would get every metric twice.
            models=tuple(dict.fromkeys(said.models)),
            limit_replicas=said.limit_replicas or said.max_replicas,
        )
        for name, said in (objects.autoscaling if objects else {}).items()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServer:
    """An API server and who we are to it; an empty `url` is the cluster this process runs in."""

    url: str
    token_file: Path
    ca_file: Path


# As the fleet file says them; clients and renderers know the plan, and not how the file is read.
WatchedKind = KindSpec
Objects = ObjectsSpec


def usual_kinds() -> tuple[WatchedKind, ...]:
    """The kinds whose annotations are followed where the fleet file names none: Deployments."""
    return (WatchedKind.model_validate("Deployment"),)


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
class Kubernetes:
    """The `kubernetes:` section; what is None is not wanted."""

    server: ApiServer | None = None
    watched: Watched | None = None
    objects: Objects | None = None
    pools: tuple[ScaledPool, ...] = ()
    """Those of `objects`, with all that they leave out."""

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
        kinds=said.kinds or usual_kinds(),
        events=said.events,
    )
    return Kubernetes(
        server=server,
        # A rules file holds the limits of the fleet file: annotations would have no effect.
        watched=watched if said.watch and spec.limits_source == "serve" else None,
        objects=said.objects,
        pools=build_pools(spec),
    )


def servers_namespace(spec: Spec) -> str:
    """Where the servers' pods are: as they are looked for, or where annotated objects are; "" if not said."""
    how = spec.replicas
    pods = how.kubernetes if isinstance(how, DiscoverySpec) else None
    return (pods.namespace if pods else "") or (spec.kubernetes.namespace if spec.kubernetes else "")
