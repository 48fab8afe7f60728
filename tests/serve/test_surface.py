"""The HTTP surface of a running daemon, against a strict robot."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from support.programs import ServeProgram
from tritonobs.clients.exposition import parse_page
from tritonobs.extensions.lab.robot import Fault, RobotDouble

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "tok-6f1d2c3b4a"
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
FLEET = """\
fleet: shop
replicas:
  - {name: a, url: "http://10.0.0.1:8000"}
  - {name: b, url: "https://10.0.0.2", metrics_url: "https://10.0.0.2/triton/metrics"}
addresses: {prometheus: "http://127.0.0.1:1"}
models: {inspect: {qps_limit: 8, versions: {"1": {}}}}
notify:
  auth: {token_file: token}
  dingtalk: {oncall: {webhook_file: webhook, secret_file: secret}}
  webhook: {pager: {url_file: pager}}
"""


@pytest.fixture(scope="module")
def robot() -> Iterator[RobotDouble]:
    """A strict robot."""
    with RobotDouble() as robot:
        yield robot


@pytest.fixture(scope="module")
def serve(robot: RobotDouble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeProgram]:
    """A daemon with credentials, a robot and a webhook with a secret address."""
    folder = tmp_path_factory.mktemp("serve")
    pager = robot.webhook_url.replace("/robot/send", "/pager")
    for name, text in (
        ("token", TOKEN),
        ("webhook", robot.webhook_url),
        ("secret", robot.secret),
        ("pager", pager),
    ):
        (folder / name).touch(mode=0o600)
        (folder / name).write_text(text)
    (folder / "fleet.yaml").write_text(FLEET)
    with ServeProgram(folder / "fleet.yaml") as serve:
        yield serve


def _post(serve: ServeProgram, body: object, path: str = "/alertmanager/dingtalk/oncall", **more: object):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return requests.post(serve.url + path, data=data, timeout=40, **{"headers": HEADERS, **more})


def test_call_is_answered_when_the_robot_accepted(serve, robot, alert, body) -> None:
    """200, and the message is there."""
    before = len(robot.messages)
    answer = _post(serve, body(alert(model="first")))
    assert (answer.status_code, answer.text) == (200, "accepted\n")
    assert [("first" in message.text) for message in robot.messages[before:]] == [True]


def test_refusal_is_come_again_with_the_reason(serve, robot, alert, body) -> None:
    """503, what the vendor said, and nothing secret."""
    robot.fail(Fault.UNKNOWN)
    answer = _post(serve, body(alert(model="unknown-errcode")))
    assert answer.status_code == 503
    assert answer.text == "not delivered yet: robot oncall: DingTalk said 987654: something new\n"
    assert answer.headers["Retry-After"] == "5"


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer x"}, {"Authorization": f"Basic {TOKEN}"}])
def test_stranger_is_not_let_in(serve, robot, alert, body, headers: dict[str, str]) -> None:
    """401 before the body is read; nothing is sent."""
    before = len(robot.attempts)
    answer = _post(serve, body(alert()), headers=headers)
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert len(robot.attempts) == before


@pytest.mark.parametrize(
    ("path", "content", "status"),
    [
        pytest.param("/alertmanager/dingtalk/nobody", b"{}", 404, id="unknown robot"),
        pytest.param("/alertmanager/webhook/nobody", b"{}", 404, id="unknown webhook"),
        pytest.param("/alertmanager/dingtalk/oncall", b"{", 400, id="no JSON"),
        pytest.param("/alertmanager/dingtalk/oncall", b"{}", 400, id="no alerts"),
        pytest.param("/alertmanager/dingtalk/oncall", b'{"alerts": []}', 200, id="no alert in alerts"),
        pytest.param("/metrics", b"", 405, id="post to a page"),
        pytest.param("/nowhere", b"", 404, id="no page"),
    ],
)
def test_what_cannot_be_is_4xx(serve, path: str, content: bytes, status: int) -> None:
    """Repeating these would not help."""
    assert _post(serve, content, path).status_code == status


def test_discovery_names_every_replica(serve) -> None:
    """As Prometheus' http_sd wants it."""
    answer = requests.get(f"{serve.url}/sd/triton", timeout=30)
    assert answer.headers["Content-Type"] == "application/json"
    groups = {group["labels"]["replica"]: group for group in answer.json()}
    assert groups["a"]["targets"] == ["10.0.0.1:8002"]
    assert groups["b"]["targets"] == ["10.0.0.2:443"]
    assert groups["b"]["labels"] == {
        "__scheme__": "https",
        "__metrics_path__": "/triton/metrics",
        "replica": "b",
        "cluster": "default",
    }


