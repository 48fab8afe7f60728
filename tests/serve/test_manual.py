"""Runbooks and checks, served by `tritonobs serve` itself."""

from __future__ import annotations

import asyncio
from urllib.parse import unquote

import pytest
from starlette.applications import Starlette

from tritonobs import assets, names
from tritonobs.serve.app import manual_page, manual_routes
from tritonobs.spec.rules import ALERTS


def _get(path: str) -> tuple[int, str]:
    """Status and text, as a server would get them from the application."""
    path, _, query = path.partition("?")
    sent: list[dict] = []

    async def receive() -> dict:
        return {"type": "http.request", "body": b""}

    async def send(message: dict) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "headers": [],
        "http_version": "1.1",
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "server": ("127.0.0.1", 80),
        "root_path": "",
    }
    asyncio.run(Starlette(routes=manual_routes())(scope, receive, send))
    body = b"".join(message.get("body", b"") for message in sent)
    return sent[0]["status"], body.decode()


@pytest.mark.parametrize("alert", [*ALERTS, *names.SHARD_ALERTS, *names.AGENT_ALERTS])
def test_every_alert_has_its_page_in_both_languages(alert: str) -> None:
    """The link in a message leads to meaning, diagnosis and what to do, not to somebody's GitHub."""
    page = _get(f"/runbooks/{alert}")[1]

    assert f"<h1>{alert}</h1>" in page
    assert page.index("<h2>Meaning</h2>") < page.index("<h2>中文</h2>") < page.index("<h3>处理</h3>")


@pytest.mark.parametrize("check", sorted(page.stem for page in assets.folder("checks").glob("[a-z]*.md")))
def test_every_check_has_its_page(check: str) -> None:
    """What triage names can be read about."""
    assert f"<h1>{check}</h1>" in _get(f"/checks/{check}")[1]


def test_who_reads_chinese_gets_it_first() -> None:
    """English stands below."""
    page = _get("/runbooks/TritonServerDown?lang=zh")[1]

    assert page.index("<h3>含义</h3>") < page.index("<h2>English</h2>") < page.index("<h2>Meaning</h2>")
    assert '<html lang="zh">' in page


def test_links_between_pages_lead_to_pages() -> None:
    """`TritonStageSlow.md` is /runbooks/TritonStageSlow; what is not served is no link."""
    page = _get("/runbooks/TritonErrorBudgetBurnFast")[1]

    assert 'href="/runbooks/TritonStageSlow"' in page
    assert _get("/runbooks/TritonStageSlow")[0] == 200
    assert ".md" not in page
    assert "href=" in _get("/runbooks")[1]


@pytest.mark.parametrize("kind", ["runbooks", "checks"])
@pytest.mark.parametrize(
    "name",
    [
        *("Nothing", "..%2Fon-call", "..%2F..%2Fpyproject.toml", "a b", "%00"),
        # More than a file system accepts as a name, or as a path.
        *("x" * 101, "x" * 300, "x" * 5000),
    ],
    ids=lambda name: name[:20] + f" {len(name)}" * (len(name) > 20),
)
def test_a_name_that_is_no_page_is_none(kind: str, name: str) -> None:
    """Nothing beside the two folders can be read."""
    assert _get(f"/{kind}/{name}")[0] == 404
    assert manual_page("runbooks", "../on-call") is None
