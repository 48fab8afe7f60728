"""Quantiles of traces beside the truth: every request's own span, and what its client waited for it."""

from __future__ import annotations

import json
import math
import random
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
import requests

from support.serving import serving
from support.traced_rig import traced_rig
from tritonobs.plan.objectives import middle
from tritonobs.timings.measured import bucket_quantile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.traced_rig import TracedRig
    from tritonobs.clients.exposition import MetricsPage

pytestmark = pytest.mark.e2e
REQUESTS, CLIENTS = 240, 3
# Triton 24.10 ends with signal 11 now and then while it traces (triton-inference-server/server#7795).
ATTEMPTS = 3
PATIENCE_SECONDS = 60.0
QUANTILES = (0.5, 0.95, 0.99)
SHAPES = {
    "quick": lambda _: 0.0003,
    "slow": lambda chance: 0.02 if chance.random() < 0.9 else 0.2,
    "ensemble": lambda chance: chance.uniform(0.002, 0.03),
    "nested": lambda chance: min(0.5, chance.lognormvariate(-4, 0.7)),
}
CALLERS = {"quick": 2, "slow": 3, "ensemble": 1, "nested": 1}
"""The client, the ensemble, and the pipeline of the nested ones: so many ask each model."""


@pytest.fixture(name="collector")
def _collector() -> Iterator[tuple[str, list[bytes]]]:
    """An address to which bodies are passed on, and the bodies."""
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        yield f"http://127.0.0.1:{server.server_port}/v1/traces", bodies


def test_quantiles_are_within_five_percent_of_every_request(
    tmp_path: Path, collector: tuple[str, list[bytes]]
) -> None:
    """Plain, bimodal, in an ensemble, in nested pipelines; each span lies within its client's wait."""
    address, bodies = collector
    for attempt in range(ATTEMPTS):
        root = tmp_path / str(attempt)
        root.mkdir()
        bodies.clear()
        with traced_rig(root, more=f'  forward: "{address}"\n') as rig:
            waited = _send(rig)
            if len(waited) == REQUESTS * len(SHAPES):
                page = _settled(rig, bodies)
                break
        assert "Signal (11)" in (root / "server" / "logs" / "triton.log").read_text()
    else:
        pytest.fail(f"Triton ended {ATTEMPTS} times")
    for model in SHAPES:
        spans = _spans(bodies, model)
        roots = {trace: took for trace, took, outermost in spans if outermost}
        assert roots.keys() == {trace for trace, (asked, _) in waited.items() if asked == model}
        # Triton ends a request when the model lets go of it, now and then after the answer left: on a busy
        # machine one in fifteen by some milliseconds. Times that were wrong would be longer in half of them.
        longer = [took - waited[trace][1] for trace, took in roots.items() if took > waited[trace][1]]
        assert len(longer) <= REQUESTS // 5, (model, longer)
        times = sorted(took for _, took, _ in spans)
        true = [times[math.ceil(ratio * len(times)) - 1] for ratio in QUANTILES]
        assert _read(page, model) == pytest.approx(true, rel=0.05), model


def _settled(rig: TracedRig, bodies: list[bytes]) -> MetricsPage:
    """What the receiver shows once every span has come, and was passed on."""
    for model, callers in CALLERS.items():
        rig.settle("tritonobs_trace_samples_total", REQUESTS * callers, model=model)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while len(_spans(bodies, model)) < REQUESTS * callers and time.monotonic() < deadline:
            time.sleep(0.2)
    return rig.page()


def _send(rig: TracedRig) -> dict[str, tuple[str, float]]:
    """Requests of several clients: by the id of their trace, the model and how long the client waited.

    Those of a server that ends meanwhile are missing.
    """
    waited: dict[str, tuple[str, float]] = {}

    def client(number: int) -> None:
        chance = random.Random(number)  # noqa: S311 (the same draw every time)
        for turn in range(REQUESTS // CLIENTS):
            for place, (model, draw) in enumerate(SHAPES.items()):
                trace = f"{number + 1:016x}{turn:08x}{place:08x}"
                began = time.perf_counter()
                try:
                    rig.ask(model, draw(chance), traceparent=f"00-{trace}-{'12' * 8}-01")
                except requests.ConnectionError:
                    return
                waited[trace] = (model, time.perf_counter() - began)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return waited


def _read(page: MetricsPage, model: str) -> list[float]:
    """The quantiles of a page, as the rules read them."""
    buckets = {
        float(sample.labels["le"]): sample.value
        for sample in page.samples
        if sample.name == "tritonobs_trace_duration_seconds_bucket"
        and (sample.labels["model"], sample.labels["phase"]) == (model, "request")
    }
    return [middle(bucket_quantile(ratio, buckets) or 0) for ratio in QUANTILES]


def _spans(bodies: list[bytes], model: str) -> list[tuple[str, float, bool]]:
    """Trace, seconds, and whether the client called it, of every span of the model, read without our code."""
    spans = [
        span
        for body in list(bodies)
        for resource in json.loads(body)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]
    outer = {span["spanId"] for span in spans if span["name"] == "InferRequest"}
    found = []
    for span in spans:
        if span["name"] == model:
            at = {event["name"]: int(event["timeUnixNano"]) for event in span["events"]}
            seconds = (at["REQUEST_END"] - at["REQUEST_START"]) / 1e9
            found.append((span["traceId"], seconds, span["parentSpanId"] in outer))
    return found
