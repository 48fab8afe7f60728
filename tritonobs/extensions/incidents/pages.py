"""Incidents as `tritonobs serve` shows them: pages, their pictures, and series for boards.

Pages are for people who come from a message: no JavaScript, any screen. Two or three panels of boards show an
incident; they are drawn when its page is opened, and kept for a while.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import time
import zoneinfo
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timezone, tzinfo
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from tritonobs import names
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.errors import TritonobsError
from tritonobs.extensions.incidents import account
from tritonobs.extensions.incidents.account import ENGLISH, LANGUAGES, Words
from tritonobs.extensions.incidents.incident import SEVERITIES, CauseKey, Incident, cause_key, find
from tritonobs.extensions.incidents.recorder import Entry, Recorded, entry_of
from tritonobs.outside import shown, whole
from tritonobs.plan.fleet import Plan
from tritonobs.registry import answer
from tritonobs.report.formats import template
from tritonobs.tasks import Threads
from tritonobs.timings.promql import Span
from tritonobs.units import format_clock, format_moment

if TYPE_CHECKING:
    from tritonobs.extensions.incidents.part import Incidents

_READ_SECONDS = 5.0
_REFRESH_SECONDS = 15
_SOON_SECONDS = 3
"""While pictures are being drawn."""
_MOST_LISTED = 200
_log = logging.getLogger(__name__)
_DRAW_SECONDS = 20.0
_PROMETHEUS_SECONDS = 5.0
_FRESH_SECONDS, _OVER_FRESH_SECONDS = 12.0, 120.0
_PATIENCE_SECONDS = 1.5
"""How long the page waits; the next one has them."""
_MOST_KEPT = 20
_MOST_MODELS = 5
_LEAD_SECONDS, _LONGEST_SECONDS = 600.0, 6 * 3600.0
Panel = tuple[str, str]
"""A board and the title of one of its panels, without the window, which depends on the rules."""
_REQUESTS: Final = ("model", "Requests per second and their limit")
_OUTCOMES: Final = ("model", "Outcomes")
_PERCENTILES: Final = ("model", "Percentiles")
_STAGES: Final = ("model", "P99 by stage")
_ERRORS: Final = ("model", "Error ratio by version")
_VERSIONS: Final = ("model", "Traffic by version")
_WHERE: Final = ("model", "Where the time goes")
_WAITING: Final = ("model", "Requests queued and in flight")
_BUSY: Final = ("model", "Model instances busy")
_REPLICAS: Final = ("fleet", "Requests per second by replica")
_PEERS: Final = ("fleet", "Replica compared with its peers")
OF_MODEL: Final = (_REQUESTS, _OUTCOMES, _STAGES)
OF_FLEET: Final = (
    ("fleet", "Requests per second and their limit"),
    _REPLICAS,
    ("fleet", "Latency P99"),
)
OF_CHECK: Final[Mapping[str, tuple[Panel, ...]]] = {
    **dict.fromkeys(("qps_limit", "traffic_surge", "upstream_drop"), (_REQUESTS, _OUTCOMES, _WAITING)),
    **dict.fromkeys(("error_surge", "dead_worker", "budget_burn"), (_ERRORS, _OUTCOMES, _REQUESTS)),
    **dict.fromkeys(
        ("bad_deploy", "slow_version", "reload", "model_gone"), (_ERRORS, _VERSIONS, _PERCENTILES)
    ),
    **dict.fromkeys(
        ("slow_stage", "larger_inputs", "more_boxes", "cache_collapse"), (_STAGES, _WHERE, _REQUESTS)
    ),
    **dict.fromkeys(("queue_saturation", "batch_delay", "batch_too_large"), (_WAITING, _BUSY, _PERCENTILES)),
    **dict.fromkeys(("slow_replica", "slow_machine", "cpu_starved"), (_PEERS, _REPLICAS, _STAGES)),
    **dict.fromkeys(("replica_down", "scrape_problem", "accelerator"), OF_FLEET),
}
"""What shows a cause; the others' is that of any trouble with a model, or with none."""
MOST_NAMED: Final = 20
"""Incidents with a series; of the others there is the number."""
MOST_ALERTS: Final = 200
"""Alerts with a series, over all incidents; boards show the others beside them."""
_LONGEST: Final = 200
_COUNTED: Final = SEVERITIES[2:]
_ROW: Final = ("alertname", names.MODEL, names.VERSION, names.STAGE, names.ROBOT)
"""What a row of the boards' panel of alerts says (`dashboards/signals/alerts.py`)."""


