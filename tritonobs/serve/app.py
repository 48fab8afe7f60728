"""`tritonobs serve` and its HTTP surface: Alertmanager's calls, metrics, discovery, health, the manual.

Alertmanager repeats a call after a 5xx or a broken connection and drops it after a 4xx. So 4xx is used only
where repeating cannot help; a temporary fault is a 503. Runbooks and pages of the checks are here, so that
links in messages need no other server.
"""

from __future__ import annotations

import asyncio
import html
import re
import socket
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from prometheus_client import disable_created_metrics
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from tritonobs import assets
from tritonobs.chats.registry import robot_chats
from tritonobs.clients.chat import ChatClient
from tritonobs.clients.secrets import read_secret
from tritonobs.delivery.commit import Committer
from tritonobs.delivery.payload import Payload, TooLarge, read_payload
from tritonobs.errors import TimedOut, TritonobsError
from tritonobs.outside import is_loopback
from tritonobs.plan.notify import SecretSource
from tritonobs.serve.config import Served, load_served
from tritonobs.serve.daemon import Daemon, lease_of
from tritonobs.serve.server import Listen, application, listening, until_told, url_of
from tritonobs.tasks import Threads

_PAGE_SECONDS = 9.0
"""A little less than Prometheus' usual timeout."""

_KINDS: Final = ("runbooks", "checks")
_INDEX: Final = "README"
_MANUAL_SECONDS: Final = 5.0
_CHINESE: Final = "\n## 中文\n"
# Bounded, because a file system refuses names above 255 bytes with an error.
_MANUAL_NAME = re.compile(r"[A-Za-z_]{1,100}")
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
        receiver = partial(receive, daemon=daemon, chat=chat)
        return Route(f"/alertmanager/{chat}/{{robot}}", receiver, methods=["POST"])

    async def metrics(_: Request) -> Response:
        daemon.delivery.measure()
        page = await daemon.paging.run(lambda: _page(daemon), seconds=_PAGE_SECONDS)
        return Response(page, headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})

    async def discovery(_: Request) -> Response:
        groups = daemon.targets.groups(daemon.served.plan)
        # Prometheus keeps its targets after any answer but 200.
        return PlainTextResponse("no targets\n", 503) if groups is None else JSONResponse(groups)

    async def healthy(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(_: Request) -> Response:
        return PlainTextResponse(*_readiness(daemon))

    return application(
        [
            *(robots_of(chat.name) for chat in robot_chats()),
            Route("/alertmanager/webhook/{webhook}", partial(pass_on, daemon=daemon), methods=["POST"]),
            Route("/metrics", metrics),
            Route("/sd/triton", discovery),
            Route("/healthz", healthy),
            Route("/readyz", ready),
            *(route for part in daemon.parts for route in part.routes()),
            *manual_routes(),
        ],
        lambda: daemon.served.host_names | daemon.names,
        partial(daemon.metrics.refused, "unknown_host"),
    )


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
        return await threads.run(partial(_answer, request), seconds=_MANUAL_SECONDS)

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
    daemon.client.pass_on(read_secret(source, owner=f"webhook {name}"), body)


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
    if daemon.leading.here:
        return None
    # A caller that keeps its connection would come back to this one forever, so it is closed.
    reason = "not delivered here: another tritonobs serve holds the Lease\n"
    return PlainTextResponse(reason, 503, {"Retry-After": "1", "Connection": "close"})


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


def _come_again(reason: str) -> Response:
    return PlainTextResponse(f"not delivered yet: {reason}\n", 503, {"Retry-After": "5"})


def run(
    path: Path,
    listen: Listen,
    *,
    chat_urls: Mapping[str, str] | None = None,
    ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve until SIGTERM or SIGINT; `ready` gets the address once it listens.

    `chat_urls` are addresses that replace those of chats.

    Raises:
        SpecInvalid: the fleet file or a template cannot be used.
        SecretUnusable: a secret is missing or readable by every user.
        TritonobsError: the address cannot be listened at, or must not be without credentials; or there is no
            API server to ask for the Lease.
    """
    disable_created_metrics()  # type: ignore[no-untyped-call] # prometheus_client types it not
    served = load_served(path)
    if served.gate is None and not listen.without_auth and not is_loopback(listen.host):
        raise TritonobsError(
            f"{listen.host} lets other machines post alerts without credentials; "
            "add notify.auth to the fleet file, or say --without-auth"
        )
    with listening(listen, urlsplit(served.plan.addresses.serve_url).port or 80) as listener:
        # It listens already: clients that connect from now on are answered as soon as the loop runs.
        ready(url_of(listener))
        asyncio.run(_serve(path, served, ChatClient(base_urls=chat_urls or {}), listener, listen))


async def _serve(
    path: Path, served: Served, client: ChatClient, listener: socket.socket, listen: Listen
) -> None:
    daemon = Daemon(path, served, client, lease_of(served.plan, listen.lease))
    daemon.names = listen.names
    await until_told(make_app(daemon), listener, dropped=daemon.metrics.dropped, close=daemon.close)
