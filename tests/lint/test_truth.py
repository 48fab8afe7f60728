"""Each certain fix, evaluated by a real Prometheus: the mended expression is true, the old one is not.

The truth is known because the page is made here: every second each model has so many requests, and each waits
so long. The counters of the model `r` begin again in between, as after a restart.
"""

import time
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from support.programs import PrometheusProgram
from support.serving import serving
from tritonobs import programs
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.extensions.lint.checks.registry import Settings
from tritonobs.extensions.lint.fixes import fix
from tritonobs.extensions.lint.linter import Options, lint_files

PER_SECOND, QUEUE_US, FAILURES = 0.5, 40_000, 0.25
RESTART_AFTER, LOOK_AFTER, WINDOW_SECONDS = 10.0, 22.0, 16
WINDOW = f"{WINDOW_SECONDS}s"
BUCKETS = {100: 0.9, 500: 0.99, 2000: 1.0}
"""Shares of the requests that are answered within so many milliseconds."""


def _page(since: float) -> str:
    lines = [
        'nv_gpu_utilization{gpu_uuid="GPU-1"} 0.9',
        'nv_trt_llm_kv_cache_block_metrics{model="m",version="1",kv_cache_block_type="used"} 30',
    ]
    for model, seconds in (("m", since), ("r", since if since < RESTART_AFTER else since - RESTART_AFTER)):
        labels, requests = f'model="{model}",version="1"', PER_SECOND * seconds
        lines += [
            f"nv_inference_request_success{{{labels}}} {requests}",
            f"nv_inference_queue_duration_us{{{labels}}} {requests * QUEUE_US}",
            f'nv_inference_request_failure{{{labels},reason="BACKEND"}} {FAILURES * seconds}',
            f'nv_inference_request_failure{{{labels},reason="OTHER"}} 0',
        ]
        lines += [
            f'nv_inference_first_response_histogram_ms_bucket{{{labels},le="{le}"}} {requests * share}'
            for le, share in (*BUCKETS.items(), ("+Inf", 1))
        ]
    return "\n".join(lines) + "\n"


@pytest.fixture(name="prometheus", scope="module")
def _prometheus(tmp_path_factory):
    if programs.look("prometheus") is None:
        pytest.skip("prometheus is not installed: tritonobs tools")
    began = time.monotonic()

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = _page(time.monotonic() - began).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    folder = tmp_path_factory.mktemp("truth")
    with ExitStack() as held:
        server = held.enter_context(serving(ThreadingHTTPServer(("127.0.0.1", 0), Page)))
        targets = [{"targets": [f"127.0.0.1:{server.server_port}"]}]
        config = {
            "global": {"scrape_interval": "250ms", "scrape_timeout": "240ms"},
            "scrape_configs": [{"job_name": "triton", "static_configs": targets}],
        }
        running = held.enter_context(PrometheusProgram(programs.find("prometheus"), config, folder))
        time.sleep(max(0.0, began + LOOK_AFTER - time.monotonic()))
        yield PrometheusClient(running.url)


STEADY, RESTARTED = f'{{model="m"}}[{WINDOW}]', f'{{model="r"}}[{WINDOW}]'
MEAN = f"sum by (model) (rate(nv_inference_queue_duration_us{STEADY}))"
REQUESTS = f"sum by (model) (rate(nv_inference_request_success{STEADY}))"
BUCKET = f"sum by (le) (rate(nv_inference_first_response_histogram_ms_bucket{STEADY}))"
REASON = f'sum by (model) (rate(nv_inference_request_failure{{model="m",reason="backend"}}[{WINDOW}]))'
# What is written, and the truth.
CASES = {
    "a name with _total": (REQUESTS.replace("success", "success_total"), PER_SECOND),
    "1 + in the denominator": (f"{MEAN} / (1 + {REQUESTS})", QUEUE_US),
    "+ 0.1 behind it": (f"{MEAN} / ({REQUESTS} + 0.1)", QUEUE_US),
    "clamp_min": (f"{MEAN} / clamp_min({REQUESTS}, 1)", QUEUE_US),
    "delta over a restart": (
        f"sum by (model) (delta(nv_inference_request_success{RESTARTED}))",
        PER_SECOND * WINDOW_SECONDS,
    ),
    "deriv over a restart": (f"sum by (model) (deriv(nv_inference_request_success{RESTARTED}))", PER_SECOND),
    "a value in another spelling": (REASON, FAILURES),
    "blocks": ('nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="used_blocks"}', 30),
    "a ratio against percent": ("nv_gpu_utilization > 80", 0.9),
    "a quantile of 90": (f"histogram_quantile(90, {BUCKET})", 100),
}


def _value(prometheus: PrometheusClient, expression: str) -> float | None:
    found = prometheus.query(expression)
    return found[0].value if found else None


@pytest.mark.parametrize(("written", "truth"), CASES.values(), ids=CASES)
def test_the_mended_expression_gives_the_truth(prometheus, tmp_path, written, truth):
    """Within two percent, where the old one is further away or empty."""
    path = tmp_path / "case.promql"
    path.write_text(written)
    options = Options(settings=Settings(scrape_seconds=0.25))
    mended = fix(lint_files([(path, True)], options).problems)

    before, after = _value(prometheus, written), _value(prometheus, path.read_text())

    assert mended
    assert after == pytest.approx(truth, rel=0.02)
    assert before is None or before != pytest.approx(truth, rel=0.05)
