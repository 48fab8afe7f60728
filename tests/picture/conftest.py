"""A Prometheus on the wire whose answers a test chooses."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from support.serving import serving
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.render.grafana import load_boards

HOSTILE = 'a"b$x<script>alert(1)</script>{}\\ 检测'


class Wire:
    """Answers every range and instant query with the same series; a word in a query may make it fail.

    With `buckets`, there are so many series, each one more than the one before.
    """

    def __init__(self):
        self.metric = {
            "model": "inspect", "version": "1", "stage": "decode", "le": "0.05", "device": "x",
            "vendor": "v", "slo": "latency", "what": "TritonQpsAboveLimit inspect",
        }  # fmt: skip
        self.buckets = ()
        self.refuse = ""
        self.empty = False
        self.queries = []
        self.values = ["replica_model_version:triton_requests_succeeded:rate20s"]

    def answer(self, path, params):
        """Status and body of one call."""
        if path.endswith("/values"):
            return 200, {"status": "success", "data": self.values}
        if path.endswith("/targets"):
            return 200, {"status": "success", "data": {"activeTargets": []}}
        query = params["query"][0]
        self.queries.append(query)
        if self.refuse and self.refuse in query:
            return 422, {"status": "error", "errorType": "execution", "error": "too many samples"}
        found = [{"metric": self.metric | {"le": bound}} for bound in self.buckets] or [
            {"metric": self.metric}
        ]
        found = [] if self.empty else found
        if path.endswith("/query"):
            result = [one | {"value": [float(params["time"][0]), "1"]} for one in found]
            return 200, {"status": "success", "data": {"resultType": "vector", "result": result}}
        start, end, step = (float(params[name][0]) for name in ("start", "end", "step"))
        times = [start + place * step for place in range(int((end - start) / step) + 1)]
        result = [
            one | {"values": [[time, str(number)] for time in times]}
            for number, one in enumerate(found, start=1)
        ]
        return 200, {"status": "success", "data": {"resultType": "matrix", "result": result}}


@pytest.fixture(name="wire")
def _wire():
    """What the Prometheus answers with."""
    return Wire()


@pytest.fixture(name="client")
def _client(wire):
    """A client of it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            parts = urlsplit(self.path)
            self._say(*wire.answer(parts.path, parse_qs(parts.query)))

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._say(*wire.answer(urlsplit(self.path).path, parse_qs(body)))

        def _say(self, status, value):
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        client = PrometheusClient(f"http://127.0.0.1:{server.server_port}", retries=0)
        yield client
        client.close()


@pytest.fixture(name="boards", scope="session")
def _boards():
    """Every board by name."""
    return load_boards()


@pytest.fixture(name="hostile")
def _hostile():
    """A name that would break out of HTML, PromQL and formulas, if it could."""
    return HOSTILE
