"""A QPS limit on the running stack: silent below it, told above it, told again when it is over."""

import pytest

from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.extensions.lab import demo as story
from tritonobs.extensions.lab.stack import local
from tritonobs.extensions.lab.stack.services import Folders
from tritonobs.timings.stages import read_stages

pytestmark = pytest.mark.e2e

LIMIT_QPS = 8.0


@pytest.fixture(name="stack")
def _stack_of_its_own(tmp_path):
    """Nothing else sends requests to it, and no other test's alert is still firing there."""
    running = local.start(None, Folders(root=tmp_path), lambda _: None, move_ports=True)
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
    with story.Overflow(url, LIMIT_QPS * story.OVERFLOW_RATIO) as overflow:
        message = story.follow_alert(observer, overflow, moments.append)
        (table, *_) = read_stages(PrometheusClient(stack.address("prometheus")), story.MODEL)
    before = len(observer.messages())
    resolved = story.wait_resolved(observer, before)

    assert [moment.what for moment in moments] == [
        "seen by Prometheus",
        "firing",
        "message accepted by the robot",
    ]
    assert [moment.seconds for moment in moments] == sorted(moment.seconds for moment in moments)
    assert "**🔴 TritonQpsAboveLimit** inspect" in message.text
    assert "its limit is 8" in message.text
    assert "> Time goes to: " in message.text
    assert {row.name for row in table.rows} >= {"preprocess", "detector", "nms"}
    assert "🔴" not in resolved.text
