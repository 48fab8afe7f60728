"""Receivers that are Alertmanager's own, the dead man's switch, and the test message, as configured."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.e2e


def _test(way, via: str, *more: str) -> subprocess.CompletedProcess[str]:
    argv = [
        sys.executable,
        "-m",
        "tritonobs",
        "notify",
        "test",
        "oncall",
        "--fleet",
        str(way.folder / "fleet.yaml"),
    ]
    return subprocess.run([*argv, "--via", via, *more], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("count", [1, 200])
def test_slack_gets_a_message_within_its_limits(way, service, count: int) -> None:
    """One message for a group, its text short enough for Slack, its labels data."""
    path = way(
        notify="  slack: {vision: {webhook_file: secrets/slack, channel: '#vision'}}\n"
        "  routes: [{match: {severity: critical}, to: slack/vision}]\n",
        more_secrets={"slack": f"{service.url}/services/T0/B0/very-secret-path"},
    )
    path.post(*["inspect"] * 1, stage="<!channel> *x* `y` " + "z" * 2000)
    for number in range(1, count):
        path.post("inspect", stage=f"s{number} " + "z" * 2000)
    assert path.until(lambda: service.posted), path.managers[0].log.read_text()[-3000:]
    assert path.until(lambda: count == 1 or "more" in str(service.posted[-1])), str(service.posted)[-500:]
    where, said = service.posted[-1]
    (attachment,) = said["attachments"]
    assert (where, said["channel"]) == ("/services/T0/B0/very-secret-path", "#vision")
    assert attachment["title"].endswith("TritonQpsAboveLimit inspect")
    assert attachment["color"] == "danger"
    assert len(attachment["text"]) <= 12_000
    assert "<!channel>" not in attachment["text"]
    assert "TritonQpsAboveLimit inspect stage" in attachment["text"]


def test_watchdog_reaches_the_dead_mans_switch_again_and_again(way, service) -> None:
    """Through serve, which has the secret address: silence there means that something on the way is dead."""
    path = way(
        notify="  dead_man: {url_file: secrets/ping, every: 15s}\n",
        more_secrets={"ping": f"{service.url}/ping/very-secret-path"},
    )
    path.post("", alertname="Watchdog", severity="none")
    assert path.until(lambda: len(service.posted) >= 3), path.managers[0].log.read_text()[-3000:]
    assert {where for where, _ in service.posted} == {"/ping/very-secret-path"}
    assert path.told() == []


@pytest.mark.parametrize("via", ["alertmanager", "serve", "direct"])
def test_test_message_arrives(way, via: str) -> None:
    """By whichever way, and the command says so."""
    path = way()
    done = _test(path, via)
    assert (done.returncode, done.stdout) == (0, "robot oncall accepted a test message\n"), done.stderr
    assert "TritonobsTest" in path.robot.messages[-1].text


def test_test_message_that_fails_says_where(way) -> None:
    """An exit code, the vendor's words, no secret."""
    path = way()
    path.robot.secret = path.robot.rules.secret = "SECother"
    for via in ("serve", "direct"):
        done = _test(path, via)
        assert done.returncode == 3
        assert "DingTalk said 310000: sign not match" in done.stderr
    path.managers[0].kill()
    done = _test(path, "alertmanager")
    assert done.returncode == 3
    assert "/api/v2/alerts: connection refused" in done.stderr
