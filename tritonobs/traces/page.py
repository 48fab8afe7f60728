"""The metrics page of traced requests, in OpenMetrics: histograms with exemplars."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector, CollectorRegistry
from prometheus_client.samples import Exemplar
from prometheus_client.utils import floatToGoString

from tritonobs import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prometheus_client import Metric

    from tritonobs.traces.histograms import Subject, Tally, Times
    from tritonobs.traces.receiver import Receiver

CONTENT_TYPE = CONTENT_TYPE_LATEST
_SUBJECT = (names.MODEL, names.VERSION, names.REPLICA)
_INFINITY = float("inf")


class TracesPage(Collector):
    """What a receiver has kept, as series."""

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
        """Nothing: names are found out when the page is asked for."""
        return iter(())


def _families(bounds: Sequence[float], tallies: Mapping[Subject, Tally]) -> Iterator[Metric]:
    edges = tuple(map(floatToGoString, (*bounds, _INFINITY)))
    duration = HistogramMetricFamily(
        names.TRACE_DURATION,
        "Seconds of traced requests by phase, each weighted by what it stands for.",
        labels=(*_SUBJECT, names.PHASE),
    )
    requests = CounterMetricFamily(
        # prometheus_client appends `_total` itself.
        names.TRACE_REQUESTS.removesuffix("_total"),
        "Requests that the traced ones stand for, by how they ended.",
        labels=(*_SUBJECT, names.OUTCOME),
    )
    samples = CounterMetricFamily(
        names.TRACE_SAMPLES.removesuffix("_total"), "Traced requests.", labels=_SUBJECT
    )
    weight = GaugeMetricFamily(
        names.TRACE_WEIGHT,
        "The most requests that one traced in the last minutes stands for.",
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


def _buckets(edges: tuple[str, ...], times: Times) -> list[tuple[str, float] | tuple[str, float, Exemplar]]:
    return [
        (edge, count, Exemplar({"trace_id": example.trace_id}, example.seconds, example.at))
        if example
        else (edge, count)
        for edge, count, example in zip(edges, accumulate(times.counts), times.exemplars, strict=True)
    ]


def _own(receiver: Receiver) -> Iterator[Metric]:
    """What became of what was sent here."""
    rate = GaugeMetricFamily(
        names.TRACE_RATE,
        "Every so many requests to the model are traced, as its server says; 0 while none are.",
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
        "What was not counted: bodies without room or that are no OTLP, spans without their request, "
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
        "Bodies for the collector, by what became of them.",
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
