"""Whatever breaks between an alert and its message, the alert is told exactly as long as it matters."""

from __future__ import annotations

import time

import pytest

from tritonobs.testing.robot import Fault

pytestmark = pytest.mark.e2e

FAULTS = {
    "http-500": Fault.STATUS_500,
    "reset": Fault.RESET,
    "garbage": Fault.GARBAGE,
    "busy": Fault.BUSY,
    "unknown": Fault.UNKNOWN,
    "timeout": Fault.TIMEOUT,
}


def test_every_refusal_is_overcome(way) -> None:
    """Six robots fail twice, each in its own way: each tells its alert once, as soon as it can again.

    There are, too, a robot with a wrong secret (310000), which tells when its file is repaired, and one that
    counts bytes more strictly (460101), which tells with less text.
    """
    robots = [*FAULTS, "signature", "strict"]
    routes = "".join(f"    - {{match: {{model: {name}}}, to: dingtalk/{name}}}\n" for name in robots)
    path = way(*robots, notify=f"  routes:\n{routes}")
    for name, fault in FAULTS.items():
        path.robots[name].fail(fault, times=2)
    good = path.robots["signature"].secret
    secret_file = path.folder / "secrets" / "signature-secret"
    secret_file.write_text("SECwrong")
    path.robots["strict"].rules.most_bytes = 400
    path.post(*robots)
    assert path.until(lambda: path.robots["signature"].attempts), path.evidence()
    assert path.robots["signature"].attempts[0].outcome == 310000
    secret_file.write_text(good)
    for name in robots:
        assert path.until(lambda name=name: path.told(name) == [f"{name} firing"], seconds=60), (
            path.evidence()
        )
    assert 460101 in [attempt.outcome for attempt in path.robots["strict"].attempts]
    time.sleep(3)
    assert {name: path.told(name) for name in robots} == {name: [f"{name} firing"] for name in robots}


def test_lost_answer_may_be_told_twice_but_not_lost(way) -> None:
    """The robot accepted, the answer got lost: nobody can know, so it is told once more, not for ever."""
    path = way()
    path.robot.fail(Fault.LOST_ANSWER)
    path.post("inspect")
    assert path.until(lambda: len(path.told()) == 2), path.evidence()
    time.sleep(12)
    assert path.told() == ["inspect firing"] * 2


def test_stand_in_tells_while_the_first_is_mute(way) -> None:
    """In the same call, so that Alertmanager does not even notice."""
    path = way("oncall", "backup", fields={"oncall": ", failover: [backup]"})
    path.robot.fail(Fault.MUTE)
    path.post("inspect")
    assert path.until(lambda: path.told("backup") == ["inspect firing"], seconds=10), path.evidence()
    assert path.told("oncall") == []


def test_serve_killed_with_calls_waiting_loses_nothing(way) -> None:
    """SIGKILL while the robot keeps it waiting; its successor tells every alert once."""
    path = way()
    path.robot.fail(Fault.TIMEOUT)
    models = [f"m{number}" for number in range(5)]
    path.post(*models)
    assert path.until(lambda: path.robot.attempts), path.evidence()
    path.serve.kill()
    assert path.told() == []
    path.serve.start()
    assert path.until(lambda: len(path.told()) >= 5), path.evidence()
    time.sleep(12)
    assert sorted(path.told()) == [f"{model} firing" for model in models]


def test_serve_stopped_sends_waiting_calls_away_first(way) -> None:
    """SIGTERM ends it well; calls come again, and the news is told by its successor."""
    path = way()
    path.post("first")
    assert path.until(lambda: path.told() == ["first firing"]), path.evidence()
    path.post("second")
    time.sleep(2)
    assert path.serve.stop() == 0
    path.serve.start()
    assert path.until(lambda: path.told() == ["first firing", "second firing"]), path.evidence()


def test_alertmanager_restarted_repeats_nothing(way) -> None:
    """Its own log of notifications survives; a resolution after it is told."""
    path = way()
    (manager,) = path.managers
    path.post("inspect")
    assert path.until(lambda: path.told() == ["inspect firing"]), path.evidence()
    manager.stop()
    manager.start()
    path.post("inspect")
    time.sleep(13)
    assert path.told() == ["inspect firing"]
    path.post("inspect", resolved=True)
    assert path.until(lambda: path.told() == ["inspect firing", "inspect resolved"]), path.evidence()


def test_two_alertmanagers_tell_once_and_one_is_enough(way) -> None:
    """In a cluster both have the alert and one tells it; when that one dies, the other goes on."""
    path = way(managers=2)
    path.post("inspect")
    assert path.until(lambda: path.told() == ["inspect firing"]), path.evidence()
    time.sleep(18)
    assert path.told() == ["inspect firing"]
    path.managers.pop(0).kill()
    path.post("inspect", resolved=True)
    assert path.until(lambda: path.told() == ["inspect firing", "inspect resolved"], seconds=60), (
        path.evidence()
    )


def test_news_nobody_heard_is_not_told_when_it_is_over(way) -> None:
    """The robot is mute; one alert comes and goes, another one stays: only that one is told afterwards.

    The mute ends here by moving the robot's clock and starting serve anew, which knows nothing of it.
    """
    skipped = [0.0]
    path = way(clock=lambda: time.time() + skipped[0])
    path.post("told-before")
    assert path.until(lambda: path.told() == ["told-before firing"]), path.evidence()
    path.robot.fail(Fault.MUTE)
    path.post("gone", "stays")
    assert path.until(lambda: path.robot.rules.mutes == 1), path.evidence()
    path.post("gone", resolved=True)
    path.post("told-before", resolved=True)
    time.sleep(12)
    path.serve.stop()
    skipped[0] = 601.0
    path.serve.start()
    wanted = ["stays firing", "told-before resolved"]
    assert path.until(lambda: sorted(path.told()[1:]) == wanted), path.evidence()
    time.sleep(12)
    assert sorted(path.told()[1:]) == wanted
