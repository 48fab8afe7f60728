"""The `kubernetes:` section of fleet.yaml: limits from annotations, and the objects that `build` writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, ModelWrapValidatorHandler, model_validator

from tritonobs.names import MAX_QPS_ANNOTATION
from tritonobs.spec.autoscaling import PoolName, PoolSpec
from tritonobs.spec.kinds import KINDS
from tritonobs.spec.section import MOST_ENTRIES, File, Section
from tritonobs.spec.values import API_VERSION, DNS_NAME, OBJECT_KIND, Url
from tritonobs.spec.words import found, listed

if TYPE_CHECKING:
    from typing_extensions import Self

# Where Kubernetes puts the token of a pod's own service account.
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_IMAGE = r"^[a-zA-Z0-9][a-zA-Z0-9._:/@-]*$"


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
        description='By which Grafana\'s sidecar finds boards; `grafana_dashboard: "1"` when left out.',
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
        default=True, description="Tell on the object, as an Event, that its limit is in force or why not."
    )
    objects: ObjectsSpec | None = Field(
        default=None, description="Write the objects for a cluster with the Prometheus operator."
    )
