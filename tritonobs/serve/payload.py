"""What Alertmanager posts (webhook version 4), read generously: what we do not know we do not need."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timezone
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

MOST_BYTES = 32 * 1024 * 1024
_YEAR_ONE = 1


def _moment(value: object) -> datetime | None:
    """The moment; None for Go's zero time and for what is no moment: no alert is refused for that."""
    if not isinstance(value, str):
        return None
    text = value.strip().replace("Z", "+00:00")
    head, dot, rest = text.partition(".")
    digits = len(rest) - len(rest.lstrip("0123456789"))
    try:
        moment = datetime.fromisoformat(f"{head}.{rest[:digits][:6]:0<6}{rest[digits:]}" if dot else head)
    except ValueError:
        return None
    if moment.year == _YEAR_ONE:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


Moment = Annotated[datetime | None, BeforeValidator(_moment)]


class _Said(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Alert(_Said):
    """One alert of a call."""

    status: Literal["firing", "resolved"]
    labels: dict[str, str]
    annotations: dict[str, str] = Field(default_factory=dict)
    starts_at: Moment = Field(default=None, alias="startsAt")
    ends_at: Moment = Field(default=None, alias="endsAt")
    generator_url: str = Field(default="", alias="generatorURL")
    given_fingerprint: str = Field(default="", alias="fingerprint")

    @property
    def firing(self) -> bool:
        """Whether it is on."""
        return self.status == "firing"

    @property
    def fingerprint(self) -> str:
        """Alertmanager's, or one made of the labels: the same alert always has the same."""
        if self.given_fingerprint:
            return self.given_fingerprint
        return hashlib.sha256(json.dumps(self.labels, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def state(self) -> tuple[str, str, str]:
        """What tells one piece of news from another: which alert, which episode, on or off."""
        return self.fingerprint, str(self.starts_at), self.status


class Payload(_Said):
    """One call: the alerts of one group."""

    group_key: str = Field(default="", alias="groupKey")
    external_url: str = Field(default="", alias="externalURL")
    truncated: int = Field(default=0, alias="truncatedAlerts", ge=0)
    alerts: tuple[Alert, ...]


def read_payload(body: bytes) -> Payload:
    """The call in `body`.

    Raises:
        ValueError: it is no call of Alertmanager's; the text says why and quotes nothing of it.
    """
    if len(body) > MOST_BYTES:
        raise ValueError(f"the body has more than {MOST_BYTES} bytes")
    try:
        said: Any = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("the body is no JSON") from None
    try:
        payload = Payload.model_validate(said)
    except ValidationError as error:
        where = ".".join(map(str, error.errors(include_input=False)[0]["loc"])) or "its shape"
        raise ValueError(f"the body is no webhook call of Alertmanager's: look at {where}") from None
    if not payload.truncated:
        return payload
    return payload.model_copy(update={"alerts": (*payload.alerts, _left_out(payload))})


def _left_out(payload: Payload) -> Alert:
    """Stands for the alerts that Alertmanager's own `max_alerts` cut: at least their number is told."""
    firing = any(alert.firing for alert in payload.alerts)
    told = f"Alertmanager left out {payload.truncated} alerts of group {payload.group_key} (max_alerts)."
    return Alert(
        status="firing" if firing else "resolved",
        labels={"alertname": "AlertsLeftOut", "group": payload.group_key, "count": str(payload.truncated)},
        annotations={"description": told},
    )
