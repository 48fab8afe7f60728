"""A model, or the fleet, gets more requests than its limit."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tritonobs import names
from tritonobs.extensions.triage.cause import figure, set_limit, suggest_limit, titled
from tritonobs.extensions.triage.check import LATE, check
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.measured import Subject
from tritonobs.timings.promql import labels_of
from tritonobs.timings.questions import peak_seconds
from tritonobs.units import parse_duration

_BURST_RATIO = 1.5
# A model that gets one request in a while gets two at once now and then.
_BURST_REQUESTS = 10
_USUAL_INTERVAL_SECONDS, _HALF_MINUTE = 15.0, 30.0


@check(order=110, explains=LATE | {"batch_delay", "traffic_surge"})
def judge(view: View) -> Iterator[Cause]:
    """Limits that were exceeded: all the time; those of models also for half a minute, or in bursts."""
    limits = view.rows("limits", names.MODEL, names.VERSION)
    fleet = limits.pop(("", ""), None)
    if fleet is not None and not view.snapshot.model:
        yield from _of_fleet(view, fleet)
    versions: dict[str, list[Subject]] = {}
    for subject in view.now.servers:
        versions.setdefault(subject[0], []).append(subject)
    for (model, version), limit in sorted(limits.items()):
        subjects = [subject for subject in versions.get(model, ()) if version in {"", subject[1]}]
        if version and limits.get((model, ""), math.inf) <= limit:
            # The limit of the model is passed at least as early, and by more.
            continue
        mean = sum(view.request_rate(subject) for subject in subjects)
        # The busiest half minute, and the most that was answered between two scrapes, in requests a second.
        peak, burst = (_most(view, name, (model, version), subjects) for name in ("peak", "burst"))
        if max(mean, peak or 0.0) <= limit and not _is_burst(view, burst or 0.0, limit):
            continue
        before = sum(view.request_rate(subject, before=True) for subject in subjects)
        longest = max(mean, peak or 0.0)
        briefly = "" if mean > limit else " for a while" if longest > limit else " in bursts"
        most = longest if longest > limit else burst or 0.0
        trend = ("requests", labels_of((model, version) if version else (model,)))
        yield Cause(
            place=(model, version),
            sentence=(
                f"{titled((model, version))} got {figure(most)} requests/s{briefly}, "
                f"its limit is {figure(limit)} requests/s"
            ),
            confidence=0.96 if mean > limit else 0.85,
            evidence=(
                Evidence("requests", before, mean, "per_second"),
                Evidence(_busiest(view), None, peak, "per_second"),
                Evidence("between two scrapes", None, burst, "per_second"),
                Evidence("limit", None, limit, "per_second"),
            ),
            next_steps=(
                "find the client that sends more than agreed, and slow it down",
                f"see what it can serve: {suggest_limit(model)}",
                f"if there is room, raise the limit: {set_limit(model, version, most)}",
            ),
            trend=trend,
            since=view.trends.exceeded(view.trends.points(*trend), limit),
            asked=("requests", "peak", "burst", "limits"),
        )


def _of_fleet(view: View, limit: float) -> Iterator[Cause]:
    """A limit of the fleet is about what clients ask, not about what pipelines call for them."""
    rate, before = view.client_rate(), view.client_rate(before=True)
    if rate <= limit:
        return
    yield Cause(
        place=("", ""),
        sentence=f"the fleet got {figure(rate)} requests/s, its limit is {figure(limit)} requests/s",
        confidence=0.96,
        evidence=(
            Evidence("requests of clients", before, rate, "per_second"),
            Evidence("limit", None, limit, "per_second"),
        ),
        next_steps=(
            "find the client that sends more than agreed, and slow it down",
            f"if there is room, raise the limit: {set_limit('', '', rate)}",
        ),
        trend=("requests", {}),
        asked=("requests", "calls", "limits"),
    )


def _most(view: View, name: str, limited: Subject, subjects: list[Subject]) -> float | None:
    """The highest rate of a version, or of a model: its versions may peak at different moments."""
    whole = view.value(name, labels_of(limited))
    if whole is None:
        # Snapshots of 0.6.1 and before know no models as a whole.
        values = (view.value(name, labels_of(subject)) for subject in subjects)
        known = [value for value in values if value is not None]
        whole = sum(known) if known else None
    return whole


def _busiest(view: View) -> str:
    seconds = peak_seconds(_interval_seconds(view))
    return "busiest half minute" if seconds == _HALF_MINUTE else f"busiest {seconds:.0f} s"


def _is_burst(view: View, burst: float, limit: float) -> bool:
    """Whether it is above the limit by more than chance, as the rule TritonQpsSpike does."""
    return burst > _BURST_RATIO * limit and (burst - limit) * _interval_seconds(view) >= _BURST_REQUESTS


def _interval_seconds(view: View) -> float:
    """How often replicas are scraped; older releases of Prometheus do not report it."""
    intervals = [target.interval for target in view.replica_targets() if target.interval]
    return max((float(parse_duration(interval)) for interval in intervals), default=_USUAL_INTERVAL_SECONDS)
