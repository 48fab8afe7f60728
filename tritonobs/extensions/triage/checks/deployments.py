"""Models that were reloaded, or in a new version, and are worse than before: for a moment or for good."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tritonobs import names
from tritonobs.extensions.triage.case import growth
from tritonobs.extensions.triage.check import (
    LATE,
    check,
    explain_errors,
    plural,
    stages_command,
    taken,
    titled,
)
from tritonobs.extensions.triage.loads import LEAD_SECONDS, Arrival, arrivals
from tritonobs.extensions.triage.trends import BAD, Points
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence, Unit
from tritonobs.timings.measured import Subject, Timings
from tritonobs.timings.promql import labels_of
from tritonobs.units import format_clock, format_duration, format_latency, version_order

_NOTABLE_RATIO, _TIMES_AS_MANY = 0.01, 3.0
_FEWEST_ERRORS = 3.0
_SLOWER, _SECONDS = 1.2, 0.0015
_WAITS_SECONDS, _SLOWER_BY_WAIT = 0.005, 0.25
_MORE_TRAFFIC = 1.25
_EVERYWHERE = 1.1
_FEWEST = 10
"""Requests before and since: a mean of fewer says nothing about the machine."""
_HALF = 0.5
_FALLING, _FALLS, _GONE = 3, 0.75, 0.25
_LOOP = 3
"""So many loads of one model instance within an incident are no deployment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Worse:
    """The error ratio, or the seconds of a request's work or wait, before and since."""

    what: str
    before: float
    since: float


@check(
    order=40,
    explains=LATE | {"error_surge", "reload", "slow_replica", "upstream_drop"},
    same_model={"reload", "slow_replica"},
    callers={"error_surge", "slow_stage"},
)
def bad_deploy(view: View) -> Iterator[Cause]:
    """Models that were reloaded, or in a new version, and have failed more or taken longer since."""
    for arrival in arrivals(view):
        worse = _errors(view, arrival)
        # Another version that is slower is what `slow_version` judges.
        if not worse and arrival.subject == arrival.predecessor:
            worse = _slower(view, arrival) or _waits(view, arrival)
        if worse:
            yield _cause(arrival, worse)


def _errors(view: View, arrival: Arrival) -> _Worse | None:
    """Error ratio before and since, where it grew with the load and stays."""
    before = view.error_ratio(arrival.predecessor, before=True) or 0.0
    soon = _ratio(view, arrival.subject, arrival.settled, arrival.soon)
    since = _ratio(view, arrival.subject, arrival.settled, arrival.end)
    late = _ratio(view, arrival.subject, arrival.late, arrival.end)
    if since is None or late is None or min(since[0], late[0]) < max(_NOTABLE_RATIO, _TIMES_AS_MANY * before):
        return None
    # About as many errors right before: the load did not cause them. Few right after: they came later.
    pre = _ratio(view, arrival.predecessor, arrival.born - LEAD_SECONDS, arrival.born)
    if (pre and pre[0] > since[0] / 2) or (soon and soon[0] < late[0] / 4):
        return None
    if since[1] < _FEWEST_ERRORS or not _own_errors(view, arrival, late[0]):
        return None
    return _Worse(what="errors", before=before, since=since[0])


def _own_errors(view: View, arrival: Arrival, share: float) -> bool:
    """Whether they are the model's: not those of what it calls, of its clients, or of too many requests."""
    model = arrival.subject[0]
    # A model that calls all of its input corrupt is broken itself.
    if share < _HALF and explain_errors(view, arrival.subject):
        return False
    added = _added_errors(view, arrival, model)
    called = {call.model for call in view.now.calls if call.pipeline == model}
    if called and sum(_added_errors(view, arrival, other) for other in called) > _HALF * added:
        return False
    crowded = _traffic(view, arrival) > _MORE_TRAFFIC or bool(taken(view))
    timed_out = view.trends.points("failed", {**labels_of(arrival.subject), names.REASON: "REJECTED"})
    late = view.trends.level(timed_out, arrival.late, arrival.end) or 0.0
    return not (crowded and late > _HALF * added)


