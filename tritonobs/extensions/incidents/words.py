"""What a message and a page say of an incident, in the language of their reader."""
# ruff: noqa: RUF001 (Chinese has punctuation of its own)

from __future__ import annotations

import zoneinfo
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone, tzinfo
from decimal import Decimal
from typing import Final

from tritonobs.delivery.composer import Said
from tritonobs.extensions.incidents.cost import Cost
from tritonobs.extensions.incidents.incident import Incident
from tritonobs.plan.fleet import Plan
from tritonobs.plan.notify import Robot
from tritonobs.units import format_duration, format_number

_MOST_INCIDENTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """One language's phrases; `{}` is filled in."""

    cause: str
    since: str
    next_step: str
    over: str
    failed: str
    late: str
    incident: str
    comma: str


LANGUAGES: Final[Mapping[str, Words]] = {
    "en": Words(
        cause="{}",
        since="{}, since {}",
        next_step="Next: {}",
        over="It is over after {}",
        failed="{} requests failed",
        late="{} were later than promised",
        incident="incident",
        comma=", ",
    ),
    "zh": Words(
        cause="诊断：{}",
        since="{}（自 {} 起）",
        next_step="下一步：{}",
        over="已结束，历时 {}",
        failed="{} 个请求失败",
        late="{} 个超过承诺时间",
        incident="事件",
        comma="，",
    ),
}


def said(
    incidents: Iterable[Incident], bills: Mapping[str, Cost], plan: Plan, robot: Robot
) -> tuple[Said, ...]:
    """Lines above the alerts of a message: of each incident its cause, since when, and what to do.

    An incident in which nothing fires any more says how long it lasted, and what it cost where that is among
    the `bills`, by id. One without a cause says nothing while it goes on.
    """
    words, zone = LANGUAGES[robot.language], zoneinfo.ZoneInfo(plan.notify.timezone)
    return tuple(
        line
        for one in tuple(incidents)[:_MOST_INCIDENTS]
        for line in _lines(one, bills.get(one.id), plan, words, zone)
    )


def _lines(one: Incident, bill: Cost | None, plan: Plan, words: Words, zone: tzinfo) -> Sequence[Said]:
    url = f"{plan.addresses.serve_link}/incidents/{one.id}"
    if one.ended is not None:
        parts = [words.over.format(lasted(one.since, one.ended))]
        if bill and bill.failed is not None:
            parts.append(words.failed.format(format_number(bill.failed)))
        if bill and bill.late is not None:
            parts.append(words.late.format(format_number(bill.late)))
        return (Said(words.comma.join(parts), words.incident, url),)
    if one.cause is None:
        return ()
    sentence = words.cause.format(one.cause.sentence)
    if one.cause.since is not None:
        sentence = words.since.format(sentence, clock(one.cause.since, zone))
    steps = one.cause.next_steps[:1]
    if not steps:
        return (Said(sentence, words.incident, url),)
    return (Said(sentence), Said(words.next_step.format(steps[0]), words.incident, url))


def lasted(began: float, ended: float) -> str:
    """`12m30s`."""
    return format_duration(Decimal(max(0, round(ended - began))))


def clock(moment: float, zone: tzinfo = timezone.utc) -> str:
    """The time of day with its zone; of a Unix time."""
    return f"{datetime.fromtimestamp(moment, zone):%H:%M:%S %Z}"


def day(moment: float, zone: tzinfo = timezone.utc) -> str:
    """Date and time with the zone; of a Unix time."""
    return f"{datetime.fromtimestamp(moment, zone):%Y-%m-%d %H:%M:%S %Z}"
