"""A QPS limit on the running stack: silent below it, told above it, told again when it is over."""

import json
import subprocess
import sys

import pytest
import requests

from tritonobs import assets, names
from tritonobs.clients.exposition import read_page
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.extensions.lab import demo as story
from tritonobs.extensions.lab.stack import local
from tritonobs.extensions.lab.stack.processes import Folders, wait_for
from tritonobs.timings.stages import read_stages

pytestmark = pytest.mark.e2e

LIMIT_QPS = 8.0


@pytest.fixture(name="stack")
def _stack_of_its_own(tmp_path):
    """Nothing else sends requests to it, and its latency SLO is one that a busy machine keeps."""
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text((assets.folder("examples") / "fleet.yaml").read_text().replace("500ms", "5s"))
    folders = Folders(root=tmp_path / "state")
    running = local.start(fleet, folders, lambda _: None, robot_double=True, move_ports=True)
    yield running
    local.stop(running)


def test_overflow_reaches_the_robot_and_its_end_does_too(stack, monkeypatch):
    """No message within the limit; one with model, value, limit and stages above it; one when it ends."""
    monkeypatch.setattr(story, "CALM_SECONDS", 25.0)
    url = stack.plan.replicas[0].http_url
    observer = story.Observer(stack)

    calm = story.calm(url, LIMIT_QPS, lambda _: None)
    assert calm.failed == 0
    assert not observer.fires()
    assert observer.messages() == ()

    moments = []
    with story.overflow(url, LIMIT_QPS * story.OVERFLOW_RATIO) as overflow:
        message = story.follow_alert(observer, overflow, moments.append)
        (table, *_) = read_stages(PrometheusClient(stack.address("prometheus")), story.MODEL)
        # A busy machine may need longer for the cause than the message waits; then the page has it first.
        incident = wait_for(lambda: _explained(stack), "the cause of the incident", story.PATIENCE_SECONDS)
    resolved = story.wait_resolved(observer)

    assert [moment.what for moment in moments] == [
        "seen by Prometheus",
        "firing",
        "message accepted by the robot",
    ]
    # Moments are when the test saw it: on a busy machine the robot may be earlier than its look.
    assert _fired_at(stack) <= message.received_at
    assert "**🔴 TritonQpsAboveLimit** inspect" in message.text
    assert "its limit is 8" in message.text
    # No message waits for a Prometheus that answers late.
    assert "> Latency breakdown: " in message.text or _unanswered(stack)
    assert {row.name for row in table.rows} >= {"preprocess", "detector", "nms"}
    assert "🔴" not in resolved.text, observer.troubles()
    page = requests.get(f"{stack.address('serve')}/incidents/{incident['id']}", timeout=10)
    assert page.status_code == 200
    assert "its limit is 8 requests/s" in page.text
    assert (incident["worst"], incident["models"], incident["causes"][0]["check"]) == (
        "critical",
        ["inspect"],
        "qps_limit",
    )
    assert "**Resolved after " in resolved.text
    assert f"/incidents/{incident['id']})" in resolved.text


def _fired_at(stack):
    """When Prometheus first saw the alert fire, in Unix seconds."""
    firing = f'ALERTS{{alertname="{names.ALERT_QPS_ABOVE_LIMIT}", alertstate="firing"}}'
    first = f"min_over_time(timestamp({firing})[10m:1s])"
    (reading,) = PrometheusClient(stack.address("prometheus")).query(first)
    return reading.value


def _unanswered(stack):
    """Questions of `serve` that Prometheus did not answer in time."""
    page = read_page(f"{stack.address('serve')}/metrics")
    return page.total(names.EVIDENCE_QUERIES, outcome="failed")


def _explained(stack):
    """The incident as the command shows it, once its cause is known."""
    folder = stack.folders.root / "incidents"
    words = [sys.executable, "-m", "tritonobs", "incidents", "list", "--folder", folder, "--format", "json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout) if done.returncode == 0 else []
    return next((one for one in found if one["causes"]), None)