def routes(source: Incidents) -> list[Route]:
    """`/incidents` and `/incidents/ID`."""
    threads = Threads("pages of incidents", most=2)

    async def listed(request: Request) -> Response:
        try:
            entries = await threads.run(lambda: _entries(source), seconds=_READ_SECONDS)
        except TritonobsError as error:
            return PlainTextResponse(f"{error}\n", 503)
        text = template(__package__, "incidents.html").render(
            entries=entries,
            account=account,
            format_moment=format_moment,
            fleet=source.plan.fleet,
            words=_words(request),
            zone=zoneinfo.ZoneInfo(source.plan.notify.timezone),
        )
        return HTMLResponse(text)

    async def one(request: Request) -> Response:
        try:
            found = await threads.run(
                lambda: _found(source, request.path_params["ident"]), seconds=_READ_SECONDS
            )
        except TritonobsError as error:
            return PlainTextResponse(f"{error}\n", 503)
        if found is None:
            return PlainTextResponse("there is no such incident; /incidents lists them\n", 404)
        plan, lasts = source.plan, found.entry.ended is None
        pictures = await source.pictures.of(found.entry, plan)
        page = incident_page(
            found,
            words=_words(request),
            zone=zoneinfo.ZoneInfo(plan.notify.timezone),
            refresh=_SOON_SECONDS if pictures is None else _REFRESH_SECONDS if lasts else 0,
            pictures=pictures or (),
            silence=account.silence(found.entry, plan.addresses.alertmanager_link) if lasts else "",
        )
        return HTMLResponse(page)

    return [Route("/incidents", listed), Route("/incidents/{ident}", one)]


def _words(request: Request) -> Words:
    return LANGUAGES.get(request.query_params.get("lang", ""), ENGLISH)


def incident_page(
    recorded: Recorded,
    *,
    words: Words = ENGLISH,
    zone: tzinfo = timezone.utc,
    refresh: int = 0,
    pictures: Sequence[Picture] = (),
    silence: str = "",
    serve: str | None = "",
) -> str:
    """The incident as HTML that needs nothing else; it loads itself again every `refresh` seconds, if any.

    `silence` is the address where a silence of the incident is made, `serve` that of the process that has the
    runbooks: "" where this page is of the same, None where it is not known.
    """
    entry = recorded.entry
    alerts = sorted({alert.labels.get("alertname", "") for alert in entry.alerts} - {""})
    return template(__package__, "incident.html").render(
        entry=entry,
        readings=recorded.readings,
        account=account,
        alerts=alerts,
        format_clock=format_clock,
        format_moment=format_moment,
        words=words,
        zone=zone,
        refresh=refresh,
        pictures=pictures,
        silence=silence,
        serve=serve,
    )


def _entries(source: Incidents) -> list[Entry]:
    """Those that this process knows, and those that are kept; the latest first."""
    now = time.time()
    bills = source.bills
    known = {one.id: entry_of(one, now, bills.get(one.id)) for one in source.incidents}
    kept = source.recorder.entries()[0] if source.recorder else ()
    every = {**{entry.id: entry for entry in kept}, **known}
    return sorted(every.values(), key=lambda entry: -entry.began)[:_MOST_LISTED]


def _found(source: Incidents, ident: str) -> Recorded | None:
    kept = None
    with suppress(TritonobsError):
        kept = source.recorder.load(ident) if source.recorder else None
    live = find(source.incidents, ident)
    if live:
        entry = entry_of(live, time.time(), source.bills.get(live.id))
        return Recorded(entry=entry, readings=kept.readings if kept else {})
    return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A title, and an SVG that needs nothing else."""

    title: str
    svg: bytes

    @property
    def source(self) -> str:
        """The source of an image, which runs no script, and so no name in it does."""
        return "data:image/svg+xml;base64," + base64.b64encode(self.svg).decode()


def panels(entry: Entry) -> tuple[Panel, ...]:
    """Which panels show this incident."""
    check = entry.causes[0].check if entry.causes else ""
    found = OF_CHECK.get(check, OF_MODEL)
    # The board of models shows some of them.
    return found if entry.models else OF_FLEET


def span(entry: Entry, now: float) -> Span:
    """From some minutes before the trouble until it was over for a while, or until now."""
    end = now if entry.ended is None else min(now, entry.ended + _LEAD_SECONDS / 2)
    return Span(start=max(entry.since - _LEAD_SECONDS, end - _LONGEST_SECONDS), end=end)


def prometheus_of(plan: Plan, **how: Any) -> PrometheusClient:  # noqa: ANN401 (as the client takes it)
    """That of the fleet file; where it gathers several clusters, of this one."""
    label = plan.rules.cluster_label
    cluster = plan.cluster if label else ""
    return PrometheusClient(
        plan.addresses.prometheus_url, cluster=cluster, cluster_label=label or names.CLUSTER, **how
    )


def drawn(entry: Entry, plan: Plan, draw: Callable[..., Any] | None) -> tuple[Picture, ...]:
    """The pictures, as `draw` answers (`tritonobs.registry`); none where nothing draws, or there is no data.

    Raises:
        TritonobsError: Prometheus did not answer, or a library is not installed.
    """
    if draw is None:
        return ()
    client = prometheus_of(plan, timeout_seconds=_PROMETHEUS_SECONDS, retries=0)
    try:
        found = draw(
            client,
            panels(entry),
            entry.models[:_MOST_MODELS],
            span=span(entry, time.time()),
            zone=zoneinfo.ZoneInfo(plan.notify.timezone),
        )
    finally:
        client.close()
    return tuple(Picture(title=title, svg=svg) for title, svg in found)


class Pictures:
    """Draws one incident at a time. Made and used inside one event loop."""

    def __init__(self) -> None:
        self._draw: Callable[..., Any] | None = answer("pictures")
        self._threads = Threads("pictures of incidents")
        self._kept: dict[str, _Kept] = {}
        self._drawing: asyncio.Task[None] | None = None

    async def of(self, entry: Entry, plan: Plan) -> tuple[Picture, ...] | None:
        """The pictures, some seconds old at most; None while they are being drawn.

        Where they cannot be drawn there are none, which the page does without.
        """
        if self._draw is None:
            return ()
        kept = self._kept.get(entry.id)
        if kept is None or kept.old(entry):
            if self._drawing is None or self._drawing.done():
                self._drawing = asyncio.create_task(self._keep(entry, plan))
            await asyncio.wait({self._drawing}, timeout=_PATIENCE_SECONDS)
            kept = self._kept.get(entry.id)
        return kept.pictures if kept else None

    def close(self) -> None:
        """Draw no more."""
        if self._drawing:
            self._drawing.cancel()

    async def _keep(self, entry: Entry, plan: Plan) -> None:
        try:
            found = await self._threads.run(lambda: drawn(entry, plan, self._draw), seconds=_DRAW_SECONDS)
        except Exception as error:  # noqa: BLE001 (the page is shown in any case)
            _log.info("no pictures of incident %s: %s: %s", entry.id, type(error).__name__, error)
            found = ()
        others = {name: one for name, one in self._kept.items() if name != entry.id}
        kept = _Kept(at=time.monotonic(), ended=entry.ended, pictures=found)
        self._kept = dict([*others.items(), (entry.id, kept)][-_MOST_KEPT:])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """Pictures as they were at a moment of the process's clock, of an incident that had ended, or not."""

    at: float
    ended: float | None
    pictures: tuple[Picture, ...]

    def old(self, entry: Entry) -> bool:
        """Whether they show less than there is to see. What is over for long changes no more."""
        return entry.ended != self.ended or time.monotonic() - self.at > (
            _FRESH_SECONDS if entry.ended is None else _OVER_FRESH_SECONDS
        )


