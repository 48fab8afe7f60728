"""A snapshot judged: all checks run, causes separated from their consequences. Pure.

Servers are named as people named them; Prometheus' label `instance` is an address.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from tritonobs import names
from tritonobs.clients.prometheus import FiringAlert
from tritonobs.extensions.triage.case import Case
from tritonobs.extensions.triage.check import burning_still, plural
from tritonobs.extensions.triage.checks import CHECKS
from tritonobs.extensions.triage.snapshot import Snapshot
from tritonobs.extensions.triage.trends import INSTANT
from tritonobs.extensions.triage.view import View
from tritonobs.timings.ask import Unseen
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.promql import Span

Status = Literal["wrong", "healthy", "blind"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What a part of a request took in both windows, and what it adds; seconds, None where unmeasured."""

    path: tuple[str, ...]
    before: float | None
    now: float | None
    added: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowdown:
    """A model version whose requests take longer, and which parts add how much."""

    model: str
    version: str
    before: float | None
    now: float | None
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The judgement. `causes` are in the order in which to look at them; `following` are their consequences.

    `status` is "blind" when nothing was found but not everything could be read. `still_burning` lists error
    budgets whose alerts fire for bad requests before the incident's window.
    """

    status: Status
    sentence: str
    incident: Span
    baseline: Span
    causes: tuple[Cause, ...]
    following: tuple[Cause, ...]
    slowdowns: tuple[Slowdown, ...]
    firing: tuple[str, ...]
    unseen: tuple[Unseen, ...]
    baseline_note: str = ""
    still_burning: tuple[str, ...] = ()


def triage(snapshot: Snapshot) -> Verdict:
    """Judge a snapshot; the same snapshot gives the same verdict."""
    view = View(snapshot)
    found = _merged(
        [
            replace(cause, check=name, since=_moment(cause.since))
            for name, check in CHECKS.items()
            for cause in check.judge(view)
        ]
    )
    found.sort(key=lambda cause: (-cause.confidence, CHECKS[cause.check].order))
    # What explains may be explained itself; there are no circles, so a first cause always remains.
    # Causes are compared by identity, because a cause may hold a mapping, which has no hash.
    explained = {id(cause) for cause in found if any(_explains(view, other, cause) for other in found)}
    first = [cause for cause in found if id(cause) not in explained]
    # Only what nothing explains turns an explanation round, so that these make no circles either.
    explained |= {id(cause) for cause in first if any(_turns_round(view, cause, other) for other in first)}
    known = called(snapshot)
    causes = tuple(by_name(_dated(view, cause), known) for cause in found if id(cause) not in explained)
    # Nothing found is healthy only where everything was read and some model had requests in both windows.
    status: Status = "wrong" if causes else "blind" if snapshot.unseen or _lacking(view) else "healthy"
    return Verdict(
        status=status,
        sentence=_sentence(view, status, causes),
        incident=snapshot.incident,
        baseline=snapshot.baseline,
        causes=causes,
        following=tuple(by_name(_dated(view, cause), known) for cause in found if id(cause) in explained),
        slowdowns=tuple(_slowdown(case) for case in view.cases if case.slower),
        firing=tuple(sorted({alert.name for alert in snapshot.alerts if _is_news(alert)})),
        unseen=snapshot.unseen,
        baseline_note=snapshot.baseline_note,
        still_burning=tuple(burning_still(view)),
    )


def _merged(causes: list[Cause]) -> list[Cause]:
    """One of those that say the same about the same stage, seen through several pipelines: the surest."""
    best: dict[tuple[str, ...], Cause] = {}
    for cause in causes:
        key = (cause.check, *cause.place[:2], cause.place[-1])
        if key not in best or cause.confidence > best[key].confidence:
            best[key] = cause
    return list(best.values())


_SETTLED_SECONDS, _SETTLED = 45.0, 1.2


def _explains(view: View, cause: Cause, effect: Cause) -> bool:
    check = CHECKS[cause.check]
    if effect.check not in check.explains:
        return False
    if effect.check in check.at_once and _began_later(view, cause, effect):
        return False
    if effect.check in check.same_model and cause.model != effect.model:
        return False
    if effect.check in check.callers and effect.model not in view.callers(cause.model):
        return False
    return _related(view, cause, effect)


def _turns_round(view: View, cause: Cause, effect: Cause) -> bool:
    """Whether what would follow from the cause at once began later: then it explains the cause."""
    at_once = effect.check in CHECKS[cause.check].at_once
    return at_once and _related(view, cause, effect) and _began_later(view, cause, effect)


def _related(view: View, cause: Cause, effect: Cause) -> bool:
    """Whether both are of one request's way. What happens to a whole replica happens to every model on it."""
    return (
        not cause.model or not effect.model or bool(_family(view, cause.model) & _family(view, effect.model))
    )


