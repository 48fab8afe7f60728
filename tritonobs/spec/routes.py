"""Which alerts go to whom, how fast, and when not at all."""

from __future__ import annotations

import re
import zoneinfo
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from tritonobs.spec.section import Match, ReceiverName, Section, Texts
from tritonobs.spec.values import Duration
from tritonobs.spec.words import quoted

_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d|24:00")
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
AlertSeverity = Literal["critical", "warning", "info"]
_LEAST_INTERVAL_SECONDS = 10


def _time_of_day(text: str) -> str:
    if not _TIME.fullmatch(text):
        raise ValueError(f"found {quoted(text)}; allowed is a time of day from 00:00 to 24:00, in quotes")
    return text


def _zone(name: str) -> str:
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"found {quoted(name)}; allowed is a time zone such as UTC or Asia/Shanghai"
        ) from None
    return name


TimeOfDay = Annotated[str, AfterValidator(_time_of_day)]
Zone = Annotated[str, AfterValidator(_zone)]


class SpanSpec(Section):
    """A stretch of every day, or of some weekdays. One that ends before it begins runs into the next day."""

    begin: TimeOfDay = Field(default="00:00", description="When it begins.")
    end: TimeOfDay = Field(default="24:00", description="When it ends.")
    weekdays: tuple[Weekday, ...] = Field(
        default=(), description="On which days it begins; every day if none."
    )

    @model_validator(mode="after")
    def _takes_time(self) -> SpanSpec:
        if self.begin in {self.end, "24:00"}:
            raise ValueError(f"from {self.begin} to {self.end} is no time at all")
        return self


class MuteTimeSpec(Section):
    """Spans in which routes that name it stay silent; their alerts are told afterwards if they still fire."""

    spans: tuple[SpanSpec, ...] = Field(min_length=1, description="The spans.")
    timezone: Zone | None = Field(default=None, description="`notify.timezone` when left out.")


class RouteSpec(Section):
    """Alerts with these labels go to these receivers. The first route that matches decides."""

    match: Match = Field(
        default_factory=dict, description="Labels, each with one value or a list; every alert when left out."
    )
    to: Texts = Field(description="Receivers, such as dingtalk/oncall or slack/vision.")
    mute: tuple[ReceiverName, ...] = Field(default=(), description="Mute times, by name.")
    go_on: bool = Field(default=False, description="Look at the routes below, too.")


class TimingSpec(Section):
    """How fast alerts of one severity are told."""

    wait: Duration | None = Field(default=None, description="For company, before a group is told first.")
    interval: Duration | None = Field(default=None, description="Between news of one group; at least 10s.")
    repeat: Duration | None = Field(default=None, description="Until what still fires is told again.")

    @model_validator(mode="after")
    def _not_too_often(self) -> TimingSpec:
        if self.interval is not None and self.interval < _LEAST_INTERVAL_SECONDS:
            raise ValueError(f"interval: allowed are {_LEAST_INTERVAL_SECONDS}s and more")
        return self
