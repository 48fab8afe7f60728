"""Prometheus' HTTP API, as far as tritonobs asks it (stable since 2.0, the same in 3.x)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from pydantic import AliasPath, Field, TypeAdapter
from pydantic.dataclasses import dataclass as pydantic_dataclass

from tritonobs import names
from tritonobs.clients.transport import (
    BY_NAME,
    DEFAULT_TIMEOUT_SECONDS,
    Answer,
    Json,
    Transport,
    as_documented,
)
from tritonobs.errors import BadAnswer, TimedOut

# A longer one is sent as a form: servers and proxies limit the length of a URL.
_LONGEST_URL_QUERY = 2000
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One element of an instant vector. A scalar has no labels."""

    labels: Mapping[str, str]
    value: float
    time: float

    @property
    def points(self) -> tuple[tuple[float, float], ...]:
        """The reading as a series of one point."""
        return ((self.time, self.value),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One element of a range answer; points are (Unix seconds, value)."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]


@pydantic_dataclass(frozen=True, slots=True, kw_only=True, config=BY_NAME)
class Target:
    """One scrape target; `health` is up, down or unknown; `interval` is Prometheus' own text."""

    url: str = Field(validation_alias="scrapeUrl")
    health: str
    last_error: str = Field(default="", validation_alias="lastError")
    interval: str = Field(default="", validation_alias="scrapeInterval")
    labels: Mapping[str, str]


@pydantic_dataclass(frozen=True, slots=True, kw_only=True, config=BY_NAME)
class Rule:
    """One loaded rule; `kind` is alerting or recording, `health` is ok, err or unknown.

    An alert fires after its condition held for `wait_seconds`, and stays for `keep_seconds` after it ended.
    """

    group: str
    name: str
    kind: str = Field(validation_alias="type")
    query: str
    health: str = "unknown"
    last_error: str = Field(default="", validation_alias="lastError")
    state: str = ""
    wait_seconds: float = Field(default=0.0, validation_alias="duration")
    keep_seconds: float = Field(default=0.0, validation_alias="keepFiringFor")


@pydantic_dataclass(frozen=True, slots=True, kw_only=True, config=BY_NAME)
class FiringAlert:
    """An alert as Prometheus sees it; `state` is pending or firing; `active_at` is RFC 3339."""

    name: str = Field(default="", validation_alias=AliasPath("labels", "alertname"))
    state: str
    active_at: str = Field(default="", validation_alias="activeAt")
    value: float = math.nan
    labels: Mapping[str, str]
    annotations: Mapping[str, str] = Field(default_factory=dict)


class PrometheusClient(Transport):
    """One Prometheus, and the cluster of it that is asked about ("": all that it has).

    Targets and alerts of other clusters are left out; those without the label are every cluster's. Every
    method raises ClientError when there is no answer.
    """

    def __init__(
        self,
        url: str,
        *,
        cluster: str = "",
        cluster_label: str = names.CLUSTER,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        retries: int = 2,
    ) -> None:
        super().__init__(url, timeout_seconds=timeout_seconds, retries=retries)
        self.cluster, self.cluster_label = cluster, cluster_label

    def ready(self) -> bool:
        """Whether it serves queries."""
        return self.get("/-/ready").ok

    def reload(self) -> None:
        """Read the configuration and the rules again (needs --web.enable-lifecycle)."""
        self.post_form("/-/reload", {}).required()

    def query(self, expression: str, *, at: float | None = None) -> tuple[Reading, ...]:
        """An instant vector (or a scalar, as one reading), now or at a Unix time."""
        params = {"query": expression} | ({"time": f"{at:.3f}"} if at is not None else {})
        return self._read("/api/v1/query", params, _vector)

    def query_range(
        self, expression: str, *, start: float, end: float, step_seconds: float
    ) -> tuple[Series, ...]:
        """The expression at every step from `start` to `end` (Unix seconds), both included."""
        times = {"start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step_seconds:g}"}
        return self._read("/api/v1/query_range", {"query": expression} | times, _matrix)

    def label_values(self, label: str, selector: str, *, start: float, end: float) -> tuple[str, ...]:
        """The values of a label among the series that match, in a span of Unix seconds."""
        params = {"match[]": selector, "start": f"{start:.3f}", "end": f"{end:.3f}"}
        return self._read(f"/api/v1/label/{label}/values", params, tuple)

    def targets(self) -> tuple[Target, ...]:
        """The active scrape targets."""
        found = self._read(
            "/api/v1/targets",
            {"state": "active"},
            lambda data: _TARGETS.validate_python(data["activeTargets"]),
        )
        return tuple(target for target in found if self._is_ours(target.labels))

    def rules(self) -> tuple[Rule, ...]:
        """The loaded rules, group by group."""
        return self._read("/api/v1/rules", {}, lambda data: _RULES.validate_python(_rules(data)))

    def alerts(self) -> tuple[FiringAlert, ...]:
        """The alerts that are pending or firing."""
        found = self._read("/api/v1/alerts", {}, lambda data: _ALERTS.validate_python(data["alerts"]))
        return tuple(alert for alert in found if self._is_ours(alert.labels))

    def _is_ours(self, labels: Mapping[str, str]) -> bool:
        return not self.cluster or labels.get(self.cluster_label, "") in {"", self.cluster}

    def _read(self, path: str, params: Mapping[str, str], build: Callable[[Json], _T]) -> _T:
        long = sum(map(len, params.values())) > _LONGEST_URL_QUERY
        answer = self.post_form(path, params) if long else self.get(path, params)
        data = _succeeded(answer)
        with as_documented(self.address, path):
            return build(data)


def _succeeded(answer: Answer) -> Json:
    """The data of an answer, or the server's own words as an exception."""
    # The body of a 400, 422 or 503 says why (Prometheus' HTTP API), so the status is not judged first.
    body = answer.json() if answer.text.startswith("{") else answer.required().json()
    if isinstance(body, dict) and body.get("status") == "success" and "data" in body:
        return body["data"]
    if not isinstance(body, dict) or "error" not in body:
        raise BadAnswer(f"{answer.url} is not a Prometheus API: it answered {answer.status} without data")
    kind = TimedOut if body.get("errorType") in {"timeout", "canceled"} else BadAnswer
    raise kind(f"{answer.url} refused: {body.get('errorType')}: {body['error']}")


def _vector(data: Json) -> tuple[Reading, ...]:
    result = data["result"]
    if data["resultType"] == "scalar":
        return (Reading(labels={}, value=float(result[1]), time=float(result[0])),)
    return tuple(
        Reading(labels=_labels(item), value=float(item["value"][1]), time=float(item["value"][0]))
        for item in result
    )


def _labels(item: Json) -> dict[str, str]:
    labels: dict[str, str] = item["metric"]
    if not all(isinstance(one, str) for one in labels.values()):
        raise TypeError("a label that is not a text")
    return labels


def _matrix(data: Json) -> tuple[Series, ...]:
    return tuple(
        Series(
            labels=_labels(item), points=tuple((float(time), float(value)) for time, value in item["values"])
        )
        for item in data["result"]
    )


def _rules(data: Json) -> list[Json]:
    return [{**rule, "group": group["name"]} for group in data["groups"] for rule in group["rules"]]


_TARGETS: Final = TypeAdapter(tuple[Target, ...])
_RULES: Final = TypeAdapter(tuple[Rule, ...])
_ALERTS: Final = TypeAdapter(tuple[FiringAlert, ...])
