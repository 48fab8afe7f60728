"""How long the phases of requests took, counted by model, version, replica and phase.

The metrics page shows it in OpenMetrics: histograms with exemplars.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector, CollectorRegistry
from prometheus_client.samples import Exemplar as OpenMetricsExemplar
from prometheus_client.utils import floatToGoString

from tritonobs import names
from tritonobs.extensions.traces.call import Call, Phase

if TYPE_CHECKING:
    from tritonobs.extensions.traces.receiver import Receiver

MOST_SUBJECTS = 1000
"""Versions of models on replicas; a fleet of 30 models on 30 replicas has 900."""
_IDLE_SECONDS = 3600.0
_WEIGHT_SECONDS = 300.0

CONTENT_TYPE = CONTENT_TYPE_LATEST
_SUBJECT = (names.MODEL, names.VERSION, names.REPLICA)
_INFINITY = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Subject:
    """A version of a model on one replica."""

    model: str
    version: str
    replica: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemplar:
    """One request that took `seconds`, by its trace; `at` is Unix seconds."""

    trace_id: str
    seconds: float
    at: float


@dataclass(slots=True, kw_only=True)
class Times:
    """The counts of one phase; the last one is above all bounds."""

    counts: list[float]
    exemplars: list[Exemplar | None]
    seconds: float = 0.0

    def add(self, place: int, weight: float, exemplar: Exemplar) -> None:
        """One request that represents `weight` of them."""
        self.counts[place] += weight
        self.seconds += weight * exemplar.seconds
        self.exemplars[place] = exemplar


@dataclass(slots=True, kw_only=True)
class Tally:
    """All counts of one subject."""

    seen: float
    phases: dict[Phase, Times] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)
    samples: int = 0
    weights: tuple[float, float] = (0.0, 0.0)
    """The largest weight of this span of _WEIGHT_SECONDS and of the one before."""
    weights_since: float = 0.0


class Histograms:
    """What the metrics page shows. Not for several threads at once."""

    def __init__(
        self,
        bounds: Sequence[float],
        *,
        most_subjects: int = MOST_SUBJECTS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.bounds = tuple(bounds)
        self.subjects: dict[Subject, Tally] = {}
        self.refused = 0
        """Requests of subjects beyond `most_subjects`."""
        self._most = most_subjects
        self._clock = clock

    def add(self, replica: str, call: Call, weight: float) -> None:
        """Count one call as `weight` of them."""
        now = self._clock()
        tally = self._tally(Subject(model=call.model, version=call.counted_version, replica=replica), now)
        if tally is None:
            self.refused += 1
            return
        tally.seen = now
        tally.samples += 1
        tally.outcomes[call.outcome] += weight  # type: ignore[assignment] # a Counter counts floats as well
        # Rules divide bad requests by the largest weight: an old one must not hide them forever.
        if now - tally.weights_since >= _WEIGHT_SECONDS:
            tally.weights, tally.weights_since = (0.0, tally.weights[0]), now
        tally.weights = (max(tally.weights[0], weight), tally.weights[1])
        if call.outcome == "rejected":
            # It took no time: nothing was done.
            return
        for phase, interval in call.phases.items():
            times = tally.phases.get(phase) or self._times(tally, phase)
            exemplar = Exemplar(
                trace_id=call.trace_id, seconds=interval.seconds, at=call.request.end_ns / 1e9
            )
            times.add(bisect_left(self.bounds, interval.seconds), weight, exemplar)

    def copied(self) -> dict[Subject, Tally]:
        """Everything as it is now: what is counted later does not change it."""
        return {
            subject: replace(
                tally,
                outcomes=Counter(tally.outcomes),
                phases={
                    phase: replace(times, counts=list(times.counts), exemplars=list(times.exemplars))
                    for phase, times in tally.phases.items()
                },
            )
            for subject, tally in self.subjects.items()
        }

    def rebound(self, bounds: Sequence[float]) -> None:
        """Begin again with other bounds, unless they are the same: a fleet file has another threshold."""
        if tuple(bounds) != self.bounds:
            self.bounds, self.subjects = tuple(bounds), {}

    def _tally(self, subject: Subject, now: float) -> Tally | None:
        tally = self.subjects.get(subject)
        if tally is None:
            if len(self.subjects) >= self._most:
                self._forget_idle(now)
            # The first ones stay: invented names cannot displace a model with requests.
            if len(self.subjects) >= self._most:
                return None
            tally = self.subjects[subject] = Tally(seen=now, weights_since=now)
        return tally

    def _forget_idle(self, now: float) -> None:
        """Make room in the places of models that no client sends requests any more."""
        oldest = min(self.subjects, key=lambda subject: self.subjects[subject].seen)
        if now - self.subjects[oldest].seen > _IDLE_SECONDS:
            del self.subjects[oldest]

    def _times(self, tally: Tally, phase: Phase) -> Times:
        size = len(self.bounds) + 1
        times = tally.phases[phase] = Times(counts=[0.0] * size, exemplars=[None] * size)
        return times


class TracesPage(Collector):
    """The contents of a receiver, as series."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def text(self) -> bytes:
        """The page."""
        text: bytes = generate_latest(self._registry)  # type: ignore[no-untyped-call] # it has no types
        return text

    def collect(self) -> Iterator[Metric]:
        """One family per name."""
        # Copied under the lock and written without it: the page of a large fleet takes a second.
        with self._receiver.lock:
            bounds, tallies = self._receiver.histograms.bounds, self._receiver.histograms.copied()
        yield from _families(bounds, tallies)
        yield from _own(self._receiver)

    def describe(self) -> Iterator[Metric]:
        """Nothing: names are known when the page is requested."""
        return iter(())


