"""What is known of an incident, for people: a row of a list, a timeline, a draft of a post-mortem.

Made of an entry of the folder, so a running incident and one of last month read the same. Names are data.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timezone, tzinfo
from pathlib import Path
from urllib.parse import quote

from tritonobs.extensions.incidents.cost import Cost
from tritonobs.extensions.incidents.recorder import Entry, KeptAlert, Moment
from tritonobs.extensions.incidents.words import ENGLISH, Words, action, counts, lasted
from tritonobs.outside import shown
from tritonobs.units import format_clock, format_moment

_MOST_NAMES = 3
_PLACE = ("cluster", "model", "version", "stage", "replica", "instance", "robot")
_MARKDOWN = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>#|!"})


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
    """`lasts since 12:03:10 UTC`, or `lasted 4m`."""
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
    """`noticed after 20s by TritonQpsAboveLimit, 143 requests failed, 20 were later than promised`."""
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
    matchers = ",".join(
        (
            f"alertname=~{_quoted('|'.join(map(re.escape, alerts)))}",
            *(f"{k}={_quoted(v)}" for k, v in common.items()),
        )
    )
    return f"{alertmanager_url.rstrip('/')}/#/silences/new?filter={quote('{' + matchers + '}', safe='')}"


def commands(entry: Entry, readings: Mapping[Moment, Path]) -> tuple[str, ...]:
    """What people copy to look further; names are words of a shell."""
    triage = "tritonobs triage"
    return (
        f"{triage} --model {shlex.quote(entry.models[0])}" if entry.models else triage,
        f"tritonobs incidents show {entry.id}",
        *(f"tritonobs triage --load {shlex.quote(str(path))}" for path in readings.values()),
    )


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def named(alert: KeptAlert) -> str:
    """`TritonQpsAboveLimit inspect 2 decode`."""
    labels = alert.labels
    parts = [labels.get(name, "") for name in ("alertname", "model", "version", "stage", "slo", "replica")]
    return " ".join(part for part in parts if part)


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
        yield f"  > tritonobs triage --load {path}  (what was read: {moment.value})"


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
            f"- {_plain(cause.sentence)} (`{cause.check}`, {cause.confidence:.0%} sure)"
            for cause in entry.causes
        ),
        *([] if entry.causes else [f"- {ENGLISH.unknown}"]),
        "",
        "## What to do",
        "",
        *(f"- [ ] {_plain(step)}" for cause in entry.causes for step in cause.next_steps),
        "- [ ] What will keep it from coming back?",
        "",
        "## To look at it again",
        "",
        *(f"    tritonobs triage --load {path}" for path in readings.values()),
    ]
    return "\n".join(made) + "\n"


def _plain(text: str) -> str:
    """Text without Markdown and control characters."""
    return shown(text).translate(_MARKDOWN)
