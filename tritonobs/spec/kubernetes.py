"""The `kubernetes:` section of fleet.yaml: limits from annotations, and objects for an operator."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from tritonobs.spec.section import Section
from tritonobs.spec.values import Url

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class ObjectsSpec(Section):
    """Kubernetes objects that `tritonobs build` writes beside the files."""

    namespace: str = Field(default="monitoring", description="The namespace the objects go to.")
    labels: dict[str, str] = Field(
        default_factory=dict, description="Labels of the objects: what your Prometheus selects rules by."
    )


class KubernetesSpec(Section):
    """Present, `tritonobs serve` follows `tritonobs.dev/max-qps` annotations of Deployments."""

    api: Url | None = Field(
        default=None, description="The API server; the one of the cluster serve runs in when left out."
    )
    namespace: str = Field(
        default="", description="Only Deployments of this namespace; of all when left out."
    )
    token_file: Path = Field(
        default=_ACCOUNT / "token", description="File with the bearer token; read anew as it rotates."
    )
    ca_file: Path = Field(
        default=_ACCOUNT / "ca.crt", description="File with the authority that signed the API server."
    )
    watch: bool = Field(default=True, description="false follows no annotations.")
    objects: ObjectsSpec | None = Field(
        default=None, description="Write PrometheusRule and ConfigMap objects for the Prometheus operator."
    )
