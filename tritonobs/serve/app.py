"""The HTTP surface, with runbooks and pages of the checks, so that links in messages need no other server."""

from __future__ import annotations

import html
import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

from markdown_it import MarkdownIt
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from tritonobs import assets
from tritonobs.chats.registry import robot_chats
from tritonobs.errors import TimedOut
from tritonobs.serve.server import KnownHosts, forgiving
from tritonobs.serve.webhook import pass_on, receive
from tritonobs.tasks.threads import Threads

if TYPE_CHECKING:
    from tritonobs.serve.daemon import Daemon

_PAGE_SECONDS = 9.0
"""A little less than Prometheus' usual timeout."""

_KINDS: Final = ("runbooks", "checks")
_INDEX: Final = "README"
_READ_SECONDS: Final = 5.0
_CHINESE: Final = "\n## 中文\n"
_MANUAL_NAME = re.compile(r"[A-Za-z_]+")
_LINK = re.compile(r'href="([A-Za-z_]+)\.md(#[^"]*)?"')
_ELSEWHERE = re.compile(r'<a href="\.\./[^"]*">(.*?)</a>')
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
_MANUAL = """<!doctype html>
<html lang="{language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 48em; margin: 2em auto; padding: 0 1em; }}
pre {{ background: #f4f4f4; padding: .7em; overflow-x: auto; }} code {{ background: #f4f4f4; }}
table {{ border-collapse: collapse; }} td, th {{ border: 1px solid #ccc; padding: .2em .5em; text-align:
left; }} @media (prefers-color-scheme: dark) {{
body {{ background: #111; color: #ddd; }} a {{ color: #8bf; }} pre, code {{ background: #222; }}
}}
</style></head><body>{body}</body></html>
"""


def make_app(daemon: Daemon) -> ASGIApp:
    """The application of one daemon."""

    def robots_of(chat: str) -> Route:
        async def receiver(request: Request) -> Response:
            return await receive(request, daemon, chat)

        return Route(f"/alertmanager/{chat}/{{robot}}", receiver, methods=["POST"])

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
        # Prometheus keeps its targets after any answer but 200.
        return PlainTextResponse("no targets\n", 503) if groups is None else JSONResponse(groups)

    async def healthy(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(_: Request) -> Response:
        return PlainTextResponse(*_readiness(daemon))

    def refused() -> None:
        daemon.metrics.refused("unknown_host")

    app = Starlette(
        routes=[
            *(robots_of(chat.name) for chat in robot_chats()),
            Route("/alertmanager/webhook/{webhook}", webhook, methods=["POST"]),
            Route("/metrics", metrics),
            Route("/sd/triton", discovery),
            Route("/healthz", healthy),
            Route("/readyz", ready),
            *(route for part in daemon.parts for route in part.routes()),
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
    """Ready while calls are accepted. A failing task is reported, but does not end readiness."""
    if daemon.stopping:
        return "stopping\n", 503
    lines = [
        f"task {one.task}: failing since {one.since:%Y-%m-%dT%H:%M:%SZ}: {' '.join(one.reason.split())}\n"
        for one in daemon.supervisor.failing()
    ]
    return "".join([f"ready, with {len(lines)} failing tasks\n" if lines else "ready\n", *lines]), 200


def manual_routes() -> list[Route]:
    """`/runbooks/ALERT` and `/checks/CHECK`, each with an index; `?lang=zh` shows the Chinese part first."""
    threads = Threads("runbooks", most=2)

    async def answer(request: Request) -> Response:
        try:
            return await threads.run(partial(_answer, request), seconds=_READ_SECONDS)
        except TimedOut as error:
            return PlainTextResponse(f"{error}\n", 503)

    return [
        route
        for kind in _KINDS
        for route in (
            Route(f"/{kind}", answer, name=f"{kind} index"),
            Route(f"/{kind}/{{name}}", answer, name=kind),
        )
    ]


def _answer(request: Request) -> Response:
    kind = request.url.path.split("/")[1]
    name = request.path_params.get("name", _INDEX).removesuffix(".md")
    page = manual_page(kind, name, chinese=request.query_params.get("lang") == "zh")
    if page is None:
        return PlainTextResponse(f"there is no page {name!r} here; /{kind} lists them\n", 404)
    return HTMLResponse(page)


@lru_cache(maxsize=256)
def manual_page(kind: str, name: str, *, chinese: bool = False) -> str | None:
    """A page as HTML, both languages on it; None where no page has this name."""
    file = assets.folder(kind) / f"{name}.md"
    if not _MANUAL_NAME.fullmatch(name) or not file.is_file():
        return None
    text = file.read_text(encoding="utf-8")
    if chinese and _CHINESE in text:
        english, other = text.split(_CHINESE)
        title, _, rest = english.partition("\n")
        text = f"{title}\n{_CHINESE}{other}\n## English\n{rest}"
    body = _LINK.sub(lambda found: f'href="/{kind}/{found[1]}{found[2] or ""}"', _MARKDOWN.render(text))
    # Files outside these folders are not served.
    body = _ELSEWHERE.sub(r"\1", body)
    return _MANUAL.format(title=html.escape(name), body=body, language="zh" if chinese else "en")
