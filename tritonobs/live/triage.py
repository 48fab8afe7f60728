"""A snapshot judged: every check asked, causes told apart from what follows from them. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from tritonobs.live.checks import CHECKS, EXPLAINS
from tritonobs.live.onset import onset
from tritonobs.live.view import View

if TYPE_CHECKING:
    from tritonobs.live.ask import Unseen
    from tritonobs.live.case import Case
    from tritonobs.live.cause import Cause
    from tritonobs.live.snapshot import Snapshot, Span

Status = Literal["wrong", "healthy", "blind"]
_BLINDING = frozenset({"scrape_problem"})


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
    """The judgement. `causes` come first to last as they should be looked at; `following` follow from them.

    `status` is "blind" when nothing was found but not everything could be looked at.
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


def triage(snapshot: Snapshot) -> Verdict:
    """Judge a snapshot; the same snapshot gives the same verdict."""
    view = View(snapshot)
    found = _merged([cause for judge in CHECKS.values() for cause in judge(view)])
    order = list(CHECKS)
    found.sort(key=lambda cause: (-cause.confidence, order.index(cause.check)))
    explained = {id(cause) for cause in found if any(_explains(view, other, cause) for other in found)}
    causes = tuple(_dated(snapshot, cause) for cause in found if id(cause) not in explained)
    status: Status = "wrong" if causes else "blind" if snapshot.unseen or _is_empty(view) else "healthy"
    return Verdict(
        status=status,
        sentence=_sentence(view, status, causes),
        incident=snapshot.incident,
        baseline=snapshot.baseline,
        causes=causes,
        following=tuple(_dated(snapshot, cause) for cause in found if id(cause) in explained),
        slowdowns=tuple(_slowdown(case) for case in view.cases if case.slower),
        firing=tuple(
            sorted({alert.name for alert in snapshot.alerts if _is_news(alert.labels, alert.state)})
        ),
        unseen=snapshot.unseen,
    )


def _merged(causes: list[Cause]) -> list[Cause]:
    """One of those that say the same about the same stage, seen through several pipelines: the surest."""
    best: dict[tuple[str, ...], Cause] = {}
    for cause in causes:
        key = (cause.check, *cause.place[:2], cause.place[-1])
        if key not in best or cause.confidence > best[key].confidence:
            best[key] = cause
    return list(best.values())


def _explains(view: View, cause: Cause, effect: Cause) -> bool:
    if effect.check not in EXPLAINS.get(cause.check, frozenset()):
        return False
    # What happens to a whole replica happens to every model on it.
    return (
        not cause.model or not effect.model or bool(_family(view, cause.model) & _family(view, effect.model))
    )


def _family(view: View, model: str) -> set[str]:
    """A model, what calls it, and what those call: the models whose requests touch each other."""
    calls = view.now.calls or view.before.calls
    entrances = {call.pipeline for call in calls if call.model == model} | {model}
    return entrances | {call.model for call in calls if call.pipeline in entrances}


def _dated(snapshot: Snapshot, cause: Cause) -> Cause:
    """The cause with the moment at which its numbers changed."""
    if cause.since is not None or cause.trend is None:
        return cause
    name, labels = cause.trend
    for series in snapshot.trends.get(name, ()):
        if set(labels) <= set(series.labels.items()):
            return replace(cause, since=onset(series.points))
    return cause


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
        return f"could not judge {asked}: no requests were seen, in this window or in the one before"
    if status == "blind":
        number = len(view.snapshot.unseen)
        return f"could not judge {asked}: {number} thing{'s' if number > 1 else ''} could not be looked at"
    number = len(list(view.subjects()))
    return f"nothing is wrong with {asked}: {number} model versions serve as they did before"


def _is_empty(view: View) -> bool:
    return not any(view.subjects()) and not any(view.subjects(before=True))


def _is_news(labels: object, state: str) -> bool:
    return state == "firing" and isinstance(labels, dict) and labels.get("severity") != "none"
