"""Models that were loaded again, or in a new version, and are slower or fail.

`bad_deploy` judges whether it lasts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tritonobs.extensions.triage.check import LATE, check, plural, stages_command, titled
from tritonobs.extensions.triage.signs import explain_errors
from tritonobs.extensions.triage.view import View, requests
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.measured import Subject, Timings
from tritonobs.timings.promql import labels_of
from tritonobs.units import format_clock, format_duration, format_latency, version_order

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
        rate_before, rate = requests(view.before, (model, new)), requests(view.now, (model, new))
        if rate * view.snapshot.incident.seconds < _FEWEST_REQUESTS:
            continue
        yield Cause(
            place=(model, new),
            sentence=(
                f"version {new} of {model} takes {format_latency(mean)}, version {old} "
                f"{'took' if requests(view.now, (model, old)) == 0 else 'takes'} {format_latency(reference)}"
            ),
            # A version that served in the baseline as well may have been slower all along.
            confidence=0.93 if rate_before == 0 else 0.65,
            evidence=(
                Evidence(f"mean of version {old}", reference, _mean(view.now, model, old), "seconds"),
                Evidence(f"mean of version {new}", _mean(view.before, model, new), mean, "seconds"),
                Evidence(f"requests to version {new}", rate_before, rate, "per_second"),
            ),
            next_steps=(
                f"roll back: go back to version {old} of {model} (version_policy) until it is understood",
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
    """Models that got new workers between the windows, where requests were slower or failed since."""
    for subject, workers in sorted(view.roster.born.items()):
        slower = view.slower_case(subject[0]) is not None
        # What clients send is not the load's fault.
        failing = view.failing(subject[0]) and not explain_errors(view, subject)
        if not view.roster.knew(subject) or not (slower or failing):
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
                f"{titled(subject)} was loaded again at {format_clock(born)} "
                f"({plural(len(workers), 'new worker')}): {settled}"
            ),
            confidence=0.6,
            evidence=(Evidence(f"new workers of {subject[0]}", None, float(len(workers)), "count"),),
            next_steps=(
                "see who deployed or reloaded it; ask again in a minute, and roll back if it does not settle",
                f"let {subject[0]} warm up before it gets requests (model_warmup in config.pbtxt)",
            ),
            asked=("heartbeats", "first_beats"),
            since=born,
        )


def _is_over(view: View, subject: Subject, born: float) -> bool:
    """Whether only the very first requests were slow: that is normal after a load, and no finding."""
    points = view.trends.points("request", labels_of(subject))
    before = view.trends.level(points, view.snapshot.incident.start, born)
    # Each point is a mean over the window before it, so the first requests stay in it that long.
    late = [value for time, value in points if time > born + _WINDOWS * view.trends.window]
    return before is not None and bool(late) and max(late) <= _LONGER * before + _LONGER_SECONDS
