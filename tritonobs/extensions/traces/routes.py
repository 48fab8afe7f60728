"""Triton's traces over HTTP: what servers post, what Prometheus scrapes, and the slowest requests.

They are routes of `tritonobs serve`, or the whole of `tritonobs traces serve`, a process of its own.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from urllib.parse import urlsplit

from prometheus_client import Metric, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector, CollectorRegistry
from prometheus_client.samples import Exemplar
from prometheus_client.utils import floatToGoString
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tritonobs import names
from tritonobs.extensions.traces.forward import Body
from tritonobs.extensions.traces.histograms import Subject, Tally, Times
from tritonobs.extensions.traces.otlp import JSON, MOST_BYTES, reads
from tritonobs.extensions.traces.receiver import Receiver
from tritonobs.extensions.traces.slowest import ANSWER, SPAN_SECONDS
from tritonobs.plan.fleet import Plan, known_names
from tritonobs.serve.parts import Part
from tritonobs.serve.server import Listen, Room, application, listening, until_told, url_of
from tritonobs.tasks import Supervisor, Threads

POST_PATH, METRICS_PATH, SLOW_PATH = "/v1/traces", "/metrics/traces", "/traces/slow"
_BODIES_AT_ONCE = 4
_BODY_SECONDS = 15.0
_PAGE_SECONDS = 9.0


def trace_routes(receiver: Receiver) -> list[Route]:
    """The routes of one receiver."""
    room = Room(MOST_BYTES, most=_BODIES_AT_ONCE * MOST_BYTES)
    page, paging, asking = TracesPage(receiver), Threads("traces page"), Threads("slow requests")

    async def post(request: Request) -> Response:
        return await _take(request, receiver, room)

    async def metrics(_: Request) -> Response:
        text = await paging.run(page.text, seconds=_PAGE_SECONDS)
        return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def slow(request: Request) -> Response:
        try:
            since = float(request.query_params.get("since", SPAN_SECONDS))
            until = float(request.query_params.get("until", 0))
        except ValueError:
            return PlainTextResponse("since and until are numbers of seconds before now\n", 400)
        model = request.query_params.get("model", "")
        found = await asking.run(
            lambda: ANSWER.dump_json(receiver.slow(model, since, until)), seconds=_PAGE_SECONDS
        )
        return Response(found, media_type="application/json")

    return [
        Route(POST_PATH, post, methods=["POST"]),
        Route(METRICS_PATH, metrics),
        Route(SLOW_PATH, slow),
    ]


async def _take(request: Request, receiver: Receiver, room: Room) -> Response:
    """Answered before anything is read: Triton is not kept waiting. Only 429 and 503 mean: send it again."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if complaint := reads(kind):
        return PlainTextResponse(f"{complaint}\n", 415)
    try:
        data = await asyncio.wait_for(room.read(request), _BODY_SECONDS)
    except (ClientDisconnect, asyncio.TimeoutError):
        receiver.refused["body_time"] += 1
        return PlainTextResponse("the body did not arrive\n", 503, {"Connection": "close"})
    if data is None:
        return PlainTextResponse("too many large bodies at once\n", 429)
    if len(data) > MOST_BYTES:
        receiver.refused["too_large"] += 1
        return PlainTextResponse(f"a body has at most {MOST_BYTES} bytes\n", 413)
    body = Body(
        data=data,
        kind=kind,
        encoding=request.headers.get("content-encoding", "").strip().lower(),
        peer=request.client.host if request.client else "",
    )
    if not receiver.take(body):
        return PlainTextResponse("too much waits to be read\n", 429)
    return Response(b"{}" if kind == JSON else b"", headers={"Content-Type": kind})


_SUBJECT = (names.MODEL, names.VERSION, names.REPLICA)


class TracesPage(Collector):
    """The contents of a receiver as series, in OpenMetrics: histograms with exemplars."""

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


def _family(
    kind: type[CounterMetricFamily | GaugeMetricFamily],
    name: str,
    text: str,
    labels: Sequence[str],
    rows: Mapping[tuple[str, ...], float],
) -> Metric:
    family = kind(name, text, labels=labels)
    for values, number in rows.items():
        family.add_metric(values, number)
    return family


_counter, _gauge = partial(_family, CounterMetricFamily), partial(_family, GaugeMetricFamily)


