"""Everything takes longer by about as much, for the same work: the machine, not a stage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tritonobs import names
from tritonobs.extensions.triage.case import EVERYWHERE_GROWTH, Case
from tritonobs.extensions.triage.cause import titled
from tritonobs.extensions.triage.check import check
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.promql import labels_of
from tritonobs.timings.stages import QUEUE
from tritonobs.units import format_latency

_PART_OF_CHANGE = 0.5
# A neighbour on a shared host looks the same, and passes by itself.
_CONFIDENCE = 0.5
_MOST_NAMED = 3


@check(order=230, explains={"queue_saturation"})
def judge(view: View) -> Iterator[Cause]:
    """The slower models whose parts all grew, and the replicas on which they did."""
    for case in view.cases:
        everywhere = case.common_growth()
        if case.before and case.slower_mean and everywhere >= EVERYWHERE_GROWTH and _in_the_parts(case):
            yield _cause(view, case, everywhere)


def _in_the_parts(case: Case) -> bool:
    """Whether the time is added in the parts, not by waiting for them."""
    added = sum(change.added_seconds for change in case.changes if change.now.name != QUEUE)
    return added >= _PART_OF_CHANGE * case.added_seconds


def _cause(view: View, case: Case, everywhere: float) -> Cause:
    request, before = case.now.request, case.before.request if case.before else None
    replicas = _slowed(view)
    where = ", ".join(replicas[:_MOST_NAMED]) + (" and others" if len(replicas) > _MOST_NAMED else "")
    return Cause(
        place=("", "", where) if where else case.subject,
        sentence=(
            f"everything on {where or titled(case.subject)} takes longer: a request to {case.now.model} "
            f"{format_latency(request.mean or 0.0)}, was "
            f"{format_latency((before.mean if before else None) or 0.0)}, and no stage stands out"
        ),
        confidence=_CONFIDENCE,
        evidence=(
            Evidence(
                f"mean of a request to {case.now.model}",
                before.mean if before else None,
                request.mean,
                "seconds",
            ),
            Evidence("growth of three quarters of it, at least", 1.0, everywhere),
            *_processors(view, replicas),
        ),
        next_steps=(
            "see what else runs on that machine or on its host (top; steal in vmstat), and its clock speed",
            "wait for another few minutes and ask again: a neighbour's load passes, a fault stays",
        ),
        trend=("request", labels_of(case.subject)),
        asked=("sum", "count", "replica_us", "replica_requests", "cpu"),
    )


def _slowed(view: View) -> list[str]:
    """Replicas that take longer for what they serve than the same requests took there before."""
    labels = (names.INSTANCE, names.MODEL, names.VERSION)
    spent, rates = view.rows("replica_us", *labels), view.rows("replica_requests", *labels)
    spent_before = view.rows("replica_us", *labels, before=True)
    rates_before = view.rows("replica_requests", *labels, before=True)
    now, usual = defaultdict[str, float](float), defaultdict[str, float](float)
    for key, rate in rates.items():
        if rate > 0 and rates_before.get(key, 0.0) > 0:
            now[key[0]] += spent.get(key, 0.0)
            # At the current rates: a replica that gets more requests to a slow model is not slower.
            usual[key[0]] += spent_before.get(key, 0.0) / rates_before[key] * rate
    return sorted(replica for replica in now if now[replica] >= EVERYWHERE_GROWTH * usual[replica])


def _processors(view: View, replicas: list[str]) -> Iterator[Evidence]:
    before = view.rows("cpu", names.INSTANCE, before=True)
    for (replica,), busy in view.rows("cpu", names.INSTANCE).items():
        if replica in replicas[:_MOST_NAMED]:
            yield Evidence(f"CPU use of {replica}", before.get((replica,)), busy, "ratio")