def _added_errors(view: View, arrival: Arrival, model: str) -> float:
    """Errors a second of all versions of a model that were not there before."""
    bad = [view.trends.points(BAD, labels_of(subject)) for subject in view.asked() if subject[0] == model]
    before, late = _sums(view, arrival, bad)
    return max(0.0, late - before)


def _sums(view: View, arrival: Arrival, rates: Iterable[Points]) -> tuple[float, float]:
    """The sum of rates, before and lately; a rate that is unknown then counts as none."""
    levels = [_sides(view, arrival, points) for points in rates]
    return sum(before or 0.0 for before, _ in levels), sum(late or 0.0 for _, late in levels)


def _sides(view: View, arrival: Arrival, points: Points) -> tuple[float | None, float | None]:
    """The level before the load, and lately."""
    before = view.trends.level(points, arrival.born - LEAD_SECONDS, arrival.born)
    return before, view.trends.level(points, arrival.late, arrival.end)


def _ratio(view: View, subject: Subject, start: float, end: float) -> tuple[float, float] | None:
    """The share that ended badly between two moments, and about how many did."""
    labels = labels_of(subject)
    failed = dict(view.trends.points("failed", labels))
    wrong = [value for time, value in view.trends.points(BAD, labels) if start <= time <= end]
    # `requests` are Triton's successes, error replies of Python models among them; failures add to them.
    good = view.trends.points("requests", labels)
    requests = [value + failed.get(time, 0.0) for time, value in good if start <= time <= end]
    if not wrong or sum(requests) <= 0:
        return None
    # Models and Triton count at different moments: a short look may see more errors than requests.
    share = min(1.0, (sum(wrong) / len(wrong)) / (sum(requests) / len(requests)))
    return share, sum(wrong) / len(wrong) * (end - start)


def _slower(view: View, arrival: Arrival) -> _Worse | None:
    """Seconds a request before and since, where they grew and stay so, by what the model itself does."""
    levels = _grown(view, arrival, _work(view, arrival.subject), _SECONDS)
    if levels is None:
        return None
    before, late = levels
    grew = late / before if before > 0 else 0.0
    others, traffic = _others(view, arrival), max(1.0, _traffic(view, arrival))
    # Squared: where all take longer, one does by much more (tests/triage/checks/test_machines.py).
    if grew < _SLOWER * (others or 1.0) ** 2 * (traffic if traffic > _MORE_TRAFFIC else 1.0):
        return None
    if others is None and taken(view) and grew < _ALONE:
        return None
    if not _its_own(view, arrival, late - before):
        return None
    return _Worse(what="seconds", before=before, since=late)


_ALONE = 3.0
"""Whether its machine's processors are busy and no other model is there for comparison."""


def _waits(view: View, arrival: Arrival) -> _Worse | None:
    """The wait in Triton's queue before and since: fewer instances, or a batcher that waits."""
    labels = labels_of(arrival.subject)
    levels = _grown(view, arrival, view.trends.points("queue", labels), _WAITS_SECONDS)
    if levels is None or _traffic(view, arrival) > _MORE_TRAFFIC or taken(view):
        return None
    work = _levels(view, arrival, _work(view, arrival.subject))
    # Requests that take longer for another reason wait longer, too.
    if work is None or work[1] > _SLOWER * work[0] or levels[1] - levels[0] < _SLOWER_BY_WAIT * work[0]:
        return None
    return _Worse(what="waits", before=levels[0], since=levels[1])


def _work(view: View, subject: Subject) -> Points:
    """Seconds a request without its wait in the queue: what Triton counts for any backend, over time."""
    labels = labels_of(subject)
    waits = dict(view.trends.points("queue", labels))
    return tuple(
        (time, max(0.0, value - waits.get(time, 0.0)))
        for time, value in view.trends.points("request", labels)
    )


def _levels(view: View, arrival: Arrival, points: Points) -> tuple[float, float] | None:
    before, late = _sides(view, arrival, points)
    return None if before is None or late is None else (before, late)


