"""The HTTP surface."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from tritonobs.serve.discovery import target_groups
from tritonobs.serve.webhook import pass_on, receive

if TYPE_CHECKING:
    from starlette.requests import Request

    from tritonobs.serve.daemon import Daemon


def make_app(daemon: Daemon) -> Starlette:
    """The application of one daemon."""

    async def dingtalk(request: Request) -> Response:
        return await receive(request, daemon)

    async def webhook(request: Request) -> Response:
        return await pass_on(request, daemon)

    async def metrics(_: Request) -> Response:
        daemon.delivery.measure()
        objectives = await asyncio.to_thread(daemon.objectives)
        page = generate_latest(daemon.metrics.registry) + objectives
        return Response(page, headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})

    async def discovery(_: Request) -> Response:
        return JSONResponse(target_groups(daemon.served.plan.replicas))

    async def healthy(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(_: Request) -> Response:
        return PlainTextResponse("stopping\n", 503) if daemon.stopping else PlainTextResponse("ready\n")

    return Starlette(
        routes=[
            Route("/alertmanager/dingtalk/{robot}", dingtalk, methods=["POST"]),
            Route("/alertmanager/webhook/{webhook}", webhook, methods=["POST"]),
            Route("/metrics", metrics),
            Route("/sd/triton", discovery),
            Route("/healthz", healthy),
            Route("/readyz", ready),
        ]
    )
