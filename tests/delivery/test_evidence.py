"""Evidence comes from Prometheus' records, quickly or not at all."""

from __future__ import annotations

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from support.serving import Serving
from tritonobs import names
from tritonobs.delivery.evidence import Evidence
from tritonobs.delivery.metrics import DeliveryMetrics


class Prometheus(Serving):
    """Answers every query with these samples, after a delay."""

    def __init__(
        self, *samples: tuple[dict[str, str], float], delay_seconds: float = 0.0, error: str = ""
    ) -> None:
        result = [{"metric": labels, "value": [0, str(value)]} for labels, value in samples]
        said = {"status": "success", "data": {"resultType": "vector", "result": result}}
        if error:
            said = {"status": "error", "errorType": "internal", "error": error}
        body = json.dumps(said).encode()
        self.asked: list[str] = []
        done = threading.Event()
        self.done = done
        prometheus = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                prometheus.asked += parse_qs(urlsplit(self.path).query)["query"]
                done.wait(delay_seconds)
                self.send_response(500 if error else 200)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __exit__(self, *_: object) -> None:
        self.done.set()
        super().__exit__()


def _ask(url: str, *models: str):
    metrics = DeliveryMetrics()
    evidence = Evidence(url, metrics)
    try:
        return asyncio.run(evidence.shares(models)), metrics
    finally:
        evidence.close()


def _stage(stage: str, version: str = "1", model: str = "inspect") -> dict[str, str]:
    return {names.MODEL: model, names.VERSION: version, names.STAGE: stage}


def test_largest_shares_are_told_first() -> None:
    """The three largest stages of each model version, in per cent; crumbs are left out."""
    samples = [
        (_stage("nms"), 0.12),
        (_stage("detector"), 0.756),
        (_stage("preprocess"), 0.07),
        (_stage("x"), 0.05),
        (_stage("crumb", version="2"), 0.01),
        (_stage("infer", model="detector"), 1.0),
    ]
    with Prometheus(*samples) as prometheus:
        shares, metrics = _ask(prometheus.url, "inspect", "detector", "inspect")
    assert shares == {
        ("", "inspect", "1"): "detector 76%, nms 12%, preprocess 7%",
        ("", "detector", "1"): "infer 100%",
    }
    assert len(prometheus.asked) == 1
    assert metrics.registry.get_sample_value("tritonobs_evidence_queries_total", {"outcome": "answered"}) == 1


def test_shares_are_never_more_than_all_of_the_time() -> None:
    """Stages of requests that go on are counted already, the requests are not: seen as 107% in a demo."""
    samples = [(_stage("detector"), 0.78), (_stage("preprocess"), 0.3), (_stage("nms"), 0.12)]
    with Prometheus(*samples) as prometheus:
        shares, _ = _ask(prometheus.url, "inspect")

    assert shares == {("", "inspect", "1"): "detector 65%, preprocess 25%, nms 10%"}


def test_hostile_model_name_is_data() -> None:
    """It selects the model of that name, whatever it is made of."""
    with Prometheus() as prometheus:
        _ask(prometheus.url, 'a"}) or vector(1) # \\ .*\n')
    (query,) = prometheus.asked
    assert (
        query[query.index(",model=") :]
        == r""",model=~"a\"\\}\\)\\ or\\ vector\\(1\\)\\ \\#\\ \\\\\\ \\.\\*\\""" + "\\n" + '"}'
    )


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param({"delay_seconds": 10.0}, id="too slow"),
        pytest.param({"error": "out of memory"}, id="not well"),
    ],
)
def test_silence_of_prometheus_costs_no_message(trouble: dict[str, object]) -> None:
    """No evidence, no error; a counter says so."""
    with Prometheus(**trouble) as prometheus:
        shares, metrics = _ask(prometheus.url, "inspect")
    assert shares == {}
    assert metrics.registry.get_sample_value("tritonobs_evidence_queries_total", {"outcome": "failed"}) == 1


def test_absence_of_prometheus_costs_no_message() -> None:
    """The same when nobody listens."""
    assert _ask("http://127.0.0.1:1", "inspect")[0] == {}


def test_nobody_is_asked_about_nothing() -> None:
    """Alerts without a model need no question."""
    with Prometheus() as prometheus:
        assert _ask(prometheus.url, "", "")[0] == {}
    assert prometheus.asked == []


def _record(name: str, **labels: str) -> dict[str, str]:
    return {"__name__": name, names.MODEL: "inspect", names.VERSION: "1", **labels}


def test_the_queue_is_a_stage_of_that_line() -> None:
    """Stages are shares of the time in the model; 64 % of a request was spent before it got there."""
    samples = [
        (_record(names.STAGE_SHARE, stage="detector"), 0.63),
        (_record(names.STAGE_SHARE, stage="nms"), 0.2),
        (_record(names.STAGE_MEAN, stage="total"), 0.036),
        (_record(names.STAGE_MEAN, stage="detector"), 0.023),
        (_record(names.QUEUE_MEAN), 0.064),
        (_record(names.REQUEST_MEAN), 0.1),
    ]
    with Prometheus(*samples) as prometheus:
        shares, _ = _ask(prometheus.url, "inspect")

    assert shares == {("", "inspect", "1"): "queue 64%, detector 23%, nms 7%"}


def test_a_model_that_tells_no_stages_is_told_by_what_triton_knows() -> None:
    """Queue and compute."""
    samples = [(_record(names.QUEUE_MEAN), 0.03), (_record(names.REQUEST_MEAN), 0.1)]
    with Prometheus(*samples) as prometheus:
        shares, _ = _ask(prometheus.url, "inspect")

    assert shares == {("", "inspect", "1"): "compute 70%, queue 30%"}


def test_clusters_that_serve_a_model_of_one_name_are_told_apart() -> None:
    """A Prometheus of two clusters: each alert is told the stages of its own."""
    samples = [
        (_record(names.STAGE_SHARE, stage="detector", cluster="east"), 0.9),
        (_record(names.STAGE_SHARE, stage="nms", cluster="west"), 0.8),
    ]
    with Prometheus(*samples) as prometheus:
        shares, _ = _ask(prometheus.url, "inspect")

    assert shares == {("east", "inspect", "1"): "detector 90%", ("west", "inspect", "1"): "nms 80%"}
