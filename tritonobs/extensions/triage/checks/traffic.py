"""Traffic: more than its limit, much more than before, or far less."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tritonobs import names
from tritonobs.extensions.triage.case import Case
from tritonobs.extensions.triage.check import (
    LATE,
    check,
    draining,
    explain_errors,
    figure,
    set_limit,
    suggest_limit,
    titled,
)
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.measured import Subject
from tritonobs.timings.promql import MODEL_VERSION, Scope, labels_of, over, scrape_interval_seconds
from tritonobs.timings.questions import peak_seconds
from tritonobs.timings.stages import stage_tables

_BURST_RATIO = 1.5
# A model that gets one request in a while gets two at once now and then.
_BURST_REQUESTS = 10
_HALF_MINUTE = 30.0


def _offered(scope: Scope, seconds: float) -> str:
    # Rules look back as `peak` does: what began before the window is not of it.
    span = max(seconds - _HALF_MINUTE, _HALF_MINUTE)
    judged = over("max_over_time", names.LIMIT_EXCEEDED, scope.of(), span)
    return f"max by ({', '.join(MODEL_VERSION)}) ({judged})"


@check(order=110, explains=LATE | {"batch_delay", "traffic_surge"}, asks={"offered": _offered})
def qps_limit(view: View) -> Iterator[Cause]:
    """Limits that were exceeded: all the time; those of models also for half a minute, or in bursts."""
    limits, interval = view.rows("limits", *MODEL_VERSION), scrape_interval_seconds(view.replica_targets())
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
        before, mean = (
            sum(view.request_rate(subject, before=side) for subject in subjects) for side in (True, False)
        )
        # The busiest half minute, and the most that was answered between two scrapes, in requests a second.
        peak, burst = (_most(view, name, (model, version), subjects) for name in ("peak", "burst"))
        # What the rules found to be too much. They count what arrives: busy servers answer less, later.
        offered = _judged(view, (model, version))
        longest = max(mean, peak or 0.0, offered)
        # A burst is above the limit by more than chance, as the rule TritonQpsSpike has it.
        more = (burst or 0.0) - limit
        in_bursts = (burst or 0.0) > _BURST_RATIO * limit and more * interval >= _BURST_REQUESTS
        if longest <= limit and not in_bursts:
            continue
        briefly = "" if mean > limit else " at peak" if longest > limit else " in bursts"
        most = longest if longest > limit else burst or 0.0
        trend = ("requests", labels_of((model, version) if version else (model,)))
        yield Cause(
            place=(model, version),
            sentence=(
                f"{titled((model, version))} receives {figure(most)} requests/s{briefly}; "
                f"its limit is {figure(limit)} requests/s"
            ),
            confidence=0.96 if mean > limit else 0.85,
            evidence=(
                Evidence("requests", before, mean, "per_second"),
                Evidence(_busiest(interval), None, peak, "per_second"),
                Evidence("peak rate between scrapes", None, burst, "per_second"),
                *([Evidence("offered rate", None, offered, "per_second")] if offered else []),
                Evidence("limit", None, limit, "per_second"),
            ),
            next_steps=(
                "find the client that sends more than agreed, and throttle it",
                f"see what it can serve: {suggest_limit(model)}",
                f"if there is room, raise the limit: {set_limit(model, version, most)}",
            ),
            trend=trend,
            since=view.trends.exceeded(view.trends.points(*trend), limit),
            asked=("requests", "peak", "burst", "offered", "limits"),
        )


def _of_fleet(view: View, limit: float) -> Iterator[Cause]:
    """A limit of the fleet is about what clients ask, not about what pipelines call for them."""
    before, rate = view.client_rate(before=True), max(view.client_rate(), _judged(view, ("", "")))
    if rate <= limit:
        return
    yield Cause(
        place=("", ""),
        area="traffic",
        sentence=f"the fleet receives {figure(rate)} requests/s; its limit is {figure(limit)} requests/s",
        confidence=0.96,
        evidence=(
            Evidence("requests of clients", before, rate, "per_second"),
            Evidence("limit", None, limit, "per_second"),
        ),
        next_steps=(
            "find the client that sends more than agreed, and throttle it",
            f"if there is room, raise the limit: {set_limit('', '', rate)}",
        ),
        trend=("requests", {}),
        asked=("requests", "calls", "offered", "limits"),
    )


def _judged(view: View, limited: Subject) -> float:
    """The most that arrived while a rule found it to be above the limit; 0 where none did."""
    return view.value("offered", labels_of(limited)) or 0.0


def _most(view: View, name: str, limited: Subject, subjects: list[Subject]) -> float | None:
    """The highest rate of a version, or of a model: its versions may peak at different moments."""
    whole = view.value(name, labels_of(limited))
    if whole is None:
        # Snapshots of 0.6.1 and before know no models as a whole.
        values = (view.value(name, labels_of(subject)) for subject in subjects)
        known = [value for value in values if value is not None]
        whole = sum(known) if known else None
    return whole


def _busiest(interval_seconds: float) -> str:
    seconds = peak_seconds(interval_seconds)
    return "busiest half minute" if seconds == _HALF_MINUTE else f"busiest {seconds:.0f} s"


_FACTOR = 1.5
_BUSY = 0.5
_ABOVE_USUAL = 1.2


@check(order=170, explains=LATE | {"batch_delay"}, at_once={"slow_stage"})
def traffic_surge(view: View) -> Iterator[Cause]:
    """Models that clients call, with much more traffic that is served worse."""
    for case in view.cases:
        if case.before is None:
            continue
        now, before = view.request_rate(case.subject), view.request_rate(case.compared, before=True)
        # A rush that comes every few minutes is in the busier parts of the baseline, and not a surge.
        usual = case.usual.most("requests", case.compared) or 0.0
        if now < max(_BUSY, _FACTOR * before, _ABOVE_USUAL * usual):
            continue
        failing = view.failing(case.now.model) and not explain_errors(view, case.subject)
        if not case.slower and not failing:
            continue
        labels = labels_of(case.subject)
        ebbs, steps = draining(view, labels, before)
        yield Cause(
            place=case.subject,
            sentence=(
                f"{titled(case.subject)} receives {figure(now)} requests/s (was {figure(before)}), and "
                f"{'takes longer' if case.slower else 'more of them fail'}{ebbs}"
            ),
            confidence=0.8 if now > 2 * before else 0.65,
            evidence=(
                Evidence("requests", before, now, "per_second"),
                _worse(view, case),
            ),
            next_steps=(
                *steps,
                "find out whether it is intended: a campaign, a new client, retries of clients that time out",
                f"set a limit that it can serve: {suggest_limit(case.now.model)}",
            ),
            trend=("requests", labels),
            asked=("requests",),
        )


def _worse(view: View, case: Case) -> Evidence:
    if case.slower:
        return Evidence("mean of a request", case.was.mean, case.now.request.mean, "seconds")
    now, before = view.error_ratio(case.subject), view.error_ratio(case.subject, before=True)
    return Evidence(f"error ratio of {case.now.model}", before, now, "ratio")


_FALL = 0.4
_ASKED = 0.2


@check(order=240, explains=())
def upstream_drop(view: View) -> Iterator[Cause]:
    """Models that clients call, that still serve, but are asked far less."""
    for table in stage_tables(view.before, model=view.snapshot.model, version=view.snapshot.version):
        subject, before = (table.model, table.version), table.request.rate
        now = view.request_rate(subject)
        if before < _ASKED or now > _FALL * before or subject not in view.now.servers:
            continue
        # A rollout moves requests to another version, which is not a drop.
        moved = sum(view.request_rate(other) for other in view.now.servers if other[0] == table.model)
        if moved > _FALL * before:
            continue
        yield Cause(
            place=subject,
            sentence=(
                f"{titled(subject)} receives {figure(now)} requests/s (was {figure(before)}): "
                "its clients send fewer"
            ),
            confidence=0.8 if now < 0.05 * before else 0.6,
            evidence=(Evidence("requests", before, now, "per_second"),),
            next_steps=(
                "look upstream: the load balancer's view of this fleet, the clients, the network between",
                "if it is the usual quiet time of day, compare with --baseline yesterday",
            ),
            trend=("requests", labels_of(subject)),
            falls=True,
            asked=("requests",),
        )
