"""Triton's HTTP API, as far as tritonobs asks it: KServe v2 with Triton's repository and statistics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import quote

from pydantic import TypeAdapter
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
    model_instances: int
    dynamic_batching: bool
    max_queue_delay_seconds: float
    decoupled: bool
    steps: tuple[EnsembleStep, ...]
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStats:
    """Counts and summed seconds since the model version was loaded (an in-place reload starts them again)."""

    name: str
    version: str
    last_inference: float
    inferences: int
    executions: int
    successes: int
    failures: int
    success_seconds: float
    failure_seconds: float
    queue_seconds: float
    compute_seconds: float


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

    def model_config(self, model: str, version: str = "") -> ModelConfig:
        """The configuration of a ready model; without a version, of its highest."""
        return self._read(self.get(f"{_model_path(model, version)}/config"), _config)

    def stats(self, model: str = "", version: str = "") -> tuple[ModelStats, ...]:
        """Statistics of every ready model version, or of one model."""
        path = f"{_model_path(model, version)}/stats" if model else "/v2/models/stats"
        return self._read(self.get(path), lambda body: tuple(_stats(item) for item in body["model_stats"]))

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


_INDEX: Final = TypeAdapter(tuple[RepositoryEntry, ...])


def _quoted(name: str) -> str:
    # A name in JSON can hold half of a character.
    return quote(name, safe="", errors="surrogatepass")


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
    batching = body.get("dynamic_batching")
    parameters = body.get("parameters", {}).items()
    return ModelConfig(
        name=body["name"],
        platform=body.get("platform") or body.get("backend", ""),
        max_batch_size=int(body.get("max_batch_size", 0)),
        model_instances=sum(int(group.get("count", 1)) for group in body.get("instance_group", ())),
        dynamic_batching=batching is not None,
        max_queue_delay_seconds=int((batching or {}).get("max_queue_delay_microseconds", 0)) / 1e6,
        decoupled=bool(body.get("model_transaction_policy", {}).get("decoupled", False)),
        steps=tuple(
            EnsembleStep(model=step["model_name"], version=int(step.get("model_version", -1)))
            for step in body.get("ensemble_scheduling", {}).get("step", ())
        ),
        parameters={name: str(value.get("string_value", "")) for name, value in parameters},
    )


def _stats(item: Mapping[str, Any]) -> ModelStats:
    inference = item["inference_stats"]

    def seconds(*names: str) -> float:
        return sum(int(inference.get(name, {}).get("ns", 0)) for name in names) / 1e9

    return ModelStats(
        name=item["name"],
        version=str(item["version"]),
        last_inference=int(item.get("last_inference", 0)) / 1e3,
        inferences=int(item.get("inference_count", 0)),
        executions=int(item.get("execution_count", 0)),
        successes=int(inference.get("success", {}).get("count", 0)),
        failures=int(inference.get("fail", {}).get("count", 0)),
        success_seconds=seconds("success"),
        failure_seconds=seconds("fail"),
        queue_seconds=seconds("queue"),
        compute_seconds=seconds("compute_input", "compute_infer", "compute_output"),
    )