def _grown(view: View, arrival: Arrival, points: Points, seconds: float) -> tuple[float, float] | None:
    """Both levels, where they grew from the load on, by so much, and above what was usual."""
    levels = _levels(view, arrival, points)
    if levels is None or levels[1] < _SLOWER * levels[0] or levels[1] - levels[0] < seconds:
        return None
    soon = view.trends.level(points, arrival.settled, arrival.soon)
    if soon is not None and soon - levels[0] < (levels[1] - levels[0]) / 2:
        return None
    if _settles([value for time, value in points if time >= arrival.settled], levels[0]):
        return None
    request = view.trends.points("request", labels_of(arrival.subject))
    late = view.trends.level(request, arrival.late, arrival.end)
    usual = view.usual.most("request", arrival.subject)
    return None if usual is not None and late is not None and late <= usual else levels


def _settles(values: Sequence[float], before: float) -> bool:
    """Whether what a load added is nearly gone, or falls: what a bad one adds is steady from `settled` on."""
    finite = [value for value in values if math.isfinite(value)]
    if len(finite) < _FALLING:
        return False
    *earlier, one, other, last = finite
    left = (last - before) / (max(finite) - before)
    # Waits in a queue go up and down: that three of them fall says nothing where others were as low.
    return left < _GONE or (left < _FALLS and min(earlier, default=math.inf) > one > other > last)


def _traffic(view: View, arrival: Arrival) -> float:
    """How many times as many requests the model gets, over all of its versions."""
    every = [view.trends.points(name, {names.MODEL: arrival.subject[0]}) for name in ("requests", "failed")]
    before, late = _sums(view, arrival, every)
    return growth(late, before)


