"""No server holds a client for longer than it said, or fills its memory, whatever it answers with."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from support.dingtalk import markdown
from support.evil import Evil, EvilServer
from tritonobs.chats.dingtalk import CHAT
from tritonobs.clients import kubernetes, kubernetes_api, transport
from tritonobs.clients.alertmanager import AlertmanagerClient
from tritonobs.clients.chat import ChatClient
from tritonobs.clients.exposition import ServeClient, read_page
from tritonobs.clients.kubernetes import KubernetesClient
from tritonobs.clients.kubernetes_api import KubernetesApi
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.clients.secrets import Secret
from tritonobs.clients.triton import TritonClient
from tritonobs.errors import ClientError, TimedOut
from tritonobs.plan.kubernetes import ApiServer, usual_kinds

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE_SECONDS = 0.4
FAR_TOO_LONG_SECONDS = 15.0
"""A whole answer of the dripping server takes half an hour."""


def _kubernetes(url: str, folder: Path) -> KubernetesClient:
    (folder / "token").write_text("t")
    server = ApiServer(url=url, token_file=folder / "token", ca_file=folder / "ca")
    return KubernetesClient(KubernetesApi(server), usual_kinds()[0])


CLIENTS = {
    "Triton": lambda url, _: TritonClient(url, timeout_seconds=PATIENCE_SECONDS).stats(),
    "Triton's metrics": lambda url, _: read_page(f"{url}/metrics", timeout_seconds=PATIENCE_SECONDS),
    "Prometheus": lambda url, _: PrometheusClient(url, timeout_seconds=PATIENCE_SECONDS).query("up"),
    "Alertmanager": lambda url, _: AlertmanagerClient(url, timeout_seconds=PATIENCE_SECONDS).alerts(),
    "serve": lambda url, _: ServeClient(url).alerts_named("oncall"),
    "DingTalk": lambda url, _: ChatClient(timeout_seconds=PATIENCE_SECONDS).send(
        CHAT, Secret(f"{url}/robot/send?access_token=t"), None, markdown(title="t", text="t")
    ),
    "a relayed webhook": lambda url, _: ChatClient(timeout_seconds=PATIENCE_SECONDS).pass_on(
        Secret(f"{url}/x"), b"{}"
    ),
    "Kubernetes": lambda url, folder: _kubernetes(url, folder).list(),
    "a watch of Kubernetes": lambda url, folder: list(_kubernetes(url, folder).watch("1", seconds=0)),
}
HARMLESS = {
    ("a relayed webhook", Evil.DEEP),
    *((name, evil) for name in ("serve", "Triton's metrics") for evil in (Evil.DEEP, Evil.WIDE)),
}
"""What the relay's service says is not read; a page of brackets is a page without samples."""


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no parameter is shortened; what would be large is made small."""
    for module in (kubernetes, kubernetes_api):
        monkeypatch.setattr(module, "ANSWER_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(transport, "_CONNECT_TIMEOUT_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr("tritonobs.clients.exposition._POST_SECONDS", PATIENCE_SECONDS)
    for module in (transport, kubernetes_api):
        monkeypatch.setattr(module, "_MOST_BYTES", 2**22)
    monkeypatch.setattr(transport, "_MOST_VALUES", 100_000)
    for module in (kubernetes, kubernetes_api):
        monkeypatch.setattr(module, "MOST_VALUES", 100_000)
    monkeypatch.setattr(kubernetes, "_MOST_LINE_BYTES", 2**20)


@pytest.mark.parametrize("evil", Evil)
@pytest.mark.parametrize("name", CLIENTS)
def test_every_client_ends_soon_and_with_an_error_of_ours(name: str, evil: Evil, tmp_path: Path) -> None:
    """Whatever the server does."""
    with EvilServer(evil) as server:
        began = time.monotonic()
        if (name, evil) in HARMLESS:
            CLIENTS[name](server.url, tmp_path)
        else:
            with pytest.raises(ClientError) as raised:
                CLIENTS[name](server.url, tmp_path)
            assert len(str(raised.value)) < 1000
        assert time.monotonic() - began < FAR_TOO_LONG_SECONDS


@pytest.mark.parametrize("evil", [Evil.DRIPS_HEADERS, Evil.DRIPS_BODY, Evil.DRIPS_UNMEASURED])
@pytest.mark.parametrize("name", sorted(CLIENTS.keys() - {"a relayed webhook"}))
def test_what_was_cut_off_took_too_long(name: str, evil: Evil, tmp_path: Path) -> None:
    """It is no wrong answer: nobody knows the rest of it. What a relay's service says is not read."""
    with EvilServer(evil) as server, pytest.raises(TimedOut):
        CLIENTS[name](server.url, tmp_path)


def test_a_dripping_server_is_told_as_one_that_took_too_long() -> None:
    """Not as a broken connection: it was we who broke it."""
    with (
        EvilServer(Evil.DRIPS_BODY) as server,
        pytest.raises(TimedOut, match=r"GET .*: no whole answer within 0\.8 s$"),
    ):
        PrometheusClient(server.url, timeout_seconds=PATIENCE_SECONDS).query("up")


def test_a_good_answer_after_an_evil_one_is_taken() -> None:
    """The limit of one request is not that of the next, in the same thread and over the same connections."""
    with EvilServer(Evil.DRIPS_BODY) as server:
        client = TritonClient(server.url, timeout_seconds=5 * PATIENCE_SECONDS)
        with pytest.raises(TimedOut):
            client.stats()
        server.evil = Evil.DEEP
        assert client.ready()
