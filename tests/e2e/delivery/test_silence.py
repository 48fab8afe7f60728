"""What a real Alertmanager keeps to itself, as configured: alerts in muted hours, effects of a known one."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import datetime, timedelta, timezone

import pytest

from tritonobs.clients.alertmanager import AlertmanagerClient

pytestmark = pytest.mark.e2e

NOTIFY = """\
  alertmanager_file: {own}
"""
OWN = """\
route:
  receiver: theirs
  routes: [{matchers: ['team="muted"'], receiver: dingtalk/oncall, mute_time_intervals: [always]}]
time_intervals: [{name: always, time_intervals: [{times: [{start_time: "00:00", end_time: "24:00"}]}]}]
receivers: [{name: theirs}]
"""


@pytest.fixture(scope="module")
def path(builder, tmp_path_factory):
    """The way of all tests here."""
    with ExitStack() as running:
        folder = tmp_path_factory.mktemp("silence")
        own = folder / "own.yml"
        own.write_text(OWN)
        way = builder(folder=folder, running=running)(notify=NOTIFY.format(own=own))
        yield way
        way.require_no_secret_written()


def test_mute_time_is_kept(path) -> None:
    """Alertmanager says that it did not tell, and nobody heard of it; outside of the route it does."""
    path.post("muted", team="muted")
    path.post("heard")
    path.wait(lambda: "route is within mute time" in path.managers[0].log.read_text())
    path.wait(lambda: path.named() == ["heard firing"])


INHIBITED = [
    pytest.param(
        {"alertname": "TritonServerDown", "replica": "a"},
        {"alertname": "TritonWorkerDead", "model": "w", "replica": "a"},
        {"alertname": "TritonWorkerDead", "model": "w", "replica": "b"},
        id="a server that is down speaks for its workers, not for another's",
    ),
    pytest.param(
        {"alertname": "TritonQpsAboveLimit", "model": "inspect"},
        {"alertname": "TritonQpsNearLimit", "model": "nms", "version": "1"},
        {"alertname": "TritonSaturated", "model": "nms", "version": "1"},
        id="a pipeline speaks for the limits of its members, not for what may have caused it",
    ),
    pytest.param(
        {"alertname": "TritonQpsAboveLimit", "model": "inspect", "version": "1"},
        {"alertname": "TritonQpsSpike", "model": "nms"},
        {"alertname": "TritonQpsNearLimit", "model": "other", "version": "1"},
        id="a pipeline speaks for its members, not for other models",
    ),
    pytest.param(
        {"alertname": "TritonQpsAboveLimit", "model": "m", "version": "1"},
        {"alertname": "TritonQpsNearLimit", "model": "m", "version": "1"},
        {"alertname": "TritonQpsNearLimit", "model": "m", "version": "2"},
        id="a page speaks for the warning of its own subject",
    ),
    pytest.param(
        {"alertname": "TritonErrorBudgetBurnFast", "model": "b", "version": "1", "slo": "latency"},
        {"alertname": "TritonErrorBudgetBurnSlow", "model": "b", "version": "1", "slo": "latency"},
        {"alertname": "TritonErrorBudgetBurnSlow", "model": "b", "version": "1", "slo": "availability"},
        id="a fast burn speaks for the slow one of its own SLO",
    ),
    pytest.param(
        {"alertname": "TritonErrorBudgetBurnFast", "model": "e", "slo": "availability"},
        {"alertname": "TritonErrorReasonSurge", "model": "e", "version": "1", "reason": "BACKEND"},
        {"alertname": "TritonErrorReasonSurge", "model": "f", "version": "1", "reason": "BACKEND"},
        id="a page about errors speaks for their surge, not for that of another model",
    ),
]


@pytest.mark.parametrize(("cause", "effect", "other"), INHIBITED)
def test_cause_speaks_for_its_effects(path, cause, effect, other) -> None:
    """As Alertmanager itself sees it: the effect is inhibited, what only looks like it is not."""
    ends_at = (datetime.now(timezone.utc) + timedelta(minutes=5)).isoformat()
    (manager,) = path.managers
    # Severity none is nobody's: these are looked at, not told.
    manager.post_alerts(
        *({"labels": {**labels, "severity": "none"}, "endsAt": ends_at} for labels in (cause, effect, other))
    )
    client = AlertmanagerClient(manager.url)

    def inhibited(labels: dict[str, str]) -> list[bool]:
        wanted = {**labels, "severity": "none"}
        return [bool(one.inhibited_by) for one in client.alerts() if one.labels == wanted]

    path.wait(lambda: inhibited(effect) == [True])
    assert (inhibited(cause), inhibited(other)) == ([False], [False])
    client.close()