def _families(bounds: Sequence[float], tallies: Mapping[Subject, Tally]) -> Iterator[Metric]:
    edges = tuple(map(floatToGoString, (*bounds, float("inf"))))
    duration = HistogramMetricFamily(
        names.TRACE_DURATION,
        "Seconds of traced requests by phase, each weighted by the requests it represents.",
        labels=(*_SUBJECT, names.PHASE),
    )
    for subject, tally in tallies.items():
        for phase, times in tally.phases.items():
            duration.add_metric((*subject, phase), _buckets(edges, times), times.seconds)
    yield duration
    yield _counter(
        names.TRACE_REQUESTS,
        "Requests that the traced ones represent, by outcome.",
        (*_SUBJECT, names.OUTCOME),
        {
            (*subject, outcome): count
            for subject, tally in tallies.items()
            for outcome, count in tally.outcomes.items()
        },
    )
    yield _counter(
        names.TRACE_SAMPLES,
        "Traced requests.",
        _SUBJECT,
        {subject: tally.samples for subject, tally in tallies.items()},
    )
    yield _gauge(
        names.TRACE_WEIGHT,
        "Largest weight of a sampled request in the last minutes.",
        _SUBJECT,
        {subject: max(tally.weights) for subject, tally in tallies.items()},
    )


def _buckets(edges: tuple[str, ...], times: Times) -> list[tuple[str, float] | tuple[str, float, Exemplar]]:
    return [
        (edge, count, example) if example else (edge, count)
        for edge, count, example in zip(edges, accumulate(times.counts), times.exemplars, strict=True)
    ]


def _own(receiver: Receiver) -> Iterator[Metric]:
    """Counters of what the receiver did with the spans that were sent to it."""
    yield _gauge(
        names.TRACE_RATE,
        "Trace sampling rate N (1 in N requests) as the server reports it; 0 if off.",
        (names.MODEL, names.REPLICA),
        {(model, replica): every for (replica, model), every in receiver.settings.items()},
    )
    yield _counter(names.TRACE_SPANS, "Spans that were read.", (), {(): receiver.spans})
    # Known reasons are shown at 0 from the start, so that `increase` sees their first.
    lost = {
        "full": receiver.queue.lost,
        "models": receiver.histograms.refused,
        **{reason: receiver.refused[reason] for reason in ("unreadable", "too_large")},
        **{reason: receiver.assembler.lost[reason] for reason in ("incomplete", "clock")},
        **receiver.refused,
    }
    yield _counter(
        names.TRACE_DROPPED,
        "Trace data dropped, by reason.",
        (names.REASON,),
        {(reason,): count for reason, count in lost.items()},
    )
    yield _counter(
        names.TRACE_UNWEIGHTED,
        "Traced requests counted once, because their server could not be asked for its rate.",
        (),
        {(): receiver.rates.unknown},
    )
    yield _gauge(names.TRACE_WAITING, "Bodies that wait to be read.", (), {(): len(receiver.queue)})
    if forwarder := receiver.forwarder:
        ended = {"sent": forwarder.sent, "refused": forwarder.refused, "lost": forwarder.queue.lost}
        yield _counter(
            names.TRACE_FORWARDED,
            "Bodies for the collector, by outcome.",
            (names.OUTCOME,),
            {(outcome,): count for outcome, count in ended.items()},
        )
        yield _gauge(
            names.TRACE_FORWARD_WAITING,
            "Bodies that wait for the collector.",
            (),
            {(): len(forwarder.queue)},
        )


class Traced(Receiver, Part):
    """The receiver as a part of `tritonobs serve`."""

    def routes(self) -> list[Route]:
        """What servers post, what Prometheus scrapes, and the slowest requests."""
        return trace_routes(self)


def run(plan: Plan, listen: Listen, *, ready: Callable[[str], None] = lambda _: None) -> None:
    """Receive until SIGTERM or SIGINT; `ready` gets the address once it listens.

    Raises:
        TritonobsError: the address cannot be listened at.
    """
    disable_created_metrics()  # type: ignore[no-untyped-call] # prometheus_client types it not
    with listening(listen, urlsplit(plan.traces.receiver_url).port or 80) as listener:
        ready(url_of(listener))
        asyncio.run(_serve(plan, listener))


async def _serve(plan: Plan, listener: socket.socket) -> None:
    supervisor = Supervisor()
    receiver, known = Receiver(plan, supervisor), known_names(plan)

    def dropped(reason: str) -> None:
        receiver.refused[reason] += 1

    async def healthy(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def close() -> None:
        supervisor.close()
        receiver.close()

    routes = [*trace_routes(receiver), Route("/healthz", healthy)]
    app = application(routes, lambda: known, lambda: dropped("unknown_host"))
    await until_told(app, listener, dropped=dropped, close=close)
