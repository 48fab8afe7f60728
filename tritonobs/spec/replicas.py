"""`replicas:` of fleet.yaml: the servers written out, or how to find them where they come and go."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from tritonobs.section import MOST_REPLICAS, File, Section
from tritonobs.spec.values import Name, Url
from tritonobs.spec.words import found, listed

if TYPE_CHECKING:
    from typing_extensions import Self

_MOST_PORT, _LONG = 65_535, 20
_LABEL = r"(?:[a-zA-Z0-9.-]+/)?[a-zA-Z0-9]([a-zA-Z0-9_.-]*[a-zA-Z0-9])?"
_PODS = re.compile(
    rf"{_LABEL}(?:\s*(?:=|==|!=)\s*[a-zA-Z0-9_.-]*)?(?:\s*,\s*{_LABEL}(?:\s*(?:=|==|!=)\s*[a-zA-Z0-9_.-]*)?)*"
)
_HOST = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?\.?")


def _port(value: object) -> int:
    text = str(value)
    # `²` is a digit too, and int() refuses thousands of digits in words of its own.
    if not (text.isascii() and text.isdigit() and len(text) < _LONG and 1 <= int(text) <= _MOST_PORT):
        raise ValueError(f"found {found(value)}; allowed is a port, 1 to {_MOST_PORT}")
    return int(text)


def _selector(value: object) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if not _PODS.fullmatch(text):
        raise ValueError(f"found {found(value)}; allowed are labels of pods, like app=triton,tier!=test")
    return text


def _host(value: object) -> str:
    if not isinstance(value, str) or not _HOST.fullmatch(value):
        raise ValueError(f"found {found(value)}; allowed is a host name, like triton.models.svc")
    return value


Port = Annotated[int, BeforeValidator(_port)]


class ReplicaSpec(Section):
    """One running Triton server."""

    name: Name = Field(description="The name that people use; the label `replica`.")
    url: Url = Field(description="Triton's HTTP address.")
    metrics_url: Url | None = Field(
        default=None,
        description="Triton's metrics page; port 8002 and /metrics on the same host when left out.",
    )


class PodsSpec(Section):
    """Triton servers are the running pods with these labels."""

    selector: Annotated[str, BeforeValidator(_selector)] = Field(
        description="Labels of the pods, as `kubectl get pods -l` takes them."
    )
    namespace: str = Field(
        default="",
        pattern=r"^([a-z0-9]([a-z0-9-]*[a-z0-9])?)?$",
        description="Their namespace; all namespaces when left out.",
    )
    port: Port = Field(default=8002, description="The port of Triton's metrics page.")
    http_port: Port = Field(default=8000, description="The port of Triton's HTTP address.")


class FileSpec(Section):
    """Triton servers are the targets of a file as Prometheus' file_sd reads it."""

    path: File = Field(description="JSON or YAML; read again when it changes.")
    http_port: Port = Field(default=8000, description="The port of Triton's HTTP address.")


class DnsSpec(Section):
    """Triton servers are the addresses behind a name, like that of a headless Service."""

    name: Annotated[str, BeforeValidator(_host)] = Field(description="The host name; its A records (IPv4).")
    port: Port = Field(default=8002, description="The port of Triton's metrics page.")
    http_port: Port = Field(default=8000, description="The port of Triton's HTTP address.")


class HttpSpec(Section):
    """Triton servers are the targets of a page as Prometheus' http_sd reads it."""

    url: Url = Field(description="The page's address.")
    http_port: Port = Field(default=8000, description="The port of Triton's HTTP address.")


class DiscoverySpec(Section):
    """How to find the servers; exactly one of these."""

    kubernetes: PodsSpec | None = Field(default=None, description="Pods of a Kubernetes cluster.")
    file: FileSpec | None = Field(default=None, description="A file with targets.")
    dns: DnsSpec | None = Field(default=None, description="A host name with several addresses.")
    http: HttpSpec | None = Field(default=None, description="A page with targets.")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if len(self.model_fields_set) != 1:
            ways = listed(sorted(type(self).model_fields))
            raise ValueError(
                f"found {len(self.model_fields_set)} ways to find the servers; allowed is one of {ways}"
            )
        return self


LIST, DISCOVERY = "[list]", "[discovery]"
"""Marks in pydantic's paths: which of the two was written."""


def _kind(value: Any) -> str:  # noqa: ANN401 (anything that the file holds)
    return DISCOVERY if isinstance(value, (dict, DiscoverySpec)) else LIST


Replicas = Annotated[
    Annotated[tuple[ReplicaSpec, ...], Field(min_length=1, max_length=MOST_REPLICAS), Tag(LIST)]
    | Annotated[DiscoverySpec, Tag(DISCOVERY)],
    Discriminator(_kind),
]