def _families(bounds: Sequence[float], tallies: Mapping[Subject, Tally]) -> Iterator[Metric]:
    edges = tuple(map(floatToGoString, (*bounds, _INFINITY)))
    duration = HistogramMetricFamily(
        names.TRACE_DURATION,
        "Seconds of traced requests by phase, each weighted by the requests it represents.",
        labels=(*_SUBJECT, names.PHASE),
    )
    requests = CounterMetricFamily(
        # prometheus_client appends `_total` itself.
        names.TRACE_REQUESTS.removesuffix("_total"),
        "Requests that the traced ones represent, by outcome.",
        labels=(*_SUBJECT, names.OUTCOME),
    )
    samples = CounterMetricFamily(
        names.TRACE_SAMPLES.removesuffix("_total"), "Traced requests.", labels=_SUBJECT
    )
    weight = GaugeMetricFamily(
        names.TRACE_WEIGHT,
        "The most requests that one traced in the last minutes represents.",
        labels=_SUBJECT,
    )
    for subject, tally in tallies.items():
        labels = (subject.model, subject.version, subject.replica)
        for phase, times in tally.phases.items():
            duration.add_metric((*labels, phase), _buckets(edges, times), times.seconds)
        for outcome, count in tally.outcomes.items():
            requests.add_metric((*labels, outcome), count)
        samples.add_metric(labels, tally.samples)
        weight.add_metric(labels, max(tally.weights))
    yield from (duration, requests, samples, weight)


def _buckets(
    edges: tuple[str, ...], times: Times
) -> list[tuple[str, float] | tuple[str, float, OpenMetricsExemplar]]:
    return [
        (edge, count, OpenMetricsExemplar({"trace_id": example.trace_id}, example.seconds, example.at))
        if example
        else (edge, count)
        for edge, count, example in zip(edges, accumulate(times.counts), times.exemplars, strict=True)
    ]


def _own(receiver: Receiver) -> Iterator[Metric]:
    """Counters of what the receiver did with the spans that were sent to it."""
    rate = GaugeMetricFamily(
        names.TRACE_RATE,
        "One in how many requests to the model is traced, as its server says; 0 while none is.",
        labels=(names.MODEL, names.REPLICA),
    )
    for (replica, model), every in receiver.settings.items():
        rate.add_metric((model, replica), every)
    yield rate
    yield CounterMetricFamily(
        names.TRACE_SPANS.removesuffix("_total"), "Spans that were read.", value=receiver.spans
    )
    dropped = CounterMetricFamily(
        names.TRACE_DROPPED.removesuffix("_total"),
        "What was not counted: bodies without room or not OTLP, spans without their request, "
        "requests of too many models.",
        labels=(names.REASON,),
    )
    # Known reasons are shown at 0 from the start, so that `increase` sees their first.
    lost = {
        "full": receiver.queue.lost,
        "models": receiver.histograms.refused,
        **{reason: receiver.refused[reason] for reason in ("unreadable", "too_large")},
        **{reason: receiver.assembler.lost[reason] for reason in ("incomplete", "clock")},
        **receiver.refused,
    }
    for reason, count in lost.items():
        dropped.add_metric((reason,), count)
    yield dropped
    yield CounterMetricFamily(
        names.TRACE_UNWEIGHTED.removesuffix("_total"),
        "Traced requests counted once, because their server could not be asked for its rate.",
        value=receiver.rates.unknown,
    )
    yield GaugeMetricFamily(names.TRACE_WAITING, "Bodies that wait to be read.", value=len(receiver.queue))
    if receiver.forwarder is None:
        return
    forwarded = CounterMetricFamily(
        names.TRACE_FORWARDED.removesuffix("_total"),
        "Bodies for the collector, by outcome.",
        labels=(names.OUTCOME,),
    )
    for outcome, count in (
        ("sent", receiver.forwarder.sent),
        ("refused", receiver.forwarder.refused),
        ("lost", receiver.forwarder.queue.lost),
    ):
        forwarded.add_metric((outcome,), count)
    yield forwarded
    yield GaugeMetricFamily(
        names.TRACE_FORWARD_WAITING,
        "Bodies that wait for the collector.",
        value=len(receiver.forwarder.queue),
    )