class IncidentSeries(Collector):
    """Bounded: one series for each of the worst incidents that go on, another one when its cause changes.

    So are those of their alerts that fire: one for each that boards show.

    The numbers in a sentence move with every look, and each would be a series: so the sentence is the first
    one of its cause.
    """

    def __init__(self) -> None:
        self._incidents: tuple[Incident, ...] = ()
        self._sentences: Mapping[str, tuple[CauseKey | None, str]] = {}

    def show(self, incidents: Iterable[Incident]) -> None:
        """From now on, those of these that go on; the worst first."""
        going_on = tuple(one for one in incidents if one.ended is None)
        self._sentences = {one.id: self._sentence(one) for one in going_on[:MOST_NAMED]}
        self._incidents = going_on

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The number by severity, always; since when each goes on, and since when its alerts fire."""
        # A thread writes the page; the event loop replaces both as a whole.
        incidents, sentences = self._incidents, self._sentences
        count = GaugeMetricFamily(names.INCIDENTS, "Ongoing incidents.", labels=("severity",))
        for severity in _COUNTED:
            count.add_metric((severity,), sum(one.now == severity for one in incidents))
        yield count
        since = GaugeMetricFamily(
            names.INCIDENT_SINCE,
            "When an ongoing incident began.",
            labels=("incident", "severity", "sentence"),
        )
        for one in incidents:
            if one.id in sentences:
                since.add_metric((one.id, one.now, sentences[one.id][1]), one.since)
        yield since
        alerts = GaugeMetricFamily(
            names.INCIDENT_ALERT_SINCE,
            "When a firing alert of an ongoing incident began.",
            labels=("incident", *_ROW),
        )
        rows: dict[tuple[str, ...], float] = {}
        for one in incidents:
            for row, at in _rows(one) if one.id in sentences else ():
                rows.setdefault(row, at)
        for row, at in islice(rows.items(), MOST_ALERTS):
            alerts.add_metric(row, at)
        yield alerts

    def _sentence(self, one: Incident) -> tuple[CauseKey | None, str]:
        key = cause_key(one.cause) if one.cause else None
        known = self._sentences.get(one.id)
        if known and known[0] == key:
            return known
        place = ", ".join((*one.place.models, *one.place.replicas, *one.place.areas)[:3])
        return key, shown(one.cause.sentence if one.cause else place)[:_LONGEST]


def _rows(one: Incident) -> Iterator[tuple[tuple[str, ...], float]]:
    """What boards show of its alerts that fire, and since when; those that began first are the first."""
    for alert in one.alerts:
        texts = [alert.alert.labels.get(label, "") for label in _ROW]
        # A name that is cut is on no board.
        if alert.firing and all(len(text) <= _LONGEST for text in texts):
            yield (one.id, *map(whole, texts)), alert.latest
