"""Alertmanager's API v2 (0.25 and newer): what is firing, what is silenced, whether it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from tritonobs.clients.transport import DEFAULT_TIMEOUT_SECONDS, Json, Transport, as_documented

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedAlert:
    """An alert as Alertmanager holds it; `state` is unprocessed, active or suppressed; times are RFC 3339."""

    fingerprint: str
    state: str
    starts_at: str
    ends_at: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    receivers: tuple[str, ...]
    silenced_by: tuple[str, ...]
    inhibited_by: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """A silence; `state` is active, pending or expired; matchers read like `model="inspect"`."""

    silence_id: str
    state: str
    ends_at: str
    created_by: str
    comment: str
    matchers: tuple[str, ...]
    starts_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertmanagerStatus:
    """Version and the configuration it really runs with (secrets are masked by itself)."""

    version: str
    uptime: str
    config: str


class AlertmanagerClient:
    """One Alertmanager. Every method raises ClientError when there is no answer."""

    def __init__(
        self, url: str, *, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS, retries: int = 2
    ) -> None:
        self._transport = Transport(url, timeout_seconds=timeout_seconds, retries=retries)
        self.address = self._transport.address

    def ready(self) -> bool:
        """Whether it accepts alerts."""
        return self._transport.get("/-/ready").ok

    def alerts(self) -> tuple[ManagedAlert, ...]:
        """Every alert it holds, silenced and inhibited ones too."""
        return self._read("/api/v2/alerts", _alerts)

    def silences(self) -> tuple[Silence, ...]:
        """Every silence it still remembers, expired ones too."""
        return self._read("/api/v2/silences", _silences)

    def status(self) -> AlertmanagerStatus:
        """What runs, and with what configuration."""
        return self._read("/api/v2/status", _status)

    def raise_alert(
        self, labels: Mapping[str, str], annotations: Mapping[str, str], *, begins_at: str, ends_at: str
    ) -> None:
        """Send it an alert that fires since `begins_at` and is resolved at `ends_at` (both RFC 3339).

        (Without the first Alertmanager takes the second for it: api/v2/api.go of 0.28.)
        """
        times = {"startsAt": begins_at, "endsAt": ends_at}
        alert = {"labels": dict(labels), "annotations": dict(annotations), **times}
        self._transport.post_json("/api/v2/alerts", [alert]).required()

    def close(self) -> None:
        """Give the connections back."""
        self._transport.close()

    def _read(self, path: str, build: Callable[[Json], _T]) -> _T:
        body = self._transport.get(path).required().json()
        with as_documented(self.address, path):
            return build(body)


def _alerts(body: Json) -> tuple[ManagedAlert, ...]:
    return tuple(
        ManagedAlert(
            fingerprint=item["fingerprint"],
            state=item["status"]["state"],
            starts_at=item["startsAt"],
            ends_at=item["endsAt"],
            labels=item["labels"],
            annotations=item["annotations"],
            receivers=tuple(receiver["name"] for receiver in item["receivers"]),
            silenced_by=tuple(item["status"]["silencedBy"]),
            inhibited_by=tuple(item["status"]["inhibitedBy"]),
        )
        for item in body
    )


def _silences(body: Json) -> tuple[Silence, ...]:
    return tuple(
        Silence(
            silence_id=item["id"],
            state=item["status"]["state"],
            ends_at=item["endsAt"],
            created_by=item["createdBy"],
            comment=item["comment"],
            matchers=tuple(_matcher(matcher) for matcher in item["matchers"]),
            starts_at=item.get("startsAt", ""),
        )
        for item in body
    )


def _status(body: Json) -> AlertmanagerStatus:
    return AlertmanagerStatus(
        version=body["versionInfo"]["version"], uptime=body["uptime"], config=body["config"]["original"]
    )


def _matcher(matcher: Mapping[str, Any]) -> str:
    operators = {(True, False): "=", (False, False): "!=", (True, True): "=~", (False, True): "!~"}
    # `isEqual` is optional in Alertmanager's API, and true where it is missing.
    operator = operators[bool(matcher.get("isEqual", True)), bool(matcher["isRegex"])]
    value = str(matcher["value"]).replace("\\", "\\\\").replace('"', '\\"')
    return f'{matcher["name"]}{operator}"{value}"'
