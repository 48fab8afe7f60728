"""Alertmanager's calls: admitted, read, delivered, answered.

Alertmanager repeats a call after a 5xx or a broken connection and drops it after a 4xx. So 4xx is used only
where repeating cannot help; a temporary fault is a 503.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response

from tritonobs.clients.secrets import read_secret
from tritonobs.delivery.commit import Committer
from tritonobs.delivery.payload import Payload, TooLarge, read_payload
from tritonobs.errors import TimedOut, TritonobsError
from tritonobs.plan.notify import SecretSource

if TYPE_CHECKING:
    from tritonobs.serve.daemon import Daemon


_BODY_SECONDS = 15.0
_READ_SECONDS = 20.0
_RELAY_SECONDS = 10.0
_GONE = 499
"""The caller has left and reads no answer; nginx uses the same number."""


async def receive(request: Request, daemon: Daemon, chat: str) -> Response:
    """A call to be delivered to a robot of this chat."""
    refusal = _refused(request, daemon)
    if refusal:
        return refusal
    committer = daemon.delivery.committer(request.path_params["robot"], chat)
    if committer is None:
        daemon.metrics.refused("unknown_robot")
        return PlainTextResponse("the fleet file has no such robot\n", 404)
    body = await _body(request, daemon)
    if isinstance(body, Response):
        return body
    try:
        payload = await daemon.reading.run(lambda: read_payload(body), seconds=_READ_SECONDS)
    except TimedOut:
        return _come_again("too much to read at once")
    except ValueError as error:
        large = isinstance(error, TooLarge)
        daemon.metrics.refused("too_large" if large else "unreadable")
        return PlainTextResponse(f"{error}\n", 413 if large else 400)
    return await _deliver(request, committer, payload)


async def pass_on(request: Request, daemon: Daemon) -> Response:
    """A call for a service whose address is a secret: passed on as it is, answered as the service does."""
    refusal = _refused(request, daemon)
    if refusal:
        return refusal
    relayed = {webhook.name: webhook.secret for webhook in daemon.served.plan.notify.relayed}
    name = request.path_params["webhook"]
    source = relayed.get(name)
    if source is None:
        daemon.metrics.refused("unknown_webhook")
        return PlainTextResponse("the fleet file has no such webhook with a secret address\n", 404)
    body = await _body(request, daemon)
    if isinstance(body, Response):
        return body
    try:
        await daemon.relaying.run(lambda: _relay(daemon, name, source, body), seconds=_RELAY_SECONDS)
    except TritonobsError as error:
        daemon.metrics.relayed(name, passed=False)
        return _come_again(str(error))
    daemon.metrics.relayed(name, passed=True)
    return PlainTextResponse("passed on\n")


def _relay(daemon: Daemon, name: str, source: SecretSource, body: bytes) -> None:
    # Read here, in the thread, because the event loop touches no disk.
    address = read_secret(file=source.file, env=source.env, owner=f"webhook {name}")
    daemon.relay.post(address, body)


def _refused(request: Request, daemon: Daemon) -> Response | None:
    """Why the call is not even read: no credentials, what any web page sends, or another serve delivers."""
    gate = daemon.served.gate
    if gate is not None and not gate.admits(request.headers.get("authorization", "")):
        daemon.metrics.refused("unauthorized")
        return PlainTextResponse("wrong or no credentials\n", 401, {"WWW-Authenticate": gate.challenge})
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        daemon.metrics.refused("no_json")
        return PlainTextResponse("the call needs Content-Type: application/json\n", 415)
    return None if daemon.leading.here else _elsewhere()


async def _body(request: Request, daemon: Daemon) -> bytes | Response:
    try:
        body = await asyncio.wait_for(daemon.room.read(request), _BODY_SECONDS)
    except ClientDisconnect:
        return Response(status_code=_GONE)
    except asyncio.TimeoutError:
        daemon.metrics.dropped("body_time")
        late = _come_again("the body did not arrive")
        # Left open it would wait for the rest of this body.
        late.headers["Connection"] = "close"
        return late
    return _come_again("too many large calls at once") if body is None else body


async def _deliver(request: Request, committer: Committer, payload: Payload) -> Response:
    delivering = asyncio.create_task(committer.commit(payload))
    leaving = asyncio.create_task(_gone(request))
    try:
        await asyncio.wait((delivering, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()
        if not delivering.done():
            delivering.cancel()
    if not delivering.done():
        return Response(status_code=_GONE)
    answer = delivering.result()
    return PlainTextResponse("accepted\n") if answer.accepted else _come_again(answer.reason)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _elsewhere() -> Response:
    """A caller that keeps its connection would come back to this one forever, so it is closed."""
    reason = "not delivered here: another tritonobs serve holds the Lease\n"
    return PlainTextResponse(reason, 503, {"Retry-After": "1", "Connection": "close"})


def _come_again(reason: str) -> Response:
    return PlainTextResponse(f"not delivered yet: {reason}\n", 503, {"Retry-After": "5"})
