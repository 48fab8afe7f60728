"""What a message and a page say of an incident, in the language of their reader."""
# ruff: noqa: RUF001 (Chinese has punctuation of its own)

from __future__ import annotations

import zoneinfo
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from decimal import Decimal
from typing import Final

from tritonobs.delivery.composer import Said
from tritonobs.extensions.incidents.cost import Cost
from tritonobs.extensions.incidents.incident import Incident
from tritonobs.plan.fleet import Plan
from tritonobs.plan.notify import Robot
from tritonobs.units import format_clock, format_duration, format_number

_MOST_INCIDENTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """One language's phrases; `{}` is filled in. `language` is that of the HTML page."""

    language: str
    cause: str
    since: str
    next_step: str
    over: str
    failed: str
    late: str
    harmless: str
    noticed: str
    incident: str
    incidents_of: str
    no_incident: str
    comma: str
    unknown: str
    and_more: str
    on: str
    lasts: str
    lasted: str
    fires: str
    fires_again: str
    resolved: str
    sure: str
    also: str
    timeline: str
    runbooks: str
    commands: str
    every: str
    more_alerts: str


LANGUAGES: Final[Mapping[str, Words]] = {
    "en": Words(
        language="en",
        cause="{}",
        since="{}, since {}",
        next_step="Next: {}",
        over="It is over after {}",
        failed="{} requests failed",
        late="{} were later than promised",
        harmless="no request failed or was later than promised",
        noticed="noticed after {} by {}",
        incident="incident",
        incidents_of="Incidents of {}",
        no_incident="There was none since this process began.",
        comma=", ",
        unknown="no cause is known",
        and_more="{} and {} more",
        on="{} on {}",
        lasts="lasts since {}",
        lasted="lasted {}",
        fires="{} fires",
        fires_again="{} fires, {} times",
        resolved="{} is over",
        sure="{} sure",
        also="Also: {}",
        timeline="Timeline",
        runbooks="Runbooks",
        commands="Commands",
        every="all incidents",
        more_alerts="and {} more alerts",
    ),
    "zh": Words(
        language="zh",
        cause="诊断：{}",
        since="{}（自 {} 起）",
        next_step="下一步：{}",
        over="已结束，历时 {}",
        failed="{} 个请求失败",
        late="{} 个超过承诺时间",
        harmless="没有请求失败或超过承诺时间",
        noticed="{} 后由 {} 发现",
        incident="事件",
        incidents_of="{} 的事件",
        no_incident="本进程启动以来没有事件。",
        comma="，",
        unknown="原因未知",
        and_more="{} 等另外 {} 个",
        on="{}（{}）",
        lasts="自 {} 起持续",
        lasted="历时 {}",
        fires="{} 触发",
        fires_again="{} 触发，共 {} 次",
        resolved="{} 恢复",
        sure="置信度 {}",
        also="另有：{}",
        timeline="时间线",
        runbooks="处置手册",
        commands="命令",
        every="全部事件",
        more_alerts="另有 {} 条告警",
    ),
}
ENGLISH: Final = LANGUAGES["en"]


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
    if words.language != ENGLISH.language:
        url += f"?lang={words.language}"
    if one.ended is not None:
        parts = [words.over.format(lasted(one.since, one.ended)), *(counts(bill, words) if bill else ())]
        return (Said(words.comma.join(parts), words.incident, url),)
    if one.cause is None:
        return ()
    sentence = words.cause.format(one.cause.sentence)
    if one.cause.since is not None:
        sentence = words.since.format(sentence, format_clock(one.cause.since, zone))
    steps = one.cause.next_steps[:1]
    if not steps:
        return (Said(sentence, words.incident, url),)
    return (Said(sentence), Said(words.next_step.format(steps[0]), words.incident, url))


def counts(bill: Cost, words: Words = ENGLISH) -> Iterator[str]:
    """`143 requests failed`, `20 were later than promised`; nothing of what is not known."""
    known = [number for number in (bill.failed, bill.late) if number is not None]
    if known and not any(known):
        yield words.harmless
        return
    for number, phrase in ((bill.failed, words.failed), (bill.late, words.late)):
        if number:
            yield phrase.format(format_number(number))


def lasted(began: float, ended: float) -> str:
    """`12m30s`."""
    return format_duration(Decimal(max(0, round(ended - began))))