def _began_later(view: View, cause: Cause, effect: Cause) -> bool:
    """Whether the effect began when the numbers of the cause had been for a while what they still are.

    Times of whole requests cannot say: they hold a wait, which grows while traffic stays as it is.
    """
    if cause.trend is None or effect.trend is None or effect.trend[0] == "request":
        return False
    first, then = (_dated(view, one).since for one in (cause, effect))
    if first is None or then is None or then - first < _SETTLED_SECONDS:
        return False
    points, end = view.trends.points(*cause.trend), view.snapshot.incident.end
    before = view.trends.level(points, first + view.trends.window, then)
    after = view.trends.level(points, then, end)
    return before is not None and after is not None and after <= _SETTLED * before


def _family(view: View, model: str) -> frozenset[str]:
    """A model, what calls it, and what those call: the models whose requests touch each other."""
    return view.families.get(model, frozenset({model}))


def _moment(since: float | None) -> float | None:
    """The moment; a series of starts may hold NaN."""
    return since if since is not None and math.isfinite(since) else None


def _dated(view: View, cause: Cause) -> Cause:
    """The cause with the moment at which its numbers changed."""
    if cause.since is not None or cause.trend is None:
        return cause
    name, labels = cause.trend
    points = view.trends.points(name, labels)
    if cause.ends:
        return replace(cause, since=view.trends.ended(points, instant=name in INSTANT))
    return replace(cause, since=view.trends.since(points, falls=cause.falls))


def _slowdown(case: Case) -> Slowdown:
    return Slowdown(
        model=case.now.model,
        version=case.now.version,
        before=case.before.request.mean if case.before else None,
        now=case.now.request.mean,
        parts=tuple(
            Part(
                path=change.now.path,
                before=change.before.seconds if change.before else None,
                now=change.now.seconds,
                added=change.added_seconds,
            )
            for change in case.changes
        ),
    )


def _sentence(view: View, status: Status, causes: tuple[Cause, ...]) -> str:
    asked = view.snapshot.model or "the fleet"
    if status == "wrong":
        return causes[0].sentence
    if status == "blind" and not view.snapshot.unseen:
        return f"no requests to {asked} were seen{_lacking(view)}"
    if status == "blind":
        return f"{plural(len(view.snapshot.unseen), 'data source')} for {asked} could not be read"
    known = {model for model, _ in view.subjects(before=True)}
    number = sum(model in known for model, _ in view.subjects())
    return f"no problems found in {asked}: {number} model versions are as in the baseline"


def _lacking(view: View) -> str:
    """Where there were no requests, which says nothing about how requests are served; "" where there were."""
    now, before = (any(view.subjects(before=side)) for side in (False, True))
    if now and before:
        return ""
    if now:
        return " in the baseline, so there is nothing to compare with"
    return " in this window" if before else " in this window or in the baseline"


def _is_news(alert: FiringAlert) -> bool:
    """Whether an alert says that something is wrong; the Watchdog says that nothing is."""
    return alert.state == "firing" and alert.labels.get("alertname") != names.WATCHDOG


def called(snapshot: Snapshot) -> dict[str, str]:
    """Names by addresses: of the fleet file, and the labels of scrape targets."""
    labelled = {
        target.labels[names.INSTANCE]: name
        for target in snapshot.targets
        if names.INSTANCE in target.labels
        and (name := target.labels.get(names.REPLICA) or target.labels.get(names.POD))
    }
    return {**snapshot.called, **labelled}


def by_name(cause: Cause, known: Mapping[str, str]) -> Cause:
    """The same cause with names where it says addresses. What an error says, and URLs, stay as they are."""
    # What is asked Prometheus, the trend, keeps its labels.
    if not known:
        return cause
    address = re.compile(
        r"(?<![\w./:@-])(?:https?://)?("
        + "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
        + r")(?![\w/.-]*[\w/-])(?!: (?:connect|read|write|i/o)\b)"
    )

    def text(said: str) -> str:
        return address.sub(lambda found: known[found[1]], said)

    return replace(
        cause,
        place=tuple(known.get(part, part) for part in cause.place),
        sentence=text(cause.sentence),
        evidence=tuple(Evidence(text(one.what), one.before, one.now, one.unit) for one in cause.evidence),
        next_steps=tuple(map(text, cause.next_steps)),
    )
