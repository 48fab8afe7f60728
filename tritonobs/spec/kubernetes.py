"""The `kubernetes:` section of fleet.yaml: limits from annotations, and the objects that `build` writes."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, ModelWrapValidatorHandler, WithJsonSchema, model_validator
from typing_extensions import Self  # pydantic brings it

from tritonobs.findings import found, listed
from tritonobs.names import MAX_QPS_ANNOTATION
from tritonobs.section import MOST_ENTRIES, File, Section
from tritonobs.spec.values import (
    API_VERSION,
    DNS_NAME,
    OBJECT_KIND,
    SHARES,
    Name,
    Url,
    bounded_duration,
    bounded_number,
    bounded_share,
    number_schema,
)

KINDS: Final = {
    "Deployment": ("apps/v1", "deployments"),
    "StatefulSet": ("apps/v1", "statefulsets"),
    "DaemonSet": ("apps/v1", "daemonsets"),
    "InferenceService": ("serving.kserve.io/v1beta1", "inferenceservices"),
}
"""Kinds that need only their name: group and version, and the plural of their paths."""
SCALED_KINDS: Final = {kind: KINDS[kind][0] for kind in ("Deployment", "StatefulSet")}
"""Those of them that an autoscaler can scale, with their group and version."""

_MOST_REPLICAS: Final = 10_000
_MOST_MODELS: Final = 20
"""Each model has up to five metrics, and the autoscaler asks for every one of them every 15 s."""
_DNS_LABEL = r"^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$"
PoolName = Annotated[str, Field(pattern=_DNS_LABEL)]
Servers = Annotated[int, Field(ge=1, le=_MOST_REPLICAS)]
_Share = Annotated[Decimal, bounded_share("10%", "100%"), SHARES]
_Wait = Annotated[
    Decimal,
    bounded_duration("1ms", "1h"),
    WithJsonSchema({"type": "string", "examples": ["100ms"]}),
]
_Count = Annotated[
    Decimal,
    bounded_number("0.1", "10000"),
    WithJsonSchema(number_schema(Decimal(0), Decimal(10_000))),
]
_Models = Annotated[tuple[Name, ...], Field(max_length=_MOST_MODELS)]

# Where Kubernetes puts the token of a pod's own service account.
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_IMAGE = r"^[a-zA-Z0-9][a-zA-Z0-9._:/@-]*$"


class PoolSpec(Section):
    """A pool of servers that Kubernetes makes larger and smaller. Missing data never makes it smaller."""

    by: Literal["hpa", "keda"] = Field(
        default="hpa",
        description="hpa: a HorizontalPodAutoscaler and rules for prometheus-adapter. keda: a ScaledObject.",
    )
    kind: str = Field(
        default="Deployment",
        pattern=OBJECT_KIND,
        description="What is scaled: Deployment, StatefulSet, or a custom resource with `api`.",
    )
    api: str = Field(
        default="",
        pattern=rf"{API_VERSION}|^$",
        description="Group and version of a custom resource, as in apiVersion: example.com/v1.",
    )
    name: str = Field(
        default="",
        pattern=rf"{DNS_NAME}|^$",
        description="The name of what is scaled; that of the pool when left out.",
    )
    namespace: str = Field(
        default="",
        pattern=r"^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$",
        description="Its namespace; that of `replicas.kubernetes`, or of annotated objects, when left out.",
    )
    models: Annotated[_Models, Field(min_length=1)] = Field(description="The models that each server has.")
    language_models: _Models = Field(
        default=(), description="Those of `models` that are language models of vLLM or TensorRT-LLM."
    )
    min_replicas: Servers = Field(default=1, description="The fewest servers; 0 is not allowed.")
    max_replicas: Servers = Field(description="The most servers.")
    limit_replicas: Servers | None = Field(
        default=None,
        description="The number of servers that serve the models' qps_limit; max_replicas when left out.",
    )
    limit_share: _Share = Field(
        default=Decimal("0.8"), description="The share of its part of a limit that a server may be offered."
    )
    queue_wait: _Wait = Field(
        default=Decimal("0.1"), description="How long requests may wait in Triton's queue, on average."
    )
    waiting_requests: _Count = Field(
        default=Decimal(2), description="How many requests may wait on each server of a language model."
    )
    kv_cache: _Share = Field(
        default=Decimal("0.8"), description="How full the KV cache of a language model may be, on average."
    )

    @model_validator(mode="after")
    def _a_kind_that_is_known(self) -> PoolSpec:
        if not self.api and self.kind not in SCALED_KINDS:
            known = listed(SCALED_KINDS)
            raise ValueError(f"found kind {found(self.kind)} without `api`; allowed without it are {known}")
        if self.max_replicas < self.min_replicas:
            raise ValueError(
                f"max_replicas is {self.max_replicas}, less than min_replicas ({self.min_replicas})"
            )
        return self


class KindSpec(Section):
    """A kind of objects whose annotations carry limits; a plain name is enough for well-known kinds."""

    kind: str = Field(pattern=OBJECT_KIND, description="Its name: ModelDeployment.")
    api: str = Field(
        pattern=API_VERSION,
        description="Group and version, as in apiVersion: example.com/v1.",
    )
    plural: str = Field(
        pattern=r"^[a-z][a-z0-9-]*$", description="The name in `kubectl get`: modeldeployments."
    )

    @model_validator(mode="wrap")
    @classmethod
    def _a_name_is_enough(cls, value: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(value, str):
            return handler(value)
        if value not in KINDS:
            known = listed(KINDS)
            raise ValueError(
                f"found {found(value)}; allowed are {known}, or a mapping with kind, api and plural"
            )
        api, plural = KINDS[value]
        return handler({"kind": value, "api": api, "plural": plural})

    @property
    def group(self) -> str:
        """The API group, as access rights name it."""
        # The core group's API is `v1` alone: `partition` would take the version for a group.
        return self.api.rpartition("/")[0]


class ObjectsSpec(Section):
    """Kubernetes objects that `tritonobs build` writes in addition to the files."""

    namespace: str = Field(
        default="monitoring", pattern=DNS_NAME, description="The namespace of the objects."
    )
    labels: dict[str, str] = Field(
        default_factory=dict,
        max_length=MOST_ENTRIES,
        description="Labels of the objects, for the selectors of your Prometheus: `release: …` of its chart.",
    )
    board_labels: dict[str, str] = Field(
        default_factory=dict,
        max_length=MOST_ENTRIES,
        description='By this label Grafana\'s sidecar finds boards; `grafana_dashboard: "1"` when left out.',
    )
    image: str = Field(
        default="",
        pattern=rf"{_IMAGE}|^$",
        description="The image of `tritonobs serve`; default: tritonobs:VERSION.",
    )
    secret: str = Field(
        default="tritonobs",
        pattern=DNS_NAME,
        description="The Secret with what `notify` names: a key for each file (its name) and variable.",
    )
    serve_replicas: int = Field(default=2, ge=1, le=5, description="Pods of `tritonobs serve`.")
    prometheus_namespace: str = Field(
        default="",
        pattern=rf"{DNS_NAME}|^$",
        description="Where Prometheus and Alertmanager run, if not in `namespace`; they may reach `serve`.",
    )
    autoscaling: dict[PoolName, PoolSpec] = Field(
        default_factory=dict,
        max_length=MOST_ENTRIES,
        description="Pools of servers that grow and shrink with their load, by their name.",
    )


class KubernetesSpec(Section):
    """If present, `tritonobs serve` follows annotations of Kubernetes objects."""

    api: Url | None = Field(
        default=None, description="The API server; that of the cluster in which serve runs when left out."
    )
    namespace: str = Field(
        default="", description="The namespace of the annotated objects; all namespaces when left out."
    )
    token_file: File = Field(
        default=_ACCOUNT / "token", description="File with the bearer token; read again when it rotates."
    )
    ca_file: File = Field(
        default=_ACCOUNT / "ca.crt", description="File with the certificate authority of the API server."
    )
    watch: bool = Field(
        default=True, description="false ignores annotations, as `limits_source: rules` does."
    )
    annotation: str = Field(
        default=MAX_QPS_ANNOTATION,
        max_length=200,
        pattern=r"^([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?$",
        description="The key of the annotation with the limit; `KEY.VERSION` is for one version.",
    )
    kinds: tuple[KindSpec, ...] = Field(
        default=(),
        max_length=20,
        description="The kinds whose annotations count: Deployment (default), StatefulSet, DaemonSet, "
        "InferenceService, or a mapping for a custom resource.",
    )
    events: bool = Field(
        default=True,
        description="Report as an Event of the object whether its limit is in force, or why not.",
    )
    objects: ObjectsSpec | None = Field(
        default=None, description="Write the objects for a cluster with the Prometheus operator."
    )
