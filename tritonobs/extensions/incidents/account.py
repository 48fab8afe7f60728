"""What is said of an incident, in the language of its reader: in a message, a list, a page, a post-mortem.

Lines of a message are made of the incident itself; all else of its entry in the folder, so a running incident
and one of last month read the same. Names are data.
"""
# ruff: noqa: RUF001 (Chinese has punctuation of its own)

from __future__ import annotations

import re
import shlex
import zoneinfo
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timezone, tzinfo
from pathlib import Path
from types import MappingProxyType
from typing import Final
from urllib.parse import quote

from tritonobs.delivery.composer import Said
from tritonobs.extensions.incidents.cost import Action, Cost, LimitChanged, Silenced
from tritonobs.extensions.incidents.incident import Incident, What
from tritonobs.extensions.incidents.news import Kind, Message
from tritonobs.extensions.incidents.recorder import Entry, KeptAlert, Moment
from tritonobs.outside import shown
from tritonobs.plan.fleet import Plan
from tritonobs.plan.notify import Robot
from tritonobs.timings import promql
from tritonobs.units import (
    format_clock,
    format_duration,
    format_moment,
    format_number,
    format_percent,
    literal,
)

_MOST_INCIDENTS = 3
_MOST_ACTIONS = 3
"""In a message; the page has all of them."""
_CLOCKS_DIFFER_SECONDS = 60.0
"""The start of an alert is Prometheus' time."""
_MOST_NAMES = 3
_PLACE = ("cluster", "model", "version", "stage", "replica", "instance", "robot")
_MARKDOWN = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>#|!"})


class _Phrase:
    """A phrase of `Words` in each language."""

    def __init__(self, english: str, chinese: str) -> None:
        self._texts = {"en": english, "zh": chinese}

    def __get__(self, words: Words, _: type[Words]) -> str:
        return self._texts[words.language]


@dataclass(frozen=True, slots=True)
class Words:
    """One language's phrases; `{}` is filled in. `language` is that of the HTML page."""

    language: str
    cause = _Phrase("{}", "诊断：{}")
    since = _Phrase("{}, since {}", "{}（自 {} 起）")
    other_cause = _Phrase("Probable cause changed: {}", "诊断有变：{}")
    goes_on = _Phrase("Part of the incident ongoing since {}", "属于自 {} 起持续的事件")
    eased = _Phrase(
        "Recovering: no page is firing, {} alerts still are",
        "正在恢复：已无严重告警，仍有 {} 条告警触发",
    )
    took_over = _Phrase(
        "It may have been reported before: tritonobs serve started at {}",
        "此前可能已通知：tritonobs serve 于 {} 启动",
    )
    next_step = _Phrase("Next: {}", "下一步：{}")
    over = _Phrase("Resolved after {}", "已结束，历时 {}")
    was = _Phrase("Cause: {}", "诊断：{}")
    failed = _Phrase("{} requests failed", "{} 个请求失败")
    late = _Phrase("{} exceeded their latency threshold", "{} 个超过延迟阈值")
    only_late = _Phrase("{} requests exceeded their latency threshold", "{} 个请求超过延迟阈值")
    harmless = _Phrase("no request failed or exceeded its latency threshold", "没有请求失败或超过延迟阈值")
    budget = _Phrase("{share} of the error budget of {slo}", "消耗 {slo} 错误预算的 {share}")
    meanwhile = _Phrase("Meanwhile: {}", "期间操作：{}")
    limit_changed = _Phrase("limit of {} {} → {}", "{} 的限额 {} → {}")
    started = _Phrase("{} started", "{} 启动")
    silenced = _Phrase("{} silenced {}", "{} 静默 {}")
    unlimited = _Phrase("unlimited", "不限")
    noticed = _Phrase("detected after {} by {}", "{} 后由 {} 发现")
    incident = _Phrase("incident", "事件")
    incidents_of = _Phrase("Incidents of {}", "{} 的事件")
    no_incident = _Phrase("No incidents since tritonobs serve started.", "本进程启动以来没有事件。")
    comma = _Phrase(", ", "，")
    unknown = _Phrase("cause unknown", "原因未知")
    and_more = _Phrase("{} and {} more", "{} 等另外 {} 个")
    on = _Phrase("{} on {}", "{}（{}）")
    lasts = _Phrase("ongoing since {}", "自 {} 起持续")
    lasted = _Phrase("lasted {}", "历时 {}")
    fires = _Phrase("{} fired", "{} 触发")
    fires_again = _Phrase("{} fired {} times", "{} 触发，共 {} 次")
    resolved = _Phrase("{} resolved", "{} 恢复")
    sure = _Phrase("confidence {}", "置信度 {}")
    also = _Phrase("Also: {}", "另有：{}")
    timeline = _Phrase("Timeline", "时间线")
    runbooks = _Phrase("Runbooks", "处置手册")
    silence = _Phrase("silence this incident", "静默此事件")
    commands = _Phrase("Commands", "命令")
    every = _Phrase("all incidents", "全部事件")
    more_alerts = _Phrase("and {} more alerts", "另有 {} 条告警")


