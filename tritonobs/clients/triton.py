"""Triton's HTTP API, as far as tritonobs asks it: KServe v2 with Triton's repository and statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeVar
from urllib.parse import quote

from pydantic import AliasPath, Field, TypeAdapter
from pydantic.dataclasses import dataclass as pydantic_dataclass

from tritonobs.clients.transport import Answer, Json, Transport, as_documented

_T = TypeVar("_T")


@pydantic_dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryEntry:
    """A model version the repository knows; `version` is "" for one that was never loaded."""

    name: str
    version: str = ""
    state: str = "UNAVAILABLE"
    reason: str = ""

    @property
    def ready(self) -> bool:
        """Whether it serves."""
        return self.state == "READY"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleStep:
    """One step of an ensemble; `version` -1 means the latest that is ready."""

    model: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """What a model version was loaded with; `steps` is not empty for an ensemble."""

    name: str
    platform: str
    max_batch_size: int
    max_queue_delay_seconds: float
    decoupled: bool
    steps: tuple[EnsembleStep, ...]
    parameters: Mapping[str, str]


@pydantic_dataclass(frozen=True, slots=True, kw_only=True)
class ModelStats:
    """Counts, and the time of what went well, since the version was loaded (a reload starts them again)."""

    name: str
    version: str
    successes: int = Field(validation_alias=AliasPath("inference_stats", "success", "count"))
    failures: int = Field(default=0, validation_alias=AliasPath("inference_stats", "fail", "count"))
    success_ns: int = Field(default=0, validation_alias=AliasPath("inference_stats", "success", "ns"))


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSetting:
    """How a server traces requests: `rate` N means every Nth, `count` how many more (-1 without end).

    `mode` is `opentelemetry` or `triton` (files); it and `url` are set where the server is started.
    """

    level: tuple[str, ...]
    rate: int
    count: int
    mode: str
    url: str

    @property
    def on(self) -> bool:
        """Whether anything is traced."""
        return "TIMESTAMPS" in self.level and self.count != 0


class TritonClient(Transport):
    """One replica. Every method raises ClientError when there is no answer."""

    def ready(self) -> bool:
        """Whether the server, and every model it must serve, is ready."""
        return self.get("/v2/health/ready").ok

    def model_ready(self, model: str, version: str = "") -> bool:
        """Whether this model (or this version of it) is ready."""
        return self.get(f"{_model_path(model, version)}/ready").ok

    def server_version(self) -> str:
        """The server's own version: 2.51.0 is release 24.10."""
        return self._read(self.get("/v2"), lambda body: str(body["version"]))

    def repository_index(self) -> tuple[RepositoryEntry, ...]:
        """Every model version the repository knows, ready or not."""
        # Triton refuses a GET here.
        return self._read(self.post_json("/v2/repository/index", {}), _INDEX.validate_python)

    def model_configs(self, models: Iterable[str]) -> dict[str, ModelConfig]:
        """The configurations of ready models, of the highest version each, but for models it does not find.

        Such a model was unloaded meanwhile, or its name cannot be written in an address: see `_quoted`.
        """
        asked = {model: self.get(f"{_model_path(model, '')}/config") for model in models}
        return {
            model: self._read(answer, _config)
            for model, answer in asked.items()
            if answer.status not in _UNKNOWN
        }

    def stats(self, model: str = "", version: str = "") -> tuple[ModelStats, ...]:
        """Statistics of every ready model version, or of one model."""
        path = f"{_model_path(model, version)}/stats" if model else "/v2/models/stats"
        return self._read(self.get(path), lambda body: _STATS.validate_python(body["model_stats"]))

    def load(self, model: str) -> None:
        """Load a model, or reload it in place; returns when it is ready."""
        self._repository(model, "load")

    def unload(self, model: str) -> None:
        """Unload a model; returns before it is gone (ask `repository_index`)."""
        self._repository(model, "unload")

    def trace_setting(self, model: str = "") -> TraceSetting:
        """How requests to this model are traced, or, without one, those to models without a setting."""
        return self._read(self.get(_trace_path(model)), _trace)

    def trace(self, model: str, setting: Mapping[str, object]) -> TraceSetting:
        """Change fields of how requests to this model are traced; None removes what was set for it."""
        return self._read(self.post_json(_trace_path(model), setting), _trace)

    def _repository(self, model: str, verb: str) -> None:
        self.post_json(f"/v2/repository/models/{_quoted(model)}/{verb}", {}).required()

    def _read(self, answer: Answer, build: Callable[[Json], _T]) -> _T:
        body = answer.required().json()
        with as_documented(self.address, answer.url):
            return build(body)


_AS_WRITTEN: Final = "!$&'()*+,;=:@~"
_UNKNOWN: Final = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)
"""Older releases answer 400 about a model that they do not have, 24.10 answers 404."""
_INDEX: Final = TypeAdapter(tuple[RepositoryEntry, ...])
_STATS: Final = TypeAdapter(tuple[ModelStats, ...])


def _quoted(name: str) -> str:
    # Triton 24.10 does not decode addresses: `a+b` is found, `a%2Bb` is not. These are all that urllib3
    # leaves as they are; what else is escaped (spaces, braces, other alphabets) is not found. A name in JSON
    # can hold half of a character.
    return quote(name, safe=_AS_WRITTEN, errors="surrogatepass")


def _model_path(model: str, version: str) -> str:
    return f"/v2/models/{_quoted(model)}" + (f"/versions/{_quoted(version)}" if version else "")


def _trace_path(model: str) -> str:
    return f"{_model_path(model, '') if model else '/v2'}/trace/setting"


def _trace(body: Json) -> TraceSetting:
    # Triton 24.10 writes rate and count as texts (`"trace_rate": "100"`).
    level = body["trace_level"]
    return TraceSetting(
        level=tuple(map(str, level if isinstance(level, list) else [level])),
        rate=int(body["trace_rate"]),
        count=int(body.get("trace_count", -1)),
        mode=str(body.get("trace_mode", "triton")),
        url=str(body.get("url", "")),
    )


def _config(body: Json) -> ModelConfig:
    batching = body.get("dynamic_batching") or {}
    parameters = body.get("parameters", {}).items()
    return ModelConfig(
        name=body["name"],
        platform=body.get("platform") or body.get("backend", ""),
        max_batch_size=int(body.get("max_batch_size", 0)),
        max_queue_delay_seconds=int(batching.get("max_queue_delay_microseconds", 0)) / 1e6,
        decoupled=bool(body.get("model_transaction_policy", {}).get("decoupled", False)),
        steps=tuple(
            EnsembleStep(model=step["model_name"], version=int(step.get("model_version", -1)))
            for step in body.get("ensemble_scheduling", {}).get("step", ())
        ),
        parameters={name: str(value.get("string_value", "")) for name, value in parameters},
    )
