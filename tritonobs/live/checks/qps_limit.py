"""A model gets more requests than its limit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tritonobs import names
from tritonobs.live.cause import Cause, Evidence
from tritonobs.live.wording import titled
from tritonobs.units import parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.live.timings import Subject
    from tritonobs.live.view import View

ID = "qps_limit"
_BURST_RATIO = 1.5
_BURST_REQUESTS = 10
_USUAL_INTERVAL_SECONDS = 15.0


def judge(view: View) -> Iterator[Cause]:
    """Limits that were exceeded: all the time, for the busiest half minute, or in bursts."""
    limits = view.rows("limits", names.MODEL, names.VERSION)
    for (model, version), limit in sorted(limits.items()):
        subjects = [
            subject for subject in view.now.servers if model == subject[0] and version in {"", subject[1]}
        ]
        if version and limits.get((model, ""), math.inf) <= limit:
            # The limit of the model is passed at least as early, and by more.
            continue
        mean = sum(view.request_rate(subject) for subject in subjects)
        peak = sum(
            view.value("peak", {names.MODEL: name, names.VERSION: edition}) or 0.0
            for name, edition in subjects
        )
        burst = _burst(view, subjects)
        if max(mean, peak) <= limit and not _is_burst(view, burst, limit):
            continue
        before = sum(view.request_rate(subject, before=True) for subject in subjects)
        briefly = "" if mean > limit else " for a while" if peak > limit else " in bursts"
        most = max(mean, peak) if max(mean, peak) > limit else burst
        yield Cause(
            check=ID,
            place=(model, version),
            sentence=(
                f"{titled((model, version))} got {most:.3g} requests/s{briefly}, "
                f"its limit is {limit:.3g} requests/s"
            ),
            confidence=0.96 if mean > limit else 0.85,
            evidence=(
                Evidence(what="requests", before=before, now=mean, unit="per_second"),
                Evidence(what="busiest half minute", before=None, now=peak, unit="per_second"),
                Evidence(what="between two scrapes", before=None, now=burst, unit="per_second"),
                Evidence(what="limit", before=None, now=limit, unit="per_second"),
            ),
            next_steps=(
                "find the client that sends more than agreed, and slow it down",
                f"if there is room (tritonobs limits suggest), raise the limit: tritonobs limits set {model}",
            ),
            trend=("requests", ((names.MODEL, model), *(((names.VERSION, version),) if version else ()))),
            asked=("requests", "peak", "burst", "limits"),
        )


def _burst(view: View, subjects: list[Subject]) -> float:
    """The most that was answered between two scrapes, requests a second."""
    return sum(
        view.value("burst", {names.MODEL: name, names.VERSION: edition}) or 0.0 for name, edition in subjects
    )


def _is_burst(view: View, burst: float, limit: float) -> bool:
    """Whether it is above the limit by more than chance, as the rule of TritonQpsSpike has it."""
    return burst > _BURST_RATIO * limit and (burst - limit) * _interval_seconds(view) >= _BURST_REQUESTS


def _interval_seconds(view: View) -> float:
    """How often replicas are scraped; older releases of Prometheus do not tell."""
    told = [target.interval for target in view.replica_targets() if target.interval]
    return max((float(parse_duration(interval)) for interval in told), default=_USUAL_INTERVAL_SECONDS)
