"""Traces of a real tritonserver: weights, nesting, rates that are put back, what Prometheus shows."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING

import pytest
import requests

from support.programs import Program, free_port
from support.traced_models import add_timed
from support.traced_rig import FLEET, SOON, TracedRig, traced_rig
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.extensions.lab.stack.native import lone_triton
from tritonobs.extensions.lab.stack.services import trace_flags

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tritonobs.extensions.traces.call import Call

pytestmark = pytest.mark.e2e
PATIENCE_SECONDS = 60.0
SPANS_HELD = 2048
"""What Triton's exporter holds at most; a request has two spans and more."""


@pytest.fixture(name="rig", scope="module")
def _shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TracedRig]:
    with traced_rig(tmp_path_factory.mktemp("traces")) as rig:
        yield rig


@pytest.fixture(autouse=True)
def _all_are_traced(request: pytest.FixtureRequest) -> None:
    if "rig" in request.fixturenames:
        request.getfixturevalue("rig").api.trace("", {"trace_level": ["TIMESTAMPS"], "trace_rate": "1"})


def test_weights_make_the_sample_the_whole(rig: TracedRig) -> None:
    """Thirty requests, every fifth traced: six samples stand for them; one asked for stands for itself."""
    rig.api.trace("quick", {"trace_level": ["TIMESTAMPS"], "trace_rate": "5"})
    # The receiver may have asked for the old rate a moment ago.
    time.sleep(6)
    own = {"model": "quick", "replica": "a"}
    before = {name: rig.count(name, **own) for name in ("tritonobs_trace_samples_total",)}
    whole = rig.count("tritonobs_trace_requests_total", **own)
    rig.ask("quick", 0.001, 30)
    assert rig.settle("tritonobs_trace_requests_total", whole + 30, **own) == whole + 30
    assert rig.count("tritonobs_trace_samples_total", **own) == before["tritonobs_trace_samples_total"] + 6
    parent = f"00-{'ab' * 16}-{'12' * 8}-01"
    # Longer than a busy machine holds up one of the others.
    rig.ask("quick", 1.5, traceparent=parent)
    assert rig.settle("tritonobs_trace_requests_total", whole + 31, **own) == whole + 31
    assert rig.slow("quick")[0].traced.call.trace_id == "ab" * 16
    rig.api.trace("quick", {"trace_level": None, "trace_rate": None, "trace_count": None})


@pytest.mark.parametrize(
    ("model", "inside"),
    [
        pytest.param("ensemble", {"quick": {}, "slow": {}}, id="an ensemble"),
        pytest.param("nested", {"inner": {"slow": {}}}, id="a pipeline in a pipeline"),
    ],
)
def test_pipelines_are_traced_as_they_nest(rig: TracedRig, model: str, inside: dict) -> None:
    """With the times of every part, which fit into the whole."""
    rig.ask(model, 0.06)
    rig.settle("tritonobs_trace_samples_total", 1, model=model)
    call = rig.slow(model)[0].traced.call
    assert _shape(call) == {model: inside}
    leaf = call
    while leaf.calls:
        leaf = leaf.calls[0]
    inferred = leaf.phases["infer"]
    assert call.request.start_ns <= inferred.start_ns < inferred.end_ns <= call.request.end_ns
    assert inferred.seconds >= 0.06


def _shape(call: Call) -> dict:
    inner: dict = {}
    for each in call.calls:
        inner |= _shape(each)
    return {call.model: inner}


def test_a_queue_is_told_from_work(rig: TracedRig) -> None:
    """Requests at once to one instance: the last one waited for the others."""
    before = rig.count("tritonobs_trace_samples_total", model="quick")
    at_once = Barrier(4)

    def ask(_: int) -> None:
        at_once.wait(PATIENCE_SECONDS)
        rig.ask("quick", 1.0)

    with ThreadPoolExecutor(4) as askers:
        list(askers.map(ask, range(4)))
    assert rig.settle("tritonobs_trace_samples_total", before + 4, model="quick") == before + 4
    worst = rig.slow("quick")[0].traced.call.phases
    assert worst["queue"].seconds > 1.0
    assert worst["infer"].seconds >= 1.0


@pytest.mark.usefixtures("in_front")
def test_rates_that_follow_the_traffic_are_put_back(rig: TracedRig) -> None:
    """Whoever ends it, with Ctrl-C or with kill: what a model had of its own, and what it inherited."""
    rig.api.trace("slow", {"trace_level": ["TIMESTAMPS"], "trace_rate": "7"})
    before = {model: rig.api.trace_setting(model) for model in ("quick", "slow", "ensemble", "")}
    argv = [sys.executable, "-m", "tritonobs", "traces", "on", str(rig.fleet), "--rate", "auto"]
    for number in (signal.SIGINT, signal.SIGTERM):
        following = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while rig.api.trace_setting("slow").rate != 1 and time.monotonic() < deadline:
            rig.ask("slow", 0.001)
            time.sleep(0.2)
        assert rig.api.trace_setting("slow").rate == 1
        following.send_signal(number)
        said, _ = following.communicate(timeout=60)
        assert "a: slow: earlier rate restored" in said
        assert {model: rig.api.trace_setting(model) for model in before} == before
    rig.api.trace("slow", {"trace_level": None, "trace_rate": None, "trace_count": None})


