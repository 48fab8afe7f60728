"""All robots together, through reloads of the fleet file; against strict robots."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tritonobs.clients.chat import ChatClient
from tritonobs.delivery.commit import Answer, Pace
from tritonobs.delivery.composer import Said
from tritonobs.delivery.metrics import DeliveryMetrics
from tritonobs.delivery.robots import Above, Delivery
from tritonobs.extensions.lab.robot.robot import Fault, RobotDouble
from tritonobs.serve.config import load_served
from tritonobs.tasks import Supervisor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from jinja2 import Template

    from tritonobs.plan.fleet import Plan

FLEET = """\
fleet: shop
cluster: east
replicas: [{{name: a, url: "http://10.0.0.1:8000"}}]
addresses: {{prometheus: "http://127.0.0.1:1", alertmanager: "http://am.shop:9093"}}
models: {{inspect: {{versions: {{"1": {{}}}}}}}}
notify:
  timezone: Asia/Shanghai
  dingtalk: {{oncall: {{webhook_file: webhook, secret_file: secret{robot}}}}}
{notify}
"""
QUICK = Pace(linger_seconds=0.05, hold_seconds=5.0)


@pytest.fixture
def robot() -> Iterator[RobotDouble]:
    """A strict robot."""
    with RobotDouble() as robot:
        yield robot


@pytest.fixture
def write(fleet_file, robot) -> Callable[..., Path]:
    """Writes a fleet file for that robot."""

    def write(fields: str = "", text: str = FLEET) -> Path:
        return fleet_file(robot=fields, webhook=robot.webhook_url, signing=robot.secret, text=text)

    return write


def loaded(path: Path) -> tuple[Plan, Mapping[str, Template]]:
    """The plan and the templates of a fleet file."""
    served = load_served(path)
    return served.plan, served.templates


def _deliver(
    path: Path, steps: Callable[[Delivery, DeliveryMetrics], object], above: Above | None = None
) -> object:
    async def main() -> object:
        metrics = DeliveryMetrics()
        delivery = Delivery(
            *loaded(path),
            ChatClient(timeout_seconds=1.0),
            metrics=metrics,
            supervisor=Supervisor(),
            pace=QUICK,
            above=above,
        )
        try:
            return await steps(delivery, metrics)
        finally:
            await delivery.close()

    return asyncio.run(main())


def test_message_is_in_the_robots_own_language_time_and_place(write, robot, alert, payload) -> None:
    """Chinese words, Shanghai time, the fleet and its cluster, a silence at the fleet's Alertmanager."""

    async def steps(delivery: Delivery, _: DeliveryMetrics) -> None:
        assert (await delivery.committer("oncall", "dingtalk").commit(payload(alert()))).accepted

    _deliver(write("language: zh"), steps)
    text = robot.messages[0].text
    assert text.startswith("#### 🔴 1 条告警中 · shop / east")
    assert "严重 · 自 03-01 20:00:00 CST 起" in text
    assert "[静默](http://am.shop:9093/#/silences/new?filter=" in text


def test_people_are_called(write, robot, alert, payload) -> None:
    """Those whose rule the alert matches."""
    rules = 'mention: [{match: {severity: critical}, mobiles: ["138"]}, {match: {team: nlp}, users: [lee]}]'

    async def steps(delivery: Delivery, _: DeliveryMetrics) -> None:
        await delivery.committer("oncall", "dingtalk").commit(payload(alert()))

    _deliver(write(rules), steps)
    (message,) = robot.messages
    assert (message.mobiles, message.user_ids) == (("138",), ())
    assert message.text.endswith("@138")


