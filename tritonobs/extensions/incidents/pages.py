"""Incidents as pages of `tritonobs serve`, for people who come from a message: no JavaScript, any screen."""

from __future__ import annotations

import time
import zoneinfo
from collections.abc import Mapping, Sequence
from datetime import timezone, tzinfo
from typing import TYPE_CHECKING, Protocol

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from tritonobs.errors import TritonobsError
from tritonobs.extensions.incidents import account
from tritonobs.extensions.incidents.pictures import Picture, Pictures
from tritonobs.extensions.incidents.recorder import Entry, Recorded, entry_of
from tritonobs.extensions.incidents.words import ENGLISH, LANGUAGES, Words
from tritonobs.report.formats import template
from tritonobs.tasks import Threads
from tritonobs.units import format_clock, format_moment

if TYPE_CHECKING:
    from tritonobs.extensions.incidents.cost import Cost
    from tritonobs.extensions.incidents.incident import Incident
    from tritonobs.extensions.incidents.recorder import Recorder
    from tritonobs.plan.fleet import Plan

_READ_SECONDS = 5.0
_REFRESH_SECONDS = 15
_SOON_SECONDS = 3
"""While pictures are being drawn."""
_MOST_LISTED = 200


class Source(Protocol):
    """Where the pages have incidents from."""

    @property
    def incidents(self) -> tuple[Incident, ...]:
        """Those that this process knows."""

    @property
    def recorder(self) -> Recorder | None:
        """The folder in which they are kept, if there is one."""

    @property
    def bills(self) -> Mapping[str, Cost]:
        """What those cost that are over, by id."""

    @property
    def plan(self) -> Plan:
        """The plan in use."""

    @property
    def pictures(self) -> Pictures:
        """What draws them."""


def routes(source: Source) -> list[Route]:
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
) -> str:
    """The incident as HTML that needs nothing else; it loads itself again every `refresh` seconds, if any.

    `silence` is the address where a silence of the incident is made.
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
    )


def _entries(source: Source) -> list[Entry]:
    """Those that this process knows, and those that are kept; the latest first."""
    now = time.time()
    bills = source.bills
    known = {one.id: entry_of(one, now, bills.get(one.id)) for one in source.incidents}
    kept = source.recorder.entries()[0] if source.recorder else ()
    every = {**{entry.id: entry for entry in kept}, **known}
    return sorted(every.values(), key=lambda entry: -entry.began)[:_MOST_LISTED]


def _found(source: Source, ident: str) -> Recorded | None:
    readings = {}
    try:
        kept = source.recorder.load(ident) if source.recorder else None
    except TritonobsError:
        kept = None
    if kept:
        readings = dict(kept.readings)
    live = next((one for one in source.incidents if ident == one.id or ident in one.joined), None)
    if live:
        return Recorded(entry=entry_of(live, time.time(), source.bills.get(live.id)), readings=readings)
    return kept
