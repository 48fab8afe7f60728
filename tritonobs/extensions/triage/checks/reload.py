"""A model was loaded again during the incident, and its first requests were slow or failed."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs.extensions.triage.cause import titled
from tritonobs.extensions.triage.check import check
from tritonobs.extensions.triage.signs import explain_errors
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.measured import Subject
from tritonobs.timings.promql import labels_of
from tritonobs.units import format_clock, format_duration

_SOON_SECONDS = 60.0
_LONGER, _LONGER_SECONDS = 1.25, 0.001
_WINDOWS = 1.5


# First requests after a load are slow, but not those of everything on a machine.
@check(
    order=200,
    explains={"cache_collapse", "error_surge", "queue_saturation", "slow_stage"},
    callers={"error_surge", "slow_stage"},
)
def judge(view: View) -> Iterator[Cause]:
    """Models that got new workers between the windows, where requests were slower or failed since.

    `bad_deploy` judges whether it lasts.
    """
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
        number = len(workers)
        yield Cause(
            place=subject,
            sentence=(
                f"{titled(subject)} was loaded again at {format_clock(born)} "
                f"({number} new worker{'s' if number > 1 else ''}): {settled}"
            ),
            confidence=0.6,
            evidence=(Evidence(f"new workers of {subject[0]}", None, float(number), "count"),),
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
