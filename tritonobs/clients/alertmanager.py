"""Alertmanager's API v2 (0.25 and newer): what is firing, what is silenced, whether it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import AliasPath, Field, TypeAdapter, field_validator
from pydantic.dataclasses import dataclass

from tritonobs.clients.transport import BY_NAME, Json, Transport, as_documented
from tritonobs.units import literal

_T = TypeVar("_T")


def _matcher(matcher: Mapping[str, Any]) -> str:
    operators = {(True, False): "=", (False, False): "!=", (True, True): "=~", (False, True): "!~"}
    # `isEqual` is optional in Alertmanager's API, and true where it is missing.
    operator = operators[bool(matcher.get("isEqual", True)), bool(matcher["isRegex"])]
    return f"{matcher['name']}{operator}{literal(str(matcher['value']))}"


@dataclass(frozen=True, slots=True, kw_only=True, config=BY_NAME)
class ManagedAlert:
    """An alert as Alertmanager holds it; `state` is unprocessed, active or suppressed; times are RFC 3339."""

    fingerprint: str
    state: str = Field(validation_alias=AliasPath("status", "state"))
    starts_at: str = Field(validation_alias="startsAt")
    ends_at: str = Field(validation_alias="endsAt")
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    silenced_by: tuple[str, ...] = Field(validation_alias=AliasPath("status", "silencedBy"))
    inhibited_by: tuple[str, ...] = Field(validation_alias=AliasPath("status", "inhibitedBy"))


@dataclass(frozen=True, slots=True, kw_only=True, config=BY_NAME)
class Silence:
    """A silence; `state` is active, pending or expired; matchers read like `model="inspect"`."""

    silence_id: str = Field(validation_alias="id")
    state: str = Field(validation_alias=AliasPath("status", "state"))
    ends_at: str = Field(validation_alias="endsAt")
    created_by: str = Field(validation_alias="createdBy")
    comment: str
    matchers: tuple[str, ...]
    starts_at: str = Field(default="", validation_alias="startsAt")

    @field_validator("matchers", mode="before")
    @classmethod
    def _as_text(cls, found: Json) -> list[str]:
        return [one if isinstance(one, str) else _matcher(one) for one in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Status:
    uptime: str


class AlertmanagerClient(Transport):
    """One Alertmanager. Every method raises ClientError when there is no answer."""

    def ready(self) -> bool:
        """Whether it accepts alerts."""
        return self.get("/-/ready").ok

    def alerts(self) -> tuple[ManagedAlert, ...]:
        """Every alert it holds, silenced and inhibited ones too."""
        return self._read("/api/v2/alerts", tuple[ManagedAlert, ...])

    def silences(self) -> tuple[Silence, ...]:
        """Every silence it still remembers, expired ones too."""
        return self._read("/api/v2/silences", tuple[Silence, ...])

    def up_since(self) -> str:
        """When it was started, in RFC 3339."""
        return self._read("/api/v2/status", _Status).uptime

    def raise_alert(
        self, labels: Mapping[str, str], annotations: Mapping[str, str], *, begins_at: str, ends_at: str
    ) -> None:
        """Send it an alert that fires since `begins_at` and is resolved at `ends_at` (both RFC 3339).

        (Without the first Alertmanager takes the second for it: api/v2/api.go of 0.28.)
        """
        times = {"startsAt": begins_at, "endsAt": ends_at}
        alert = {"labels": dict(labels), "annotations": dict(annotations), **times}
        self.post_json("/api/v2/alerts", [alert]).required()

    def _read(self, path: str, kind: type[_T]) -> _T:
        body = self.get(path).required().json()
        with as_documented(self.address, path):
            return TypeAdapter(kind).validate_python(body)
