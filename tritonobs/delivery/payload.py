"""What Alertmanager posts (webhook version 4), read leniently, and which of it need not be sent now.

Unknown fields are ignored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cached_property
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from tritonobs.outside import TooMany, read_json, whole
from tritonobs.units import parse_moment

# Bytes alone do not bound the memory: the smallest values take many times their size as objects.
MOST_BYTES, _MOST_VALUES = 32 * 1024 * 1024, 1_000_000
MOST_ALERTS = 10_000
"""Of one call; Alertmanager's own groups stay far below, and a chat takes hours for so many."""
State = tuple[str, str, str]
"""What identifies an event: which alert, which episode, firing or resolved."""


def _moment(value: object) -> datetime | None:
    """The moment; None for Go's zero time and for what is not a moment: no alert is refused for that."""
    try:
        return parse_moment(value) if isinstance(value, str) else None
    except ValueError:
        return None


Moment = Annotated[datetime | None, BeforeValidator(_moment)]


class TooLarge(ValueError):
    """A call that is too large to be held in memory."""


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
    damaged: bool = Field(default=False, exclude=True)
    """Whether it did not arrive as Alertmanager's documentation says; what could be read of it is shown."""

    @property
    def firing(self) -> bool:
        """Whether it is on."""
        return self.status == "firing"

    @cached_property
    def began(self) -> datetime | None:
        """When it began, where that is known: not where it lay ahead when this was first asked.

        Of an alert that is posted without a start Alertmanager takes the end for it, which may be planned.
        """
        ahead = self.starts_at is not None and self.starts_at > datetime.now(timezone.utc)
        return None if ahead else self.starts_at

    def ended_before(self, began: datetime | None) -> bool:
        """Whether it is the end of an earlier episode than the one that began at that moment.

        Starts do not tell: of two Prometheus servers Alertmanager takes the earlier one, at any time.
        """
        return not self.firing and self.ends_at is not None and began is not None and self.ends_at < began

    @cached_property
    def fingerprint(self) -> str:
        """Alertmanager's, or one made of the labels: the same alert always has the same."""
        if self.given_fingerprint:
            return self.given_fingerprint
        return hashlib.sha256(json.dumps(self.labels, sort_keys=True).encode()).hexdigest()[:16]

    @cached_property
    def state(self) -> State:
        """Its `State`."""
        return self.fingerprint, str(self.starts_at), self.status


class Payload(_Said):
    """One call: the alerts of one group."""

    group_key: str = Field(default="", alias="groupKey")
    truncated: int = Field(default=0, alias="truncatedAlerts", ge=0)
    alerts: tuple[Alert, ...]


def read_payload(body: bytes) -> Payload:
    """The call in `body`.

    Raises:
        TooLarge: it is larger than any call of Alertmanager's.
        ValueError: it is not a call of Alertmanager's; the text says why and quotes nothing of it.
    """
    if len(body) > MOST_BYTES:
        raise TooLarge(f"the body has more than {MOST_BYTES} bytes")
    try:
        said = read_json(body, most=_MOST_VALUES)
    except TooMany as error:
        raise TooLarge(f"the body {error}") from None
    except ValueError:
        raise ValueError("the body is not JSON") from None
    try:
        payload = Payload.model_validate(_read(said) if isinstance(said, dict) else said)
    except ValidationError as error:
        where = ".".join(map(str, error.errors(include_input=False)[0]["loc"])) or "its shape"
        raise ValueError(f"the body is not a webhook call of Alertmanager: wrong at {where}") from None
    if not payload.truncated:
        return payload
    return payload.model_copy(update={"alerts": (*payload.alerts, _left_out(payload))})


def _read(said: Mapping[str, Any]) -> Mapping[str, Any]:
    """The call with its alerts, each read on its own: a damaged one does not affect others."""
    written = said.get("alerts")
    if not isinstance(written, list) or not written:
        return said
    left_out = len(written) - MOST_ALERTS
    if left_out > 0:
        said = {**said, "truncatedAlerts": left_out + _number(said.get("truncatedAlerts"))}
        # Resolved alerts matter less.
        written = sorted(written, key=_is_over)[:MOST_ALERTS]
    read = [_alert(one) for one in written]
    if not any(read):
        return {**said, "alerts": written[:1]}  # A fault in one is a fault in all.
    return {**said, "alerts": [one or _nameless(position) for position, one in enumerate(read)]}


def _number(written: object) -> int:
    return written if isinstance(written, int) and written > 0 else 0


def _is_over(written: object) -> bool:
    return isinstance(written, dict) and written.get("status") == "resolved"


def _alert(written: object) -> Alert | None:
    """The alert, or as much as can be saved of it; None when it has not even a name."""
    try:
        # A field of this name in the call says nothing: only we set it.
        return Alert.model_validate(written).model_copy(update={"damaged": False})
    except ValidationError:
        pass
    if not isinstance(written, dict) or not isinstance(written.get("labels"), dict):
        return None
    labels = _texts(written["labels"])
    if not labels.get("alertname"):
        return None
    return Alert(
        status="resolved" if _is_over(written) else "firing",
        labels=labels,
        annotations=_texts(written.get("annotations")),
        startsAt=written.get("startsAt"),
        endsAt=written.get("endsAt"),
        damaged=True,
    )


def _nameless(position: int) -> Alert:
    labels = {"alertname": "UnreadableAlert", "position": str(position + 1)}
    return Alert(status="firing", labels=labels, damaged=True)


def _texts(written: object) -> dict[str, str]:
    """What of a mapping is text, without the halves of characters that no text may hold."""
    pairs = written.items() if isinstance(written, dict) else ()
    return {whole(str(key)): whole(value) for key, value in pairs if isinstance(value, str)}


def _left_out(payload: Payload) -> Alert:
    """Replaces those that `max_alerts` of Alertmanager cut, or we: their number is shown."""
    firing = any(alert.firing for alert in payload.alerts)
    text = (
        f"{payload.truncated} alerts of group {payload.group_key} are left out: more than {MOST_ALERTS:,} "
        "came in one call, or than max_alerts in Alertmanager's configuration allows."
    )
    return Alert(
        status="firing" if firing else "resolved",
        # The count is a label, so that another count is other news (`Alert.fingerprint`).
        labels={"alertname": "AlertsLeftOut", "group": payload.group_key, "count": str(payload.truncated)},
        annotations={"description": text},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sifted:
    """What need not be sent now; everything else is.

    `known` were named, in this state, in a message that this robot's chat accepted: their calls need no other
    one. `later` wait for the next message, by how many seconds they may still wait: their calls stay without
    an answer, and go on waiting where they come again.
    """

    known: frozenset[State] = frozenset()
    later: Mapping[State, float] = field(default_factory=dict)


class Sieve(Protocol):
    """Decides for every digest of a robot. It raises nothing, and takes two seconds at most."""

    async def sift(self, robot: str, alerts: Sequence[Alert]) -> Sifted:
        """What of these alerts, for this robot, a message need not name now."""

    def named(self, robot: str, states: Collection[State]) -> None:
        """An accepted message, or several, named these alerts for this robot."""


class Unsifted:
    """Everything is sent at once."""

    async def sift(self, robot: str, alerts: Sequence[Alert]) -> Sifted:
        """Nothing waits."""
        del robot, alerts
        return Sifted()

    def named(self, robot: str, states: Collection[State]) -> None:
        """It is of no interest."""