def test_reload_keeps_budget_and_mute(write, robot, alert, payload) -> None:
    """A new fleet file is no way around the vendor's limits."""

    async def steps(delivery: Delivery, metrics: DeliveryMetrics) -> None:
        robot.fail(Fault.MUTE)
        assert not (await delivery.committer("oncall", "dingtalk").commit(payload(alert()))).accepted
        delivery.apply(*loaded(write("language: zh")))
        delivery.measure()
        labels = {"robot": "oncall"}
        assert metrics.registry.get_sample_value("tritonobs_robot_muted", labels) == 1
        assert metrics.registry.get_sample_value("tritonobs_robot_budget_remaining", labels) == 0

    _deliver(write(), steps)


def test_robot_that_goes_answers_its_callers_and_leaves_no_gauge(write, alert, payload) -> None:
    """Come again: Alertmanager still uses the old name until it, too, has the new configuration."""

    async def steps(delivery: Delivery, metrics: DeliveryMetrics) -> None:
        old = delivery.committer("oncall", "dingtalk")
        call = asyncio.create_task(old.commit(payload(alert())))
        await asyncio.sleep(0)
        delivery.apply(*loaded(write(text=FLEET.replace("oncall", "other"))))
        assert await call == Answer(accepted=False, reason="robot oncall is no longer in the fleet file")
        assert delivery.committer("oncall", "dingtalk") is None
        delivery.measure()
        assert metrics.registry.get_sample_value("tritonobs_robot_muted", {"robot": "oncall"}) is None
        assert metrics.registry.get_sample_value("tritonobs_robot_muted", {"robot": "other"}) == 0

    _deliver(write(), steps)


def test_new_secret_in_the_file_is_used_at_once(write, robot, alert, payload, tmp_path) -> None:
    """Without a reload, without a restart."""

    async def steps(delivery: Delivery, _: DeliveryMetrics) -> None:
        robot.rules.secret = "SECnew"
        (tmp_path / "secret").write_text("SECnew")
        assert (await delivery.committer("oncall", "dingtalk").commit(payload(alert()))).accepted

    _deliver(write(), steps)


def test_secret_that_becomes_readable_is_used_no_more(write, robot, alert, payload, tmp_path) -> None:
    """The caller is told why, and to come again."""

    async def steps(delivery: Delivery, _: DeliveryMetrics) -> Answer:
        (tmp_path / "secret").chmod(0o644)
        return await delivery.committer("oncall", "dingtalk").commit(payload(alert()))

    answer = _deliver(write(), steps)
    assert not answer.accepted
    assert "every user can read" in answer.reason
    assert robot.attempts == []


async def _said(alerts, robot):
    return (Said(f"{robot.name} has {len(alerts)} ](http://evil/) <b>"),)


async def _fails(*_):
    raise RuntimeError("a slip")


async def _takes_too_long(*_):
    await asyncio.sleep(60)


@pytest.fixture
def one_alert(alert, payload, monkeypatch):
    """A call, and a fifth of a second for what stands above it."""
    monkeypatch.setattr("tritonobs.delivery.robots._ABOVE_SECONDS", 0.2)
    return payload(alert())


@pytest.mark.parametrize(
    ("above", "begins"),
    [
        pytest.param(_said, "**oncall has 1 ] (http://evil/) \u2039b\u203a**", id="said"),
        pytest.param(_fails, "**🔴 TritonQpsAboveLimit**", id="fails"),
        pytest.param(_takes_too_long, "**🔴 TritonQpsAboveLimit**", id="takes too long"),
        pytest.param(None, "**🔴 TritonQpsAboveLimit**", id="nobody says anything"),
    ],
)
def test_what_is_wrong_stands_above_and_no_message_fails_or_waits_for_it(
    write, robot, one_alert, above, begins
) -> None:
    """What names hold stays data."""

    async def steps(delivery: Delivery, _: DeliveryMetrics) -> None:
        assert (await delivery.committer("oncall", "dingtalk").commit(one_alert)).accepted

    _deliver(write(), steps, above)
    _headline, first, *_ = [line for line in robot.messages[0].text.splitlines() if line]
    assert first.startswith(begins)
