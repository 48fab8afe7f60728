"""Triton's traces at a running daemon: posted, scraped, asked for, refused, passed on."""

from __future__ import annotations

import gzip
import http.client
import json
import sys
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
import requests
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from support.programs import Program, ServeProgram, free_port
from support.serving import Serving
from support.spans import posted, request
from tritonobs.extensions.traces.otlp import MOST_BYTES
from tritonobs.extensions.traces.slowest import ANSWER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FLEET = """\
fleet: shop
replicas: [{{name: a, url: "{triton}"}}]
addresses: {{prometheus: "http://127.0.0.1:1", serve: "http://127.0.0.1:{port}"}}
traces: {{forward: "{collector}/v1/traces"}}
models:
  inspect: {{slos: {{fast: {{objective: 99%, threshold: 250ms, source: traces}}}}}}
"""
JSON = {"Content-Type": "application/json"}
PATIENCE_SECONDS = 30.0


class _Double(Serving):
    """A server that keeps what is posted, answers with `status`, and says a trace rate as Triton does."""

    def __init__(self):
        self.bodies, self.status, self.rate = [], 200, 10
        double = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if double.status == 200:
                    double.bodies.append((self.headers["Content-Type"], body))
                self._answer(double.status, b"{}")

            def do_GET(self):
                setting = {"trace_level": ["TIMESTAMPS"], "trace_rate": str(double.rate)}
                self._answer(200, json.dumps({**setting, "trace_mode": "opentelemetry"}).encode())

            def _answer(self, status, body):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"


@pytest.fixture(name="triton", scope="module")
def _triton() -> Iterator[_Double]:
    with _Double() as double:
        yield double


@pytest.fixture(name="collector", scope="module")
def _collector() -> Iterator[_Double]:
    with _Double() as double:
        yield double


