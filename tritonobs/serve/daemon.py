"""`tritonobs serve`: one process, one event loop, nothing on disk."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import signal
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import h11
import uvicorn
from prometheus_client import disable_created_metrics

from tritonobs.clients.dingtalk import DingTalk
from tritonobs.clients.relay import Relay
from tritonobs.errors import TritonobsError
from tritonobs.serve.app import make_app
from tritonobs.serve.config import Served, Watcher, load_served
from tritonobs.serve.delivery import Delivery
from tritonobs.serve.exposition import ObjectivePage
from tritonobs.serve.limits import LiveLimits
from tritonobs.serve.metrics import DeliveryMetrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from starlette.types import ASGIApp, Receive, Scope, Send

_log = logging.getLogger(__name__)
_LAST_ANSWERS_SECONDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Listen:
    """Where to listen. Other machines are let in only with credentials, or when `without_auth` says so."""

    host: str = "127.0.0.1"
    port: int | None = None
    """That of `addresses.serve` in the fleet file, when None; any free one, when 0."""
    without_auth: bool = False


class Daemon:
    """What the HTTP surface works with. Made inside the event loop."""

    def __init__(self, path: Path, served: Served, dingtalk: DingTalk) -> None:
        self.served = served
        self.stopping = False
        self.metrics = DeliveryMetrics()
        self.delivery = Delivery(served, dingtalk, self.metrics)
        self.watcher = Watcher(path, served, self.apply, self.metrics)
        self.limits = LiveLimits(path, served.plan)
        self.metrics.registry.register(self.limits)
        self._objectives = ObjectivePage()
        self.relay = Relay()
        self._dingtalk = dingtalk

    def objectives(self) -> bytes:
        """The plan's part of the metrics page, with the limits from wherever else they come."""
        return self._objectives.text(self.limits.merged(self.served.plan))

    def apply(self, served: Served) -> None:
        """Use a fleet file that was loaded anew."""
        self.served = served
        self.delivery.apply(served)
        self.limits.apply(served.plan)

    async def close(self) -> None:
        """Answer every waiting call; take no more."""
        self.stopping = True
        await self.delivery.close()
        self.limits.close()
        self._dingtalk.close()
        self.relay.close()


def run(
    path: Path, listen: Listen, *, dingtalk_url: str = "", ready: Callable[[str], None] = lambda _: None
) -> None:
    """Serve until SIGTERM or SIGINT; `ready` gets the address once it listens.

    Raises:
        SpecInvalid: the fleet file or a template cannot be used.
        SecretUnusable: a secret is missing or readable by every user.
        TritonobsError: the address cannot be listened at, or must not be without credentials.
    """
    disable_created_metrics()  # type: ignore[no-untyped-call] # prometheus_client types it not
    served = load_served(path)
    if served.gate is None and not listen.without_auth and not _loopback(listen.host):
        raise TritonobsError(
            f"{listen.host} lets other machines post alerts without credentials; "
            "add notify.auth to the fleet file, or say --without-auth"
        )
    with _listening(listen, urlsplit(served.plan.addresses.serve_url).port or 80) as listener:
        # It listens already: who connects from now on is answered as soon as the loop runs.
        ready(_url(listener))
        asyncio.run(_serve(path, served, DingTalk(base_url=dingtalk_url), listener))


async def _serve(path: Path, served: Served, dingtalk: DingTalk, listener: socket.socket) -> None:
    daemon = Daemon(path, served, dingtalk)
    config = uvicorn.Config(
        _forgiving(make_app(daemon)),
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=_LAST_ANSWERS_SECONDS,
    )
    server = _Server(config)
    ends: set[asyncio.Task[None]] = set()

    async def end() -> None:
        await daemon.close()
        server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lambda: ends.add(loop.create_task(end())))
    watching = loop.create_task(daemon.watcher.run())
    try:
        await server.serve(sockets=[listener])
    finally:
        watching.cancel()


def _forgiving(app: ASGIApp) -> ASGIApp:
    """Where a caller broke HTTP in the middle of its request, uvicorn has answered 400: ours goes nowhere."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        except h11.LocalProtocolError as error:
            _log.info("a caller broke off in the middle of its request: %s", error)

    return answer


class _Server(uvicorn.Server):
    """Leaves signals to us: waiting calls are answered before the connections close."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing."""
        yield


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _listening(listen: Listen, usual_port: int) -> socket.socket:
    port = usual_port if listen.port is None else listen.port
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    try:
        return socket.create_server((listen.host, port), family=family, backlog=1024)
    except OSError as error:
        raise TritonobsError(f"cannot listen at {listen.host}:{port}: {error.strerror}") from None


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
