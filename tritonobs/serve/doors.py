"""Admission to an application, and broken connections: the same for all our servers."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import h11
from starlette.responses import PlainTextResponse

from tritonobs.serve.hosts import is_known

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from starlette.types import ASGIApp, Receive, Scope, Send

_log = logging.getLogger(__name__)


class KnownHosts:
    """Refuses who calls this machine by a name it does not have."""

    def __init__(
        self, app: ASGIApp, names: Callable[[], Collection[str]], refused: Callable[[], None]
    ) -> None:
        self._app, self._names, self._refused = app, names, refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or answer 421."""
        headers: dict[bytes, bytes] = dict(scope.get("headers", ()))
        host = headers.get(b"host", b"").decode("latin-1")
        here = (scope.get("server") or ("",))[0]
        if is_known(host, self._names(), here):
            await self._app(scope, receive, send)
            return
        self._refused()
        _log.warning("a call for host %r was refused; addresses.serve_names can allow it", host[:100])
        answer = PlainTextResponse("this is not served here; see addresses.serve_names\n", 421)
        await answer(scope, receive, send)


def forgiving(app: ASGIApp) -> ASGIApp:
    """Where a caller broke HTTP in the middle of its request, uvicorn has answered 400: ours goes nowhere."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        except h11.LocalProtocolError as error:
            _log.info("a caller broke off in the middle of its request: %s", error)

    return answer
