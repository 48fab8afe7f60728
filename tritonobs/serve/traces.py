"""Triton's traces over HTTP: what servers post, what Prometheus scrapes, and the slowest requests."""

from __future__ import annotations

import asyncio

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from tritonobs.errors import TimedOut
from tritonobs.serve.room import Room
from tritonobs.tasks.threads import Threads
from tritonobs.traces import kept
from tritonobs.traces.otlp import MOST_BYTES
from tritonobs.traces.page import CONTENT_TYPE, TracesPage
from tritonobs.traces.queue import Body
from tritonobs.traces.receiver import JSON, Receiver, reads
from tritonobs.traces.slowest import SPAN_SECONDS

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
        try:
            text = await paging.run(page.text, seconds=_PAGE_SECONDS)
        except TimedOut as error:
            return PlainTextResponse(f"{error}\n", 503)
        return Response(text, headers={"Content-Type": CONTENT_TYPE})

    async def slow(request: Request) -> Response:
        try:
            since = float(request.query_params.get("since", SPAN_SECONDS))
        except ValueError:
            return PlainTextResponse("since is not a number of seconds\n", 400)
        model = request.query_params.get("model", "")
        try:
            found = await asking.run(
                lambda: kept.to_json(receiver.models(), receiver.slow(model, since)), seconds=_PAGE_SECONDS
            )
        except TimedOut as error:
            return PlainTextResponse(f"{error}\n", 503)
        return JSONResponse(found)

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
