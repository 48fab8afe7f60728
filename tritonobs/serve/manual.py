"""Runbooks and pages of the checks, so that links in messages need no other server."""

from __future__ import annotations

import html
import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

from markdown_it import MarkdownIt
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from tritonobs import assets
from tritonobs.errors import TimedOut
from tritonobs.tasks.threads import Threads

if TYPE_CHECKING:
    from starlette.requests import Request

_KINDS: Final = ("runbooks", "checks")
_INDEX: Final = "README"
_READ_SECONDS: Final = 5.0
_CHINESE: Final = "\n## 中文\n"
_NAME = re.compile(r"[A-Za-z_]+")
_LINK = re.compile(r'href="([A-Za-z_]+)\.md(#[^"]*)?"')
_ELSEWHERE = re.compile(r'<a href="\.\./[^"]*">(.*?)</a>')
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
_PAGE = """<!doctype html>
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
    """A page as HTML, both languages on it; None where there is none of this name."""
    file = assets.folder(kind) / f"{name}.md"
    if not _NAME.fullmatch(name) or not file.is_file():
        return None
    text = file.read_text(encoding="utf-8")
    if chinese and _CHINESE in text:
        english, other = text.split(_CHINESE)
        title, _, rest = english.partition("\n")
        text = f"{title}\n{_CHINESE}{other}\n## English\n{rest}"
    body = _LINK.sub(lambda found: f'href="/{kind}/{found[1]}{found[2] or ""}"', _MARKDOWN.render(text))
    # What lies beside these folders is not served.
    body = _ELSEWHERE.sub(r"\1", body)
    return _PAGE.format(title=html.escape(name), body=body, language="zh" if chinese else "en")
