"""`tritonobs traces serve`: the receiver of traces as a process of its own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from prometheus_client import disable_created_metrics
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tritonobs.serve.doors import KnownHosts, forgiving
from tritonobs.serve.hosts import known_names
from tritonobs.serve.server import Listen, listening, until_told, url_of
from tritonobs.serve.traces import trace_routes
from tritonobs.tasks.supervisor import Supervisor
from tritonobs.traces.receiver import Receiver

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from starlette.requests import Request

    from tritonobs.plan.fleet import Plan


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
    receiver, names = Receiver(plan, supervisor), known_names(plan)

    def dropped(reason: str) -> None:
        receiver.refused[reason] += 1

    async def healthy(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def close() -> None:
        supervisor.close()
        receiver.close()

    app = Starlette(
        routes=[*trace_routes(receiver), Route("/healthz", healthy)],
        middleware=[Middleware(KnownHosts, names=lambda: names, refused=lambda: dropped("unknown_host"))],
    )
    await until_told(forgiving(app), listener, dropped=dropped, close=close)
