"""Machines: a replica or a machine that is slower, busy processors, accelerators."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from statistics import median

from tritonobs import names
from tritonobs.extensions.triage.case import EVERYWHERE_GROWTH, Case
from tritonobs.extensions.triage.check import LATE, check, taken, titled
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.measured import Subject
from tritonobs.timings.promql import MODEL_VERSION, Scope, labels_of, over
from tritonobs.timings.stages import QUEUE
from tritonobs.units import format_latency

_FACTOR = 1.7
_NOTABLE_SECONDS = 0.003
_SLOWER, _BY_FAR = 1.5, 2.0
_FEWEST_REQUESTS = 20
"""To a replica in a window: one slow request of five is not a slow machine."""
_OF_REPLICA = (*MODEL_VERSION, names.INSTANCE)


@check(order=140, explains=LATE)
def slow_replica(view: View) -> Iterator[Cause]:
    """Replicas whose mean request time stands out from the median of the others."""
    means_now, means_before = _means(view), _means(view, before=True)
    for (model, version), means in sorted(means_now.items()):
        before = means_before.get((model, version), {})
        for replica, mean in sorted(means.items()):
            # The replica itself is left out: with two, the slow one would be half of its own reference.
            others, was, were = _others(means, replica), before.get(replica), _others(before, replica)
            if others is None or mean < _FACTOR * others or mean - others < _NOTABLE_SECONDS:
                continue
            # All replicas became slower, and this one not by much more: a queue is nowhere equally long.
            if was and were and others / were >= _SLOWER and mean / was < _BY_FAR * others / were:
                continue
            always = was is not None and were is not None and was >= _FACTOR * were
            yield Cause(
                place=(model, version, replica),
                sentence=(
                    f"mean latency of {model} on {replica} is {format_latency(mean)}, on the other replicas "
                    f"{format_latency(others)}" + (", as in the baseline" if always else "")
                ),
                confidence=0.55 if always else 0.92,
                evidence=(
                    Evidence(f"mean of {model} on {replica}", was, mean, "seconds"),
                    Evidence("median of the other replicas", were, others, "seconds"),
                ),
                next_steps=(
                    f"look at the machine of {replica}: other work on it, its clock speed, its disk, its GPU",
                    "remove it from the load balancer until it keeps up",
                ),
                trend=("replica", {**labels_of((model, version)), names.INSTANCE: replica}),
                asked=("replica_us", "replica_requests"),
            )


def _means(view: View, *, before: bool = False) -> dict[Subject, dict[str, float]]:
    """Seconds a request by model version and replica, of those with enough requests."""
    spent = view.rows("replica_us", *_OF_REPLICA, before=before)
    seconds = (view.snapshot.baseline if before else view.snapshot.incident).seconds
    means: dict[Subject, dict[str, float]] = {}
    for key, rate in view.rows("replica_requests", *_OF_REPLICA, before=before).items():
        if rate * seconds > _FEWEST_REQUESTS:
            means.setdefault((key[0], key[1]), {})[key[2]] = spent.get(key, 0.0) / 1e6 / rate
    return means


def _others(means: Mapping[str, float], replica: str) -> float | None:
    others = [mean for other, mean in means.items() if other != replica]
    return median(others) if others else None


_FULL = 0.95
_SLOWED = 0.85
# An idle card lowers its clock by itself.
_BUSY = 0.3


def _clock(scope: Scope, seconds: float) -> str:
    # Pods that follow each other on a card have series of their own, of one and the same card.
    return f"max by (UUID) ({over('avg_over_time', names.DCGM_SM_CLOCK, scope.around(), seconds)})"


def _temperature(scope: Scope, seconds: float) -> str:
    return f"max by (UUID) ({over('max_over_time', names.DCGM_TEMPERATURE, scope.around(), seconds)})"


@check(order=150, explains=LATE, asks={"gpu_clock": _clock, "gpu_temperature": _temperature})
def accelerator(view: View) -> Iterator[Cause]:
    """Every GPU that is full, or whose clock fell while it had work."""
    slower = any(case.slower for case in view.cases)
    before = view.rows("gpu_memory", names.INSTANCE, "gpu_uuid", before=True)
    for key, used in view.rows("gpu_memory", names.INSTANCE, "gpu_uuid").items():
        if used >= _FULL:
            yield Cause(
                place=("", "", *key),
                area="accelerators",
                sentence=f"the memory of GPU {key[1]} on {key[0]} is {used:.0%} full",
                confidence=0.8 if slower or used > before.get(key, used) else 0.55,
                evidence=(Evidence("GPU memory used", before.get(key), used, "ratio"),),
                next_steps=(
                    "see which model grew: unload models without requests, or lower instance_group counts",
                    "models that allocate later will fail; do not reload anything before there is room",
                ),
                asked=("gpu_memory",),
            )
    clocks, heat = view.rows("gpu_clock", "UUID", before=True), view.rows("gpu_temperature", "UUID")
    # The label UUID of dcgm-exporter has the value of Triton's gpu_uuid.
    busy = view.rows("gpu_utilization", "gpu_uuid")
    for (card,), clock in view.rows("gpu_clock", "UUID").items():
        was = clocks.get((card,), 0.0)
        if clock < _SLOWED * was and busy.get((card,), 1.0) >= _BUSY:
            yield Cause(
                place=("", "", card),
                area="accelerators",
                sentence=f"GPU {card} runs at {clock:.0f} MHz (was {was:.0f} MHz): it is throttled",
                confidence=0.9,
                evidence=(
                    Evidence("SM clock in MHz", was, clock),
                    Evidence("GPU temperature in °C", None, heat.get((card,))),
                ),
                next_steps=("check cooling and power limit of that machine (nvidia-smi -q -d PERFORMANCE)",),
                asked=("gpu_clock", "gpu_temperature"),
            )


_GROWTH = 1.2
_MOST = 0.6


# On busy processors one part slows down most, and is not the cause.
@check(order=220, explains={"queue_saturation", "slow_machine", "slow_stage"})
def cpu_starved(view: View) -> Iterator[Cause]:
    """Machines that became fully busy while most stages of a slower model slowed down together."""
    # Triton reads /proc/stat: all cores of the host, not those of its container (server#7506).
    slower = (view.slower_cases[case.now.model] for case in view.cases if case.slower)
    spread = max(map(_spread, slower), default=0.0)
    for replica, (usual, busy) in taken(view).items():
        if spread >= _MOST:
            yield Cause(
                place=("", "", replica),
                sentence=(
                    f"CPU use of {replica} is {busy:.0%} (was {usual:.0%}), and {spread:.0%} "
                    "of the stages slowed down together"
                ),
                confidence=0.75,
                evidence=(
                    Evidence(f"CPU use of {replica}", usual, busy, "ratio"),
                    Evidence("stages that slowed down", None, spread, "ratio"),
                ),
                next_steps=(
                    "see what else runs there (top): a neighbour, a build, a log shipper",
                    "see whether model instances and their threads outnumber the cores",
                ),
                trend=("cpu", {names.INSTANCE: replica}),
                asked=("cpu",),
            )


def _spread(case: Case) -> float:
    """The share of its stages that take longer."""
    changes = [change for change in case.changes if change.before and change.now.name != QUEUE]
    return sum(change.growth > _GROWTH for change in changes) / len(changes) if changes else 0.0


_PART_OF_CHANGE = 0.5
# A neighbour on a shared host looks the same, and passes by itself.
_CONFIDENCE = 0.5
_MOST_NAMED = 3
_WHAT_ELSE = (
    "see what else runs on that machine or on its host (top; steal in vmstat), and its clock speed",
    "run triage again in a few minutes: a noisy neighbour goes away, a hardware fault does not",
)


@check(order=230, explains={"queue_saturation"})
def slow_machine(view: View) -> Iterator[Cause]:
    """The slower models whose parts all grew, for the same work, and the replicas on which they did."""
    for case in view.cases:
        everywhere = case.common_growth()
        if not case.before or not case.slower_mean or everywhere < EVERYWHERE_GROWTH or not _in_parts(case):
            continue
        replicas, mean = _slowed(view), case.now.request.mean
        where = ", ".join(replicas[:_MOST_NAMED]) + (" and others" if len(replicas) > _MOST_NAMED else "")
        yield Cause(
            place=("", "", where) if where else case.subject,
            sentence=(
                f"nearly all stages on {where or titled(case.subject)} are slower: mean latency of "
                f"{case.now.model} {format_latency(mean or 0.0)} (was {format_latency(case.was.mean or 0.0)})"
            ),
            confidence=_CONFIDENCE,
            evidence=(
                Evidence(f"mean of a request to {case.now.model}", case.was.mean, mean, "seconds"),
                Evidence("minimum growth across 75% of the request time", 1.0, everywhere),
                *_processors(view, replicas),
            ),
            next_steps=_WHAT_ELSE,
            trend=("request", labels_of(case.subject)),
            asked=("sum", "count", "replica_us", "replica_requests", "cpu"),
        )


def _in_parts(case: Case) -> bool:
    """Whether the time is added in the parts, not by waiting for them."""
    added = sum(change.added_seconds for change in case.changes if change.now.name != QUEUE)
    return added >= _PART_OF_CHANGE * case.added_seconds


def _slowed(view: View) -> list[str]:
    """Replicas that take longer for what they serve than the same requests took there before."""
    spent, rates = view.rows("replica_us", *_OF_REPLICA), view.rows("replica_requests", *_OF_REPLICA)
    spent_before = view.rows("replica_us", *_OF_REPLICA, before=True)
    rates_before = view.rows("replica_requests", *_OF_REPLICA, before=True)
    now, usual = defaultdict[str, float](float), defaultdict[str, float](float)
    for key, rate in rates.items():
        if rate > 0 and rates_before.get(key, 0.0) > 0:
            now[key[2]] += spent.get(key, 0.0)
            # At the current rates: a replica that gets more requests to a slow model is not slower.
            usual[key[2]] += spent_before.get(key, 0.0) / rates_before[key] * rate
    return sorted(replica for replica in now if now[replica] >= EVERYWHERE_GROWTH * usual[replica])


def _processors(view: View, replicas: list[str]) -> Iterator[Evidence]:
    before = view.rows("cpu", names.INSTANCE, before=True)
    for (replica,), busy in view.rows("cpu", names.INSTANCE).items():
        if replica in replicas[:_MOST_NAMED]:
            yield Evidence(f"CPU use of {replica}", before.get((replica,)), busy, "ratio")
