"""What was deployed is worse than what was there before, and stays so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs import names
from tritonobs.timings.promql import labels_of
from tritonobs.triage.arrival import arrivals
from tritonobs.triage.cause import Cause, Evidence
from tritonobs.triage.wording import titled
from tritonobs.units import format_clock, format_latency

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.timings.measured import Subject
    from tritonobs.triage.arrival import Arrival
    from tritonobs.triage.cause import Unit
    from tritonobs.triage.view import View

    Points = tuple[tuple[float, float], ...]

_NOTABLE_RATIO, _TIMES_AS_MANY = 0.01, 3.0
_FEWEST_ERRORS = 3.0
_SLOWER, _SECONDS = 1.2, 0.0015


def judge(view: View) -> Iterator[Cause]:
    """Models that were loaded again, or in a new version, and fail more or take longer ever since."""
    for arrival in arrivals(view):
        errors = _errors(view, arrival)
        if errors:
            yield _cause(arrival, "errors", *errors)
        elif slower := _slower(view, arrival):
            yield _cause(arrival, "seconds", *slower)


def _errors(view: View, arrival: Arrival) -> tuple[float, float] | None:
    """Error ratio before and since, where it grew and stays."""
    before = view.error_ratio(arrival.predecessor, before=True) or 0.0
    bad, all_ = _ended(view, arrival.subject)
    since = _ratio(bad, all_, arrival.settled, view.snapshot.incident.end)
    late = _ratio(bad, all_, arrival.late, view.snapshot.incident.end)
    if since is None or late is None or min(since[0], late[0]) < max(_NOTABLE_RATIO, _TIMES_AS_MANY * before):
        return None
    # About as many errors right before: the load came into the trouble, and did not cause it.
    pre = _ratio(*_ended(view, arrival.predecessor), arrival.born - arrival.lead, arrival.born)
    if pre and pre[0] > since[0] / 2:
        return None
    return (before, since[0]) if since[1] >= _FEWEST_ERRORS else None


def _ended(view: View, subject: Subject) -> tuple[Points, Points]:
    """Requests a second that ended badly, and all, over time."""
    labels = labels_of(subject)
    failed = dict(view.trends.points("failed", labels))
    # `requests` are Triton's successes, error replies of Python models among them; failures add to them.
    good = view.trends.points("requests", labels)
    return view.trends.bad(labels), tuple((time, value + failed.get(time, 0.0)) for time, value in good)


def _ratio(bad: Points, all_: Points, start: float, end: float) -> tuple[float, float] | None:
    """The share that ended badly between two moments, and about how many did."""
    wrong = [value for time, value in bad if start <= time <= end]
    requests = [value for time, value in all_ if start <= time <= end]
    if not wrong or sum(requests) <= 0:
        return None
    # Models and Triton count at different moments: a short look may see more errors than requests.
    share = min(1.0, (sum(wrong) / len(wrong)) / (sum(requests) / len(requests)))
    return share, sum(wrong) / len(wrong) * (end - start)


def _slower(view: View, arrival: Arrival) -> tuple[float, float] | None:
    """Seconds a request before and since, where they grew and stay so, by what the model itself does."""
    # Another version that is slower is what `slow_version` judges.
    if arrival.subject != arrival.predecessor:
        return None
    labels = labels_of(arrival.subject)
    points = view.trends.points("request", labels)
    end = view.snapshot.incident.end
    before = view.trends.level(points, arrival.born - arrival.lead, arrival.born)
    late = view.trends.level(points, arrival.late, end)
    usual = view.usual.request(arrival.subject)
    if before is None or late is None or late < _SLOWER * before or late - before < _SECONDS:
        return None
    if (usual is not None and late <= usual) or not _its_own(view, arrival, late - before):
        return None
    return before, late


def _its_own(view: View, arrival: Arrival, added: float) -> bool:
    """Whether the model itself takes longer: not what it calls, and not because it is given more."""
    model, version = arrival.subject
    for case in view.cases:
        if case.subject == arrival.subject and case.before:
            own = sum(change.added_seconds for change in case.changes if change.now.model == model)
            if own < added * (1 - _DILUTED) / 2 and any(change.now.model != model for change in case.changes):
                return False
    for (stage, kind), now in _sizes(view, arrival.subject).items():
        usual = view.usual_size((model, version), stage, kind)
        if usual and now > _LARGER * usual:
            return False
    return True


_DILUTED = 0.5
"""The incident may have begun long before the deployment: of its mean at least so much is left."""
_LARGER = 1.3


def _sizes(view: View, subject: tuple[str, str]) -> dict[tuple[str, str], float]:
    return {
        (stage, kind): size
        for model, version, stage, kind in view.rows(
            "size_count", names.MODEL, names.VERSION, names.STAGE, names.KIND
        )
        if (model, version) == subject and (size := view.mean_size(subject, stage, kind)) is not None
    }


def _cause(arrival: Arrival, what: str, before: float, since: float) -> Cause:
    model, version = arrival.subject
    new = arrival.subject != arrival.predecessor
    how = "was rolled out" if new else "was loaded again"
    than = f"version {arrival.predecessor[1]}" if new else "before"
    workers = f"{arrival.workers} new worker{'s' if arrival.workers > 1 else ''}"
    if what == "errors":
        change = f"answers {since:.1%} of requests with an error since; {than} {before:.1%}"
    else:
        change = f"takes {format_latency(since)} since; {than} {format_latency(before)}"
    unit: Unit = "ratio" if what == "errors" else "seconds"
    return Cause(
        place=(model, version),
        sentence=f"{titled((model, version))} {how} at {format_clock(arrival.born)} ({workers}) and {change}",
        confidence=0.94,
        evidence=(
            Evidence(
                f"error ratio of {model}" if what == "errors" else f"mean of {model}", before, since, unit
            ),
            Evidence(f"new workers of {model}", None, float(arrival.workers), "count"),
        ),
        next_steps=(
            f"roll back {model}: "
            + (
                f"serve version {arrival.predecessor[1]} again (version_policy in config.pbtxt)"
                if new
                else f"put back the files and the configuration of before and load it "
                f"(POST /v2/repository/models/{model}/load)"
            ),
            f"see what changed in {model} between the two, and try it with requests of this time",
        ),
        asked=("heartbeats", "first_beats", "request", "outcomes", "failures"),
        since=arrival.born,
    )