def _others(view: View, arrival: Arrival) -> float | None:
    """By how much the work of a quarter of the other models grew at most: the machine's part; 1 or more.

    Callers of this model are left out, because they take longer with it. None without other models.
    """
    apart = view.callers(arrival.subject[0])
    grown = []
    for subject in view.subjects():
        levels = _levels(view, arrival, _work(view, subject))
        asked = view.request_rate(subject) * (arrival.end - arrival.late)
        if subject[0] not in apart and levels and levels[0] > 0 and asked >= _FEWEST:
            grown.append(levels[1] / levels[0])
    if not grown:
        return None
    common = sorted(grown)[len(grown) // 4]
    return common if common >= _EVERYWHERE else 1.0


def _its_own(view: View, arrival: Arrival, added: float) -> bool:
    """Whether the model itself takes longer: not what it calls, and not because it is given more."""
    model = arrival.subject[0]
    for case in view.cases:
        if case.subject == arrival.subject and case.before:
            own = sum(change.added_seconds for change in case.changes if change.now.model == model)
            if own < added * (1 - _DILUTED) / 2 and any(change.now.model != model for change in case.changes):
                return False
    for subject, stage, kind in view.sized():
        if subject == arrival.subject:
            now, usual = view.mean_size(subject, stage, kind), view.usual_size(subject, stage, kind)
            if now and usual and now > _LARGER * usual:
                return False
    # Batch items a request, as clients send them.
    labels = labels_of(arrival.subject)
    items = [view.ratio("inferences", "requests", labels, before=side) for side in (False, True)]
    fuller = view.batch_growth(arrival.subject) if _traffic(view, arrival) > _MORE_TRAFFIC else 1.0
    return growth(*items) <= _LARGER and fuller <= _LARGER


_DILUTED = 0.5
"""The incident may have begun long before the deployment: of its mean at least so much is left."""
_LARGER = 1.3


def _cause(arrival: Arrival, worse: _Worse) -> Cause:
    model, version = arrival.subject
    new = arrival.subject != arrival.predecessor
    how = "was rolled out" if new else "was reloaded"
    than = f"version {arrival.predecessor[1]}:" if new else "was"
    says, measured, unit = _WORSE[worse.what]
    before, since = (
        f"{value:.1%}" if unit == "ratio" else format_latency(value) for value in (worse.before, worse.since)
    )
    return Cause(
        place=(model, version),
        sentence=(
            f"{titled((model, version))} {how} at {format_clock(arrival.born)} ({_shown(arrival)})"
            f"{says}: {measured} {since} ({than} {before})"
        ),
        confidence=0.94,
        evidence=(
            Evidence(f"{measured} of {model}", worse.before, worse.since, unit),
            *_loaded(arrival),
        ),
        next_steps=(
            f"roll back {model}: "
            + (
                f"serve version {arrival.predecessor[1]} again (version_policy in config.pbtxt)"
                if new
                else f"restore the earlier files and configuration and load it "
                f"(POST /v2/repository/models/{model}/load)"
            ),
            f"see what changed in {model} between the two, and try it with current requests",
        ),
        asked=("heartbeats", "first_beats", "request", "queue", "outcomes", "failures"),
        since=arrival.born,
    )


_WORSE: dict[str, tuple[str, str, Unit]] = {
    "errors": (" and fails more", "error ratio", "ratio"),
    "seconds": (" and takes longer", "mean time without queueing", "seconds"),
    "waits": (", and its requests wait longer", "mean queue time", "seconds"),
}
"""What is worse: what a model does, what is measured, and in which unit."""


def _shown(arrival: Arrival) -> str:
    """How the load was recognised."""
    if arrival.workers:
        return plural(arrival.workers, "new worker")
    if arrival.replicas:
        return f"its counters were reset on {plural(arrival.replicas, 'replica')}"
    return "its load time changed"


def _loaded(arrival: Arrival) -> Iterator[Evidence]:
    """Every sign of the load."""
    model = arrival.subject[0]
    if arrival.workers:
        yield Evidence(f"new workers of {model}", None, float(arrival.workers), "count")
    if arrival.replicas:
        reset = f"replicas where Triton's counters of {model} were reset"
        yield Evidence(reset, None, float(arrival.replicas), "count")
    if arrival.seconds:
        yield Evidence(f"load time of {model}", *arrival.seconds, "seconds")


_FACTOR = 1.25
_NOTABLE_SECONDS = 0.002
_FEWEST_REQUESTS = 20
"""The first requests of a version are always slow."""


@check(order=130, explains=LATE | {"bad_deploy", "reload"}, same_model={"bad_deploy"})
def slow_version(view: View) -> Iterator[Cause]:
    """Models whose newest version takes longer than an older one, at the same time or before."""
    now, before = _versions(view), _versions(view, before=True)
    for model, versions in sorted(now.items()):
        new = max(versions, key=version_order)
        old, reference = _reference(view, model, new, versions, before.get(model, ()))
        mean = _mean(view.now, model, new)
        if reference is None or mean is None:
            continue
        if mean < _FACTOR * reference or mean - reference < _NOTABLE_SECONDS:
            continue
        rate_before, rate = view.before.requests((model, new)), view.now.requests((model, new))
        if rate * view.snapshot.incident.seconds < _FEWEST_REQUESTS:
            continue
        yield Cause(
            place=(model, new),
            sentence=(
                f"version {new} of {model} takes {format_latency(mean)}, version {old} "
                f"{'took' if view.now.requests((model, old)) == 0 else 'takes'} {format_latency(reference)}"
            ),
            # A version that served in the baseline as well may have been slower all along.
            confidence=0.93 if rate_before == 0 else 0.65,
            evidence=(
                Evidence(f"mean of version {old}", reference, _mean(view.now, model, old), "seconds"),
                Evidence(f"mean of version {new}", _mean(view.before, model, new), mean, "seconds"),
                Evidence(f"requests to version {new}", rate_before, rate, "per_second"),
            ),
            next_steps=(
                f"roll back to version {old} of {model} (version_policy) until the cause is known",
                f"compare the stages of both: {stages_command(model)}",
            ),
            trend=("requests", labels_of((model, new))),
            asked=("requests", "request", "sum"),
        )


def _versions(view: View, *, before: bool = False) -> dict[str, list[str]]:
    versions: dict[str, list[str]] = {}
    for model, version in view.subjects(before=before):
        versions.setdefault(model, []).append(version)
    return versions


def _reference(
    view: View, model: str, new: str, now: Sequence[str], before: Sequence[str]
) -> tuple[str, float | None]:
    """The next older version: as it does now, or as it did before."""
    for timings, versions in ((view.now, now), (view.before, before)):
        older = [version for version in versions if version_order(version) < version_order(new)]
        if older:
            old = max(older, key=version_order)
            return old, _mean(timings, model, old)
    return "", None


def _mean(timings: Timings, model: str, version: str) -> float | None:
    server = timings.servers.get((model, version))
    return server.request if server else None


_SOON_SECONDS = 60.0
_LONGER, _LONGER_SECONDS = 1.25, 0.001
_WINDOWS = 1.5


# First requests after a load are slow, but not those of everything on a machine.
@check(
    order=200,
    explains={"cache_collapse", "error_surge", "queue_saturation", "slow_stage"},
    callers={"error_surge", "slow_stage"},
)
def reload(view: View) -> Iterator[Cause]:
    """Models that got new workers between the windows: again and again, or slower or failing since."""
    looping = _looping(view)
    for subject, workers in sorted(view.roster.born.items()):
        if subject in looping:
            yield _again_and_again(subject, looping[subject])
            continue
        slower = subject[0] in view.slower_cases
        # What clients send is not the load's fault.
        failing = view.failing(subject[0]) and not explain_errors(view, subject)
        if subject not in view.roster.known or not (slower or failing):
            continue
        born = min(view.roster.first_beat(worker) for worker in workers)
        if not failing and _is_over(view, subject, born):
            continue
        age = view.snapshot.incident.end - born
        settled = (
            "first requests after a load are slow, and caches are empty"
            if age > _SOON_SECONDS
            else f"that was {format_duration(max(1, round(age)))} ago, too recent to see whether it settles"
        )
        yield Cause(
            place=subject,
            sentence=(
                f"{titled(subject)} was reloaded at {format_clock(born)} "
                f"({plural(len(workers), 'new worker')}): {settled}"
            ),
            confidence=0.6,
            evidence=(Evidence(f"new workers of {subject[0]}", None, float(len(workers)), "count"),),
            next_steps=(
                "see who reloaded it; run triage again in a minute, and roll back if it does not settle",
                f"let {subject[0]} warm up before it gets requests (model_warmup in config.pbtxt)",
            ),
            asked=("heartbeats", "first_beats"),
            since=born,
        )


def _looping(view: View) -> dict[Subject, tuple[float, ...]]:
    """The models that were loaded again and again, and when. A server that starts again loads them all."""
    loads = {subject: view.roster.loads.get(subject, ()) for subject in view.roster.born}
    found = {subject: moments for subject, moments in loads.items() if len(moments) >= _LOOP}
    ups = (series.points for series in view.snapshot.trends.get("up", ()))
    fell = any(value == 0 for points in ups for _, value in points)
    everything = len(view.roster.known) > 1 and view.roster.known <= set(found)
    return {} if fell or everything else found


def _again_and_again(subject: Subject, loads: Sequence[float]) -> Cause:
    often = f"{len(loads)} times since {format_clock(loads[0])}"
    return Cause(
        place=subject,
        sentence=f"{titled(subject)} was reloaded {often}",
        confidence=0.7,
        evidence=(Evidence(f"loads of {subject[0]}", None, float(len(loads)), "count"),),
        next_steps=(
            "find what reloads it: a deployment that repeats, a controller, files that change while polled",
        ),
        asked=("first_beats",),
        since=loads[0],
    )


def _is_over(view: View, subject: Subject, born: float) -> bool:
    """Whether only the very first requests were slow: that is normal after a load, and no finding."""
    points = view.trends.points("request", labels_of(subject))
    before = view.trends.level(points, view.snapshot.incident.start, born)
    # Each point is a mean over the window before it, so the first requests stay in it that long.
    late = [value for time, value in points if time > born + _WINDOWS * view.trends.window]
    return before is not None and bool(late) and max(late) <= _LONGER * before + _LONGER_SECONDS