LANGUAGES: Final[Mapping[str, Words]] = {language: Words(language) for language in ("en", "zh")}
ENGLISH: Final = LANGUAGES["en"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Voice:
    """How one robot says it, and what is known beside the incidents."""

    words: Words
    zone: tzinfo
    url: str
    bills: Mapping[str, Cost]
    news: Mapping[str, Message]
    stale: Collection[str]
    running_since: float

    def lines(self, one: Incident) -> Sequence[Said]:
        """What is said of one incident."""
        words, news = self.words, self.news.get(one.id)
        url = f"{self.url}/incidents/{one.id}"
        if words.language != ENGLISH.language:
            url += f"?lang={words.language}"
        if one.ended is not None:
            bill = self.bills.get(one.id)
            parts = [words.over.format(lasted(one.since, one.ended)), *(counts(bill, words) if bill else ())]
            over = [Said(words.comma.join(parts), words.incident, url)]
            if news and news.cause:
                over.append(Said(words.was.format(news.cause.sentence)))
            found = [done for done in bill.done if done.at >= one.since] if bill else []
            if actions := [action(done, words) for done in found[-_MOST_ACTIONS:]]:
                over.append(Said(words.meanwhile.format(words.comma.join(actions))))
            return over
        notes = [Said(text) for text in self._notes(one, news)]
        if one.cause is None:
            return notes
        cause = news.cause if news else one.cause
        if cause is None or one.id in self.stale:
            since = words.goes_on.format(format_clock(one.began, self.zone))
            return (Said(since, words.incident, url), *notes)
        sentence = words.other_cause if news and news.corrects else words.cause
        sentence = sentence.format(cause.sentence)
        if cause.since is not None:
            sentence = words.since.format(sentence, format_clock(cause.since, self.zone))
        steps = cause.next_steps[:1]
        if not steps:
            return (Said(sentence, words.incident, url), *notes)
        return (Said(sentence), Said(words.next_step.format(steps[0]), words.incident, url), *notes)

    def _notes(self, one: Incident, news: Message | None) -> Iterator[str]:
        """What is different from the message before, or why it is not known whether there was one."""
        if news is None:
            return
        if any(change.what is What.EASED for change in news.changes):
            yield self.words.eased.format(sum(alert.firing for alert in one.alerts))
        if news.kind is Kind.FIRST and one.began < self.running_since - _CLOCKS_DIFFER_SECONDS:
            yield self.words.took_over.format(format_clock(self.running_since, self.zone))


def said(
    incidents: Iterable[Incident],
    bills: Mapping[str, Cost],
    plan: Plan,
    robot: Robot,
    *,
    news: Mapping[str, Message] = MappingProxyType({}),
    stale: Collection[str] = (),
    running_since: float = 0.0,
) -> tuple[Said, ...]:
    """Lines above the alerts of a message: of each incident its cause, since when, and what to do.

    An incident in which nothing fires any more says how long it lasted, and what it cost where that is among
    the `bills`, by id. One without a cause says nothing while it goes on, but for what is new. `news` are the
    messages that go with these alerts, by the incident's id. What explained those that are `stale` need not
    explain the alerts that came since, and is not said again. A process knows nothing of messages from before
    `running_since`, and says so.
    """
    voice = _Voice(
        words=LANGUAGES[robot.language],
        zone=zoneinfo.ZoneInfo(plan.notify.timezone),
        url=plan.addresses.serve_link,
        bills=bills,
        news=news,
        stale=stale,
        running_since=running_since,
    )
    return tuple(line for one in tuple(incidents)[:_MOST_INCIDENTS] for line in voice.lines(one))


def counts(bill: Cost, words: Words = ENGLISH) -> Iterator[str]:
    """`143 requests failed`, `3.2% of the error budget of inspect fast`.

    Nothing is said of what is not known.
    """
    known = [number for number in (bill.failed, bill.late) if number is not None]
    if known and not any(known):
        yield words.harmless
        return
    if bill.failed:
        yield words.failed.format(format_number(bill.failed))
    if bill.late:
        late = words.late if bill.failed else words.only_late
        yield late.format(format_number(bill.late))
    worst = next((one for one in bill.charged if one.budget_share), None)
    if worst and worst.budget_share:
        name = " ".join(filter(None, (worst.model, worst.version, worst.slo)))
        share = format_percent(float(f"{worst.budget_share:.2g}"))
        yield words.budget.format(share=share, slo=name)


def action(done: Action, words: Words = ENGLISH) -> str:
    """`limit of inspect 8 → 12`, `detector 2 started`, `ops silenced model="inspect"`."""
    if isinstance(done, Silenced):
        return words.silenced.format(done.who or "?", " ".join(done.matchers))
    name = " ".join(filter(None, (done.model, done.version)))
    if isinstance(done, LimitChanged):
        old, new = (words.unlimited if text in {"", "inf"} else text for text in (done.old, done.new))
        return words.limit_changed.format(name or "*", old, new)
    return words.started.format(name)


def lasted(began: float, ended: float) -> str:
    """`12m30s`."""
    return format_duration(max(0, round(ended - began)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A line of a timeline: a Unix time, and what happened."""

    at: float
    what: str


def place(entry: Entry, words: Words = ENGLISH) -> str:
    """`inspect, detector on triton-1`, or what the incident is about where no model is named."""
    parts = [*entry.models] or [*entry.areas]
    models = ", ".join(parts[:_MOST_NAMES])
    if parts[_MOST_NAMES:]:
        models = words.and_more.format(models, len(parts) - _MOST_NAMES)
    servers = ", ".join(entry.replicas[:_MOST_NAMES])
    return words.on.format(models, servers) if models and servers else models or servers


def sentence(entry: Entry, words: Words = ENGLISH) -> str:
    """What is wrong, in the words of triage."""
    return entry.causes[0].sentence if entry.causes else words.unknown


def status(entry: Entry, words: Words = ENGLISH, zone: tzinfo = timezone.utc) -> str:
    """`ongoing since 12:03:10 UTC`, or `lasted 4m`."""
    if entry.ended is None:
        return words.lasts.format(format_clock(entry.since, zone))
    return words.lasted.format(lasted(entry.since, entry.ended))


def timeline(entry: Entry, words: Words = ENGLISH) -> tuple[Event, ...]:
    """What began and ended when, and what was done meanwhile, in order."""
    found = [Event(at=one.since, what=one.sentence) for one in entry.causes if one.since is not None]
    for alert in entry.alerts:
        name = named(alert)
        again = words.fires_again.format(name, alert.times) if alert.times > 1 else words.fires.format(name)
        found.append(Event(at=alert.began, what=again))
        if alert.ended is not None:
            found.append(Event(at=alert.ended, what=words.resolved.format(name)))
    found += [Event(at=one.at, what=action(one, words)) for one in entry.cost.done] if entry.cost else []
    return tuple(sorted(found, key=lambda event: event.at))


def cost(bill: Cost, words: Words = ENGLISH) -> str:
    """`detected after 20s by TritonQpsAboveLimit, 143 requests failed`."""
    noticed = words.noticed.format(lasted(0, bill.noticed_seconds), bill.found_by)
    return words.comma.join((noticed, *counts(bill, words)))


def silence(entry: Entry, alertmanager_url: str) -> str:
    """Alertmanager's page for a new silence of this incident; "" where no label would keep it to that.

    Its matchers are the names of the alerts, and every label about the place that all of them have.
    """
    labels = [alert.labels for alert in entry.alerts]
    alerts = sorted({one.get("alertname", "") for one in labels} - {""})
    common = {
        name: labels[0][name]
        for name in _PLACE
        if labels and labels[0].get(name) and all(one.get(name) == labels[0][name] for one in labels)
    }
    if not alerts or not common:
        return ""
    matchers = promql.selector(
        f"alertname=~{literal('|'.join(map(re.escape, alerts)))}",
        *(f"{name}={literal(text)}" for name, text in common.items()),
    )
    return f"{alertmanager_url.rstrip('/')}/#/silences/new?filter={quote(matchers, safe='')}"


def commands(entry: Entry, readings: Mapping[Moment, Path]) -> tuple[str, ...]:
    """What people copy to look further; names are words of a shell."""
    triage = "tritonobs triage"
    return (
        f"{triage} --model {shlex.quote(entry.models[0])}" if entry.models else triage,
        f"tritonobs incidents show {entry.id}",
        *(f"tritonobs triage --load {shlex.quote(str(path))}" for path in readings.values()),
    )


def named(alert: KeptAlert) -> str:
    """`TritonQpsAboveLimit inspect 2 decode`."""
    names = ("alertname", "model", "version", "stage", "slo", "replica")
    return " ".join(filter(None, map(alert.labels.get, names)))


def lines(entry: Entry, readings: Mapping[Moment, Path]) -> Iterator[str]:
    """The incident as plain lines."""
    yield f"{entry.id}  {entry.worst}  {place(entry)}"
    yield f"{sentence(entry)}"
    yield f"({format_moment(entry.since)}, {status(entry)})"
    for step in entry.causes[0].next_steps if entry.causes else ():
        yield f"  > {step}"
    for cause in entry.causes[1:]:
        yield f"Also: {cause.sentence}"
    yield ""
    for event in timeline(entry):
        yield f"  {format_clock(event.at)}  {event.what}"
    if entry.left_out:
        yield f"  ... and {entry.left_out} more alerts"
    if entry.cost:
        yield f"  {cost(entry.cost)}"
    for moment, path in readings.items():
        yield f"  > tritonobs triage --load {path}  (readings: {moment.value})"


def markdown(entry: Entry, readings: Mapping[Moment, Path]) -> str:
    """A draft of the post-mortem: what is known is filled in, what people must say is asked for."""
    made = [
        f"# {_plain(place(entry))}: {format_moment(entry.since)}",
        "",
        f"**{_plain(sentence(entry))}** ({entry.worst}; {status(entry)}; `{entry.id}`)",
        "",
        "## Timeline",
        "",
        *(f"- {format_clock(event.at)} {_plain(event.what)}" for event in timeline(entry)),
        *([f"- … and {entry.left_out} more alerts"] if entry.left_out else []),
        "",
        *(["## Impact", "", f"- {_plain(cost(entry.cost))}", ""] if entry.cost else []),
        "## Causes",
        "",
        *(
            f"- {_plain(cause.sentence)} (`{cause.check}`, confidence {cause.confidence:.0%})"
            for cause in entry.causes
        ),
        *([] if entry.causes else [f"- {ENGLISH.unknown}"]),
        "",
        "## What to do",
        "",
        *(f"- [ ] {_plain(step)}" for cause in entry.causes for step in cause.next_steps),
        "- [ ] What prevents a recurrence?",
        "",
        "## To judge it again",
        "",
        *(f"    tritonobs triage --load {path}" for path in readings.values()),
    ]
    return "\n".join(made) + "\n"


def _plain(text: str) -> str:
    """Text without Markdown and control characters."""
    return shown(text).translate(_MARKDOWN)