@pytest.fixture(name="served", scope="module", params=["serve", "traces serve"])
def _served(
    request: pytest.FixtureRequest,
    triton: _Double,
    collector: _Double,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """The address of a receiver, inside serve and alone."""
    folder: Path = tmp_path_factory.mktemp("traces")
    port = free_port()
    fleet = folder / "fleet.yaml"
    fleet.write_text(FLEET.format(triton=triton.url, collector=collector.url, port=port))
    if request.param == "serve":
        program: Program = ServeProgram(fleet, port=port)
    else:
        argv = [sys.executable, "-m", "tritonobs", "traces", "serve", str(fleet)]
        program = Program(argv, folder / "log", f"http://127.0.0.1:{port}/healthz")
    collector.bodies.clear()
    with program:
        yield f"http://127.0.0.1:{port}"


def post(url, data, **headers):
    """As Triton posts."""
    return requests.post(f"{url}/v1/traces", data=data, headers={**JSON, **headers}, timeout=30)


def samples(url):
    """Every sample of the page, by its name and labels."""
    page = requests.get(f"{url}/metrics/traces", timeout=30)
    assert page.headers["Content-Type"].startswith("application/openmetrics-text")
    return {
        (sample.name, *sorted(sample.labels.items())): sample
        for family in text_string_to_metric_families(page.text)
        for sample in family.samples
    }


def wait_for(condition):
    """Its first true value."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def count(url, name, **labels):
    """The value of one series; 0 without it."""
    sample = samples(url).get((name, *sorted(labels.items())))
    return sample.value if sample else 0


def test_a_batch_becomes_a_distribution_with_the_trace_behind_it(served):
    """Weighted by the rate that the server says, with an exemplar, and a bound where the objective is."""
    own = {"model": "inspect", "version": "1", "replica": "a"}
    before = count(served, "tritonobs_trace_samples_total", **own)
    spans = request("inspect", trace="0af7651916cd43dd8448eb211c80319c", queue=0.02, compute=0.18)
    answer = post(served, posted(*spans))
    assert (answer.status_code, answer.text) == (200, "{}")
    wait_for(lambda: count(served, "tritonobs_trace_samples_total", **own) == before + 1)
    page = samples(served)
    key = {**own, "phase": "request", "le": "0.25"}
    bucket = page[("tritonobs_trace_duration_seconds_bucket", *sorted(key.items()))]
    assert bucket.value == 10 * (before + 1)
    found = [sample.exemplar.labels for sample in page.values() if sample.exemplar]
    assert {"trace_id": "0af7651916cd43dd8448eb211c80319c"} in found


def test_the_slowest_are_told(served):
    """By model, as the command asks."""
    post(served, posted(*request("turtle", compute=2.0)))
    wait_for(lambda: "turtle" in requests.get(f"{served}/traces/slow", timeout=30).json()["models"])
    answer = requests.get(f"{served}/traces/slow", params={"model": "turtle", "since": "1e12"}, timeout=30)
    (slow,) = ANSWER.validate_json(answer.content).requests
    assert round(slow.seconds, 3) == 2.001
    asked = {"model": "turtle", "since": "1e12", "until": "1e11"}
    earlier = requests.get(f"{served}/traces/slow", params=asked, timeout=30)
    assert ANSWER.validate_json(earlier.content).requests == ()
    for wrong in ("since=x", "until=x"):
        assert requests.get(f"{served}/traces/slow?{wrong}", timeout=30).status_code == 400


@pytest.mark.parametrize(
    ("data", "headers", "status"),
    [
        pytest.param(b"{}", {"Content-Type": "text/plain"}, 415, id="another type"),
        pytest.param(b"x" * (MOST_BYTES + 1), {}, 413, id="too large"),
        pytest.param(b"{}", {"Host": "evil.example"}, 421, id="another site's name"),
    ],
)
def test_what_is_no_batch_is_refused(served, data, headers, status):
    """Before it is read."""
    assert post(served, data, **headers).status_code == status


def test_hostile_bodies_are_counted_and_harm_nothing(served):
    """Nested, packed, damaged: after them a batch is read as before."""
    before = count(served, "tritonobs_trace_dropped_total", reason="unreadable")
    bomb = gzip.compress(b"\0" * 30_000_000)
    hostile = [(b"[" * 100_000, {}), (b"\xff", {}), (bomb, {"Content-Encoding": "gzip"})]
    for data, headers in hostile:
        assert post(served, data, **headers).status_code == 200
    wait_for(lambda: count(served, "tritonobs_trace_dropped_total", reason="unreadable") == before + 3)
    post(served, gzip.compress(posted(*request("after"))), **{"Content-Encoding": "gzip"})
    wait_for(lambda: "after" in requests.get(f"{served}/traces/slow", timeout=30).json()["models"])


def test_bodies_go_on_unchanged_and_wait_while_the_collector_is_away(served, collector):
    """In order; what it refuses for good is counted and not sent again."""
    # What earlier tests posted has gone on.
    wait_for(lambda: count(served, "tritonobs_trace_forward_waiting_bodies") == 0)
    collector.bodies.clear()
    first, second = posted(*request("one")), posted(*request("two"))
    collector.status = 503
    post(served, first)
    post(served, second)
    assert count(served, "tritonobs_trace_forward_waiting_bodies") == 2
    collector.status = 200
    wait_for(lambda: len(collector.bodies) == 2)
    assert collector.bodies == [("application/json", first), ("application/json", second)]
    refused = count(served, "tritonobs_trace_forwarded_total", outcome="refused")
    collector.status = 400
    post(served, first)
    wait_for(lambda: count(served, "tritonobs_trace_forwarded_total", outcome="refused") == refused + 1)
    collector.status = 200


def test_a_connection_waits_longer_than_any_sender(served):
    """Triton sends every five seconds over one connection, and what meets a close is lost."""
    parts = urlsplit(served)
    with closing(http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)) as kept:
        for wait in (0, 6):
            time.sleep(wait)
            # As http.client opens a closed connection again, a socket of its own must be the one from before.
            before = kept.sock
            kept.request("POST", "/v1/traces", posted(*request("kept")), JSON)
            answer = kept.getresponse()
            assert answer.read() == b"{}"
            assert answer.getheader("Connection") is None
            assert before is None or kept.sock is before
