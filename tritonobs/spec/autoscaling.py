"""`kubernetes.objects.autoscaling` of fleet.yaml: pools of servers, and what decides how many there are."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from tritonobs.spec.bounded import bounded_duration, bounded_number, bounded_share
from tritonobs.spec.kinds import SCALED_KINDS
from tritonobs.spec.section import Section
from tritonobs.spec.values import API_VERSION, DNS_NAME, OBJECT_KIND, Name, number_schema
from tritonobs.spec.words import found, listed

if TYPE_CHECKING:
    from typing_extensions import Self

_MOST_REPLICAS: Final = 10_000
_MOST_MODELS: Final = 20
"""Each model has up to five metrics, and the autoscaler asks for every one of them every 15 s."""
_DNS_LABEL = r"^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$"

PoolName = Annotated[str, Field(pattern=_DNS_LABEL)]
Servers = Annotated[int, Field(ge=1, le=_MOST_REPLICAS)]
_Share = Annotated[
    Decimal,
    BeforeValidator(bounded_share(Decimal("0.1"), Decimal(1))),
    WithJsonSchema({"type": ["string", "number"], "examples": ["80%", 0.8]}),
]
_Wait = Annotated[
    Decimal,
    BeforeValidator(bounded_duration(Decimal("0.001"), Decimal(3_600))),
    WithJsonSchema({"type": "string", "examples": ["100ms"]}),
]
_Count = Annotated[
    Decimal,
    BeforeValidator(bounded_number(Decimal("0.1"), Decimal(10_000))),
    WithJsonSchema(number_schema(Decimal(0), Decimal(10_000))),
]
_Models = Annotated[tuple[Name, ...], Field(max_length=_MOST_MODELS)]


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
        description="How many servers take what the models' qps_limit allows; max_replicas when left out.",
    )
    limit_share: _Share = Field(
        default=Decimal("0.8"), description="So much of its share of a limit may be offered to a server."
    )
    queue_wait: _Wait = Field(
        default=Decimal("0.1"), description="So long may requests wait in Triton's queue, on average."
    )
    waiting_requests: _Count = Field(
        default=Decimal(2), description="So many requests may wait on each server of a language model."
    )
    kv_cache: _Share = Field(
        default=Decimal("0.8"), description="So full may the KV cache of a language model be, on average."
    )

    @model_validator(mode="after")
    def _a_kind_that_is_known(self) -> Self:
        if not self.api and self.kind not in SCALED_KINDS:
            known = listed(SCALED_KINDS)
            raise ValueError(f"found kind {found(self.kind)} without `api`; allowed without it are {known}")
        if self.max_replicas < self.min_replicas:
            raise ValueError(
                f"max_replicas is {self.max_replicas}, less than min_replicas ({self.min_replicas})"
            )
        return self
