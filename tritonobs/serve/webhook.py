"""Alertmanager's calls: let in, read, delivered, answered.

Alertmanager repeats a call after a 5xx or a broken connection and drops it after a 4xx. So 4xx is said only
where repeating cannot help; whatever may be better later is a 503.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse, Response

from tritonobs.clients.secrets import read_secret
from tritonobs.errors import TritonobsError
from tritonobs.serve.payload import MOST_BYTES, read_payload

if TYPE_CHECKING:
    from starlette.requests import Request

    from tritonobs.serve.commit import Committer
    from tritonobs.serve.daemon import Daemon
    from tritonobs.serve.payload import Payload

_BODY_SECONDS = 15.0
_GONE = 499
"""Nobody reads this answer; nginx' number for a caller who left."""


async def receive(request: Request, daemon: Daemon) -> Response:
    """A call to be delivered to a robot."""
    refusal = _unauthorized(request, daemon)
    if refusal:
        return refusal
    committer = daemon.delivery.committer(request.path_params["robot"])
    if committer is None:
        daemon.metrics.refused("unknown_robot")
        return PlainTextResponse("the fleet file has no such robot\n", 404)
    try:
        body = await asyncio.wait_for(_body(request), _BODY_SECONDS)
    except (ClientDisconnect, asyncio.TimeoutError):
        return _come_again("the body did not arrive")
    try:
        payload = read_payload(body)
    except ValueError as error:
        large = len(body) > MOST_BYTES
        daemon.metrics.refused("too_large" if large else "unreadable")
        return PlainTextResponse(f"{error}\n", 413 if large else 400)
    return await _deliver(request, committer, payload)


async def pass_on(request: Request, daemon: Daemon) -> Response:
    """A call for a service whose address is a secret: passed on as it is, answered as the service does."""
    refusal = _unauthorized(request, daemon)
    if refusal:
        return refusal
    relayed = {webhook.name: webhook.secret for webhook in daemon.served.plan.notify.relayed}
    name = request.path_params["webhook"]
    source = relayed.get(name)
    if source is None:
        daemon.metrics.refused("unknown_webhook")
        return PlainTextResponse("the fleet file has no such webhook with a secret address\n", 404)
    try:
        body = await asyncio.wait_for(_body(request), _BODY_SECONDS)
        address = read_secret(file=source.file, env=source.env, owner=f"webhook {name}")
        await asyncio.to_thread(daemon.relay.post, address, body)
    except (ClientDisconnect, asyncio.TimeoutError):
        return _come_again("the body did not arrive")
    except TritonobsError as error:
        daemon.metrics.relayed(name, passed=False)
        return _come_again(str(error))
    daemon.metrics.relayed(name, passed=True)
    return PlainTextResponse("passed on\n")


def _unauthorized(request: Request, daemon: Daemon) -> Response | None:
    gate = daemon.served.gate
    if gate is None or gate.admits(request.headers.get("authorization", "")):
        return None
    daemon.metrics.refused("unauthorized")
    return PlainTextResponse("wrong or no credentials\n", 401, {"WWW-Authenticate": gate.challenge})


async def _body(request: Request) -> bytes:
    """The body; of one that is too large, one byte too many."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk[: MOST_BYTES + 1 - len(body)]
    return bytes(body)


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


def _come_again(reason: str) -> Response:
    return PlainTextResponse(f"not delivered yet: {reason}\n", 503, {"Retry-After": "5"})