@pytest.mark.parametrize(
    "accept", ["text/plain", "application/openmetrics-text; version=1.0.0", "*/*", "nonsense"]
)
def test_metrics_page_has_limits_and_deliveries(serve, accept: str) -> None:
    """In whatever form it is asked for."""
    page = requests.get(f"{serve.url}/metrics", headers={"Accept": accept}, timeout=30).text
    assert 'tritonobs_qps_limit{model="inspect",version="1"} 8.0' in page
    assert 'tritonobs_delivery_calls_total{answer="accepted",robot="oncall"}' in page
    assert 'tritonobs_robot_budget_remaining{robot="oncall"}' in page
    assert "tritonobs_config_valid 1.0" in page
    # The names that the delivery board compares the parts by.
    assert "\nprocess_resident_memory_bytes " in page
    assert "\nprocess_cpu_seconds_total " in page


def test_health_pages_answer(serve) -> None:
    """Both without credentials."""
    assert [requests.get(serve.url + page, timeout=30).status_code for page in ("/healthz", "/readyz")] == [
        200,
        200,
    ]


def test_webhook_with_a_secret_address_gets_the_call_as_it_is(serve, robot) -> None:
    """Passed on; what the service refuses (the double has no such page: 404) is come again."""
    before = len(robot.attempts)
    answer = _post(serve, b'{"any": "thing"}', "/alertmanager/webhook/pager")
    assert (answer.status_code, len(robot.attempts) - before) == (503, 1)
    assert robot.rules.token not in answer.text


def test_calls_for_a_webhook_with_a_secret_address_are_counted_by_their_result(serve, robot) -> None:
    """`passed` is what the service accepted; what it refuses, and what does not reach it, comes again."""
    pager = serve.log.parent / "pager"
    refuses = pager.read_text()

    def counts() -> tuple[float, ...]:
        page = parse_page(requests.get(f"{serve.url}/metrics", timeout=30).text)
        return tuple(
            page.total("tritonobs_relayed_calls_total", webhook="pager", answer=answer)
            for answer in ("passed", "come_again")
        )

    seen = []
    try:
        for address in (refuses, "http://127.0.0.1:1/pager", robot.webhook_url):
            pager.write_text(address)
            passed, again = counts()
            status = _post(serve, b"{}", "/alertmanager/webhook/pager").status_code
            seen.append((status, counts()[0] - passed, counts()[1] - again))
    finally:
        pager.write_text(refuses)

    assert seen == [(503, 0, 1), (503, 0, 1), (200, 1, 0)]


def test_changed_limit_is_served_without_a_restart(serve) -> None:
    """The page has it within seconds."""
    fleet = serve.log.parent / "fleet.yaml"
    seen = threading.Event()
    fleet.write_text(FLEET.replace("qps_limit: 8", "qps_limit: 11"))
    for _ in range(60):
        if 'version="1"} 11.0' in requests.get(f"{serve.url}/metrics", timeout=30).text:
            break
        seen.wait(0.1)
    else:
        pytest.fail(serve.log.read_text())
    fleet.write_text(FLEET)


