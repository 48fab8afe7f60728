"""One replica is slower than the others that serve the same model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median

from tritonobs import names
from tritonobs.extensions.triage.check import LATE, check
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.measured import Subject
from tritonobs.timings.promql import labels_of
from tritonobs.units import format_latency

_FACTOR = 1.7
_NOTABLE_SECONDS = 0.003
_SLOWER, _BY_FAR = 1.5, 2.0
_FEWEST_REQUESTS = 20
"""To a replica in a window: one slow request of five is not a slow machine."""


@check(order=140, explains=LATE)
def judge(view: View) -> Iterator[Cause]:
    """Replicas whose mean request time stands out from the middle of the others."""
    now, before = _means(view), _means(view, before=True)
    for (model, version), means in sorted(now.items()):
        for replica, mean in sorted(means.items()):
            # The replica itself is left out: with two, the slow one would be half of its own reference.
            others = _others(means, replica)
            stands_out = bool(others) and mean >= _FACTOR * median(others)
            if (
                stands_out
                and mean - median(others) >= _NOTABLE_SECONDS
                and not _everywhere(replica, means, before.get((model, version), {}))
            ):
                yield _cause((model, version), replica, means, before.get((model, version), {}))


def _everywhere(replica: str, now: Mapping[str, float], before: Mapping[str, float]) -> bool:
    """Whether all replicas became slower, and this one not by much more: a queue is nowhere equally long."""
    was, others_before = before.get(replica), _others(before, replica)
    if not was or not others_before:
        return False
    grew, others_grew = now[replica] / was, median(_others(now, replica)) / median(others_before)
    return others_grew >= _SLOWER and grew < _BY_FAR * others_grew


def _cause(subject: Subject, replica: str, means: Mapping[str, float], before: Mapping[str, float]) -> Cause:
    model, version = subject
    mean, others = means[replica], _others(means, replica)
    was, others_before = before.get(replica), _others(before, replica)
    always = was is not None and bool(others_before) and was >= _FACTOR * median(others_before)
    return Cause(
        place=(model, version, replica),
        sentence=(
            f"{replica} answers {model} in {format_latency(mean)}, the other replicas in "
            f"{format_latency(median(others))}" + (", and did so before" if always else "")
        ),
        confidence=0.55 if always else 0.92,
        evidence=(
            Evidence(f"mean of {model} on {replica}", was, mean, "seconds"),
            Evidence(
                "middle of the others",
                median(others_before) if others_before else None,
                median(others),
                "seconds",
            ),
        ),
        next_steps=(
            f"look at the machine of {replica}: other work on it, its clock speed, its disk, its GPU",
            "take it out of the load balancer until it keeps up",
        ),
        trend=("replica", {**labels_of((model, version)), names.INSTANCE: replica}),
        asked=("replica_us", "replica_requests"),
    )


def _means(view: View, *, before: bool = False) -> dict[Subject, dict[str, float]]:
    """Seconds a request by model version and replica, of those with enough requests."""
    labels = (names.MODEL, names.VERSION, names.INSTANCE)
    spent = view.rows("replica_us", *labels, before=before)
    seconds = (view.snapshot.baseline if before else view.snapshot.incident).seconds
    means: dict[Subject, dict[str, float]] = {}
    for key, rate in view.rows("replica_requests", *labels, before=before).items():
        if rate * seconds > _FEWEST_REQUESTS:
            means.setdefault((key[0], key[1]), {})[key[2]] = spent.get(key, 0.0) / 1e6 / rate
    return means


def _others(means: Mapping[str, float], replica: str) -> list[float]:
    return [mean for other, mean in means.items() if other != replica]