def test_on_and_off_are_said_and_done(rig: TracedRig) -> None:
    """For one model and for all; a server without OpenTelemetry is named with its flags."""
    command = [sys.executable, "-m", "tritonobs", "traces"]
    done = subprocess.run(
        [*command, "on", str(rig.fleet), "--model", "slow", "--rate", "50"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "a: 1 in 50 requests to slow is traced\n"
    assert rig.api.trace_setting("slow").rate == 50
    with ThreadPoolExecutor(1) as clients:
        asked = clients.submit(rig.ask, "quick", 0.001, 1500)
        refused = subprocess.run(
            [*command, "on", str(rig.fleet), "--model", "quick", "--rate", "1"],
            capture_output=True,
            text=True,
            check=False,
        )
        asked.result()
    assert (refused.returncode, refused.stdout) == (3, "")
    assert re.match(r"a: 1 in 1 requests would be [\d,]+ traces/s; more than 20 ", refused.stderr)
    subprocess.run([*command, "off", str(rig.fleet)], capture_output=True, check=True)
    assert not any(rig.api.trace_setting(model).on for model in ("", "slow", "quick"))


def test_a_server_that_traces_into_files_is_named(tmp_path: Path) -> None:
    """Exit status 3, and what to restart it with."""
    add_timed(tmp_path / "models", "quick")
    with lone_triton(tmp_path / "models", tmp_path / "server") as server:
        fleet = tmp_path / "fleet.yaml"
        fleet.write_text(FLEET.format(url=server.http_url, receiver="http://127.0.0.1:9900"))
        done = subprocess.run(
            [sys.executable, "-m", "tritonobs", "traces", "on", str(fleet)],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 3
    assert "writes traces to files (mode triton); restart it with --trace-config=mode=opent" in done.stderr


def test_a_server_does_not_mind_a_receiver_that_is_gone(tmp_path: Path) -> None:
    """Killed, started late, hung: every request is answered, and new ones are traced."""
    with traced_rig(tmp_path) as rig:
        rig.ask("quick", 0.001, 20)
        rig.settle("tritonobs_trace_samples_total", 20, model="quick")
    # The server of the block has ended with it; here only its receiver goes.
    models, port = tmp_path / "models", free_port()
    receiver = f"http://127.0.0.1:{port}"
    flags = (*trace_flags(receiver=receiver, replica="a", rate=1), SOON)
    with lone_triton(models, tmp_path / "again", extra=flags) as server:
        fleet = tmp_path / "fleet.yaml"
        fleet.write_text(FLEET.format(url=server.http_url, receiver=receiver))
        rig = TracedRig(server.http_url, receiver, fleet)
        rig.ask("quick", 0.001, 100)
        argv = [sys.executable, "-m", "tritonobs", "traces", "serve", str(fleet)]
        with Program(argv, tmp_path / "late.log", f"{receiver}/healthz") as program:
            rig.ask("quick", 0.001, 10)
            assert rig.settle("tritonobs_trace_samples_total", 10, model="quick") >= 10
            # One that takes the connection and never answers: more spans than the server's exporter holds.
            os.kill(program.pid, signal.SIGSTOP)
            rig.ask("quick", 0.0001, SPANS_HELD)
            os.kill(program.pid, signal.SIGCONT)
            seen = rig.count("tritonobs_trace_samples_total", model="quick")
            rig.ask("quick", 0.001, 10)
            assert rig.settle("tritonobs_trace_samples_total", seen + 10, model="quick") >= seen + 10
        server.require_alive()


def test_prometheus_shows_quantiles_and_the_trace_behind_a_point(stack) -> None:
    """The practice stack as it is started: job, records, exemplars of its API."""
    subprocess.run(
        [
            *(sys.executable, "-m", "tritonobs", "load", "--url", stack.plan.replicas[0].http_url),
            *("--model", "inspect_ensemble", "--qps", "4", "--duration", "20s"),
        ],
        capture_output=True,
        check=False,
    )
    prometheus = PrometheusClient(stack.plan.addresses.prometheus_url)
    # Not a number until the first trace of this load is read: other tests asked the ensemble long before.
    asked = 'model_version_phase:tritonobs_request_seconds:p50_5m{model="inspect_ensemble"} > 0'
    deadline = time.monotonic() + 2 * PATIENCE_SECONDS
    while not (found := prometheus.query(asked)) and time.monotonic() < deadline:
        time.sleep(1)
    assert [(row.labels["phase"], row.labels["source"]) for row in found] == [("request", "traces")]
    # Seconds, and not milliseconds: 18 ms on two quiet cores.
    assert 0.01 < found[0].value < 10
    now = time.time()
    answer = requests.get(
        f"{stack.plan.addresses.prometheus_url}/api/v1/query_exemplars",
        params={"query": "tritonobs_trace_duration_seconds_bucket", "start": now - 600, "end": now},
        timeout=30,
    ).json()
    traces = {each["labels"]["trace_id"] for row in answer["data"] for each in row["exemplars"]}
    assert traces
    assert all(re.fullmatch("[0-9a-f]{32}", trace) for trace in traces)