METHODS = st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE"])
PATHS = st.sampled_from(
    [
        *("/", "/metrics", "/sd/triton", "/healthz", "/readyz", "/docs", "/openapi.json"),
        *(
            "/alertmanager/dingtalk/oncall",
            "/alertmanager/dingtalk/",
            "/alertmanager/dingtalk/%2e%2e%2ftoken",
        ),
        *("/alertmanager/webhook/pager", "/alertmanager/webhook/%00", "/alertmanager/dingtalk/oncall/x"),
    ]
) | st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40).map(lambda text: "/" + text)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
FIELDS = ("status", "labels", "annotations", "startsAt", "endsAt", "fingerprint", "generatorURL")
ALMOST = st.fixed_dictionaries(
    {"alerts": st.lists(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=7) | JSON, max_size=3)},
    optional={"groupKey": JSON, "truncatedAlerts": JSON, "version": JSON},
)
BODIES = st.binary(max_size=200) | (JSON | ALMOST).map(lambda said: json.dumps(said).encode())
HEADER = st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=30)


@given(st.tuples(METHODS, PATHS, BODIES), st.sampled_from([None]) | HEADER)
def test_no_request_is_a_500_or_tells_a_secret(
    serve, robot, request_line: tuple[str, str, bytes], header: str | None
) -> None:
    """Whatever comes in, the answer is one of ours."""
    connection = http.client.HTTPConnection(urlsplit(serve.url).netloc, timeout=40)
    shown = HEADERS if header is None else {"Authorization": header.strip().encode("latin-1")}
    method, path, content = request_line
    try:
        connection.request(method, path, content, {**shown, "Content-Type": "application/json"})
        answer = connection.getresponse()
        told = answer.read().decode("utf-8", "replace") + str(answer.getheaders())
    finally:
        connection.close()
    assert answer.status < 500 or answer.status == 503
    for secret in (TOKEN, robot.secret, robot.rules.token):
        assert secret not in told


RAW = [
    pytest.param(b"\x16\x03\x01\x02\x00\x01\x00", id="TLS"),
    pytest.param(b"GET /metrics\r\n\r\n", id="HTTP 0.9"),
    pytest.param(b"GET /%ff%00%c3%28 HTTP/1.1\r\nHost: x\r\n\r\n", id="a path that is no UTF-8"),
    pytest.param(b"GET http://[::1/metrics HTTP/1.1\r\nHost: [\r\n\r\n", id="an address that is none"),
    pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 200_000 + b"\r\n\r\n", id="an endless header"),
    pytest.param(
        b"POST /alertmanager/dingtalk/oncall HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        id="a chunk without a length",
    ),
    pytest.param(
        b"POST /alertmanager/dingtalk/oncall HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        id="a length below zero",
    ),
    pytest.param(
        b"GET /metrics HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n",
        id="a web socket",
    ),
]


@pytest.mark.parametrize("sent", RAW)
def test_what_is_no_http_harms_nobody(serve, sent: bytes) -> None:
    """An answer that is no 500, or none; and the next caller is served."""
    address = urlsplit(serve.url)
    there = (address.hostname, address.port)
    # The daemon may be done with it before everything was sent.
    with contextlib.suppress(OSError), socket.create_connection(there, timeout=10) as raw:
        raw.sendall(sent)
        raw.shutdown(socket.SHUT_WR)
        told = raw.makefile("rb").readline()
        assert not told.startswith(b"HTTP/1.1 5")
    assert requests.get(f"{serve.url}/healthz", timeout=30).status_code == 200


def test_log_and_metrics_tell_no_secret(serve, robot) -> None:
    """After everything above, in everything the daemon ever wrote."""
    written = serve.log.read_text() + requests.get(f"{serve.url}/metrics", timeout=30).text
    assert "serving at" in written
    for secret in (TOKEN, robot.secret, robot.rules.token):
        assert secret not in written
    assert "Traceback" not in written


def test_config_page_of_a_folder(serve) -> None:
    """The daemon writes nothing but who changed which limit: no state, no queue."""
    folder: Path = serve.log.parent
    assert {file.name for file in folder.iterdir()} == {
        "fleet.yaml",
        "token",
        "webhook",
        "secret",
        "pager",
        "serve.log",
        "fleet.limits.jsonl",
    }
