"""The HTTP surface."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from tritonobs.errors import TimedOut
from tritonobs.serve.doors import KnownHosts, forgiving
from tritonobs.serve.manual import manual_routes
from tritonobs.serve.traces import trace_routes
from tritonobs.serve.webhook import pass_on, receive

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp

    from tritonobs.serve.daemon import Daemon


_PAGE_SECONDS = 9.0
"""A little less than Prometheus' usual patience."""


def make_app(daemon: Daemon) -> ASGIApp:
    """The application of one daemon."""

    async def dingtalk(request: Request) -> Response:
        return await receive(request, daemon)

    async def webhook(request: Request) -> Response:
        return await pass_on(request, daemon)

    async def metrics(_: Request) -> Response:
        daemon.delivery.measure()
        try:
            page = await daemon.paging.run(lambda: _page(daemon), seconds=_PAGE_SECONDS)
        except TimedOut as error:
            return PlainTextResponse(f"{error}\n", 503)
        return Response(page, headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})

    async def discovery(_: Request) -> Response:
        groups = daemon.targets.groups(daemon.served.plan)
        # Prometheus keeps what it knows after any answer but 200.
        return PlainTextResponse("no targets\n", 503) if groups is None else JSONResponse(groups)

    async def healthy(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(_: Request) -> Response:
        return PlainTextResponse(*_readiness(daemon))

    def refused() -> None:
        daemon.metrics.refused("unknown_host")

    app = Starlette(
        routes=[
            Route("/alertmanager/dingtalk/{robot}", dingtalk, methods=["POST"]),
            Route("/alertmanager/webhook/{webhook}", webhook, methods=["POST"]),
            Route("/metrics", metrics),
            Route("/sd/triton", discovery),
            Route("/healthz", healthy),
            Route("/readyz", ready),
            *trace_routes(daemon.traces),
            *manual_routes(),
        ],
        middleware=[
            Middleware(KnownHosts, names=lambda: daemon.served.host_names | daemon.names, refused=refused)
        ],
    )
    return forgiving(app)


def _page(daemon: Daemon) -> bytes:
    # Always in the plain text format: two pages in a row are a page there. In OpenMetrics the first one
    # would end with `# EOF`.
    return generate_latest(daemon.metrics.registry) + daemon.objectives()


def _readiness(daemon: Daemon) -> tuple[str, int]:
    """Ready while calls are taken. A failing task is reported, but does not end readiness."""
    if daemon.stopping:
        return "stopping\n", 503
    lines = [
        f"task {one.task}: failing since {one.since:%Y-%m-%dT%H:%M:%SZ}: {' '.join(one.reason.split())}\n"
        for one in daemon.supervisor.failing()
    ]
    return "".join([f"ready, with {len(lines)} failing tasks\n" if lines else "ready\n", *lines]), 200
