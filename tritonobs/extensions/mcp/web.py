"""The server over streamable HTTP, behind the same doors as `serve`: names of hosts, credentials, limits."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tritonobs.errors import TritonobsError
from tritonobs.outside import is_loopback
from tritonobs.plan.fleet import known_names
from tritonobs.serve.config import read_gate
from tritonobs.serve.server import KnownHosts, Listen, forgiving, listening, until_told, url_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tritonobs.plan.fleet import Plan
    from tritonobs.serve.config import Gate

PATH: Final = "/mcp"
PORT: Final = 9920
_MOST_BODY_BYTES: Final = 65_536
_MOST_SESSIONS, _IDLE_SECONDS = 64, 600.0

_log = logging.getLogger(__name__)


def door(app: ASGIApp, gate: Gate | None) -> ASGIApp:
    """Accepts programs with credentials; refuses browsers, streams without end, and tokens in addresses."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await (_refusal(scope, gate) or app)(scope, receive, send)

    return answer


def _refusal(scope: Scope, gate: Gate | None) -> PlainTextResponse | None:
    headers = {key: value.decode("latin-1") for key, value in scope.get("headers", ())}
    # Pages send their origin, most programs do not. (A page of this machine is as foreign as any other.)
    # The server's own origin belongs to no page: it serves none, and its host's name is known here.
    own = f"http://{headers.get(b'host', '')}"
    if headers.get(b"origin", own) != own:
        return PlainTextResponse("requests of browsers are not answered\n", 403)
    if scope["path"] != PATH:
        return PlainTextResponse(f"it is served at {PATH}\n", 404)
    # Addresses stand in logs of proxies.
    if scope.get("query_string"):
        return PlainTextResponse("an address with a query is not accepted; send a token as a header\n", 400)
    if scope["method"] == "GET":
        return PlainTextResponse("answers come with their requests\n", 405, {"Allow": "POST, DELETE"})
    if gate and not gate.admits(headers.get(b"authorization", "")):
        return PlainTextResponse("credentials are needed\n", 401, {"WWW-Authenticate": gate.challenge})
    return None


def make_app(server: MCPServer[Any], gate: Gate | None, names: Callable[[], Collection[str]]) -> ASGIApp:
    """The application; `server.session_manager.run()` has to be entered while it answers."""
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=_MOST_BODY_BYTES,
        max_sessions=_MOST_SESSIONS,
        session_idle_timeout=_IDLE_SECONDS,
        # KnownHosts and `door` do more than it can.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return forgiving(KnownHosts(door(app, gate), names, lambda: None))


def run(server: MCPServer[Any], plan: Plan | None, listen: Listen, ready: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; `ready` gets the address.

    Raises:
        SecretUnusable: the secret of `notify.auth` is missing or readable by every user.
        TritonobsError: the address cannot be listened at, or must not be without credentials.
    """
    gate = read_gate(plan.notify.auth) if plan else None
    if gate is None and not listen.without_auth and not is_loopback(listen.host):
        raise TritonobsError(
            f"{listen.host} lets other machines ask without credentials; "
            "add notify.auth to the fleet file, or say --without-auth"
        )
    names = listen.names | (known_names(plan) if plan else frozenset())
    with listening(listen, PORT) as listener:
        ready(f"{url_of(listener)}{PATH}")
        asyncio.run(_serve(server, make_app(server, gate, lambda: names), listener))


async def _serve(server: MCPServer[Any], app: ASGIApp, listener: socket.socket) -> None:
    async with server.session_manager.run():
        await until_told(
            app,
            listener,
            dropped=lambda reason: _log.info("a connection was cut: %s", reason),
            close=_nothing,
        )


async def _nothing() -> None:
    """Nothing is kept that has to be put in order at the end."""
