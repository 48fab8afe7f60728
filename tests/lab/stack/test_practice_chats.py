"""A practice stack sends to a local robot of any chat, whatever chats the fleet file names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tritonobs import assets
from tritonobs.extensions.lab.stack.local import make_robot, write_practice_fleet
from tritonobs.extensions.lab.vendors import VENDORS
from tritonobs.plan.build import build_plan
from tritonobs.serve.config import load_served
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from pathlib import Path

MIXED = """\
fleet: shop
replicas: [{name: a, url: "http://10.0.0.1:8000"}]
models: {inspect: {}}
notify:
  dingtalk: {oncall: {webhook_env: A, language: zh, failover: [other], mention: [{mobiles: ["138"]}]}}
  feishu: {other: {webhook_env: B, messages_per_minute: 90}}
  slack: {vision: {webhook_file: slack}, more: {via: serve, webhook_env: C}}
  routes: [{to: [dingtalk/oncall, feishu/other, slack/vision]}, {to: slack/more}]
"""


@pytest.mark.parametrize("chat", VENDORS)
def test_the_example_sends_to_a_robot_of_the_chat(tmp_path: Path, chat: str) -> None:
    """Its secrets are what serve takes."""
    robot = make_robot(tmp_path, chat)

    write_practice_fleet(
        assets.folder("examples") / "fleet.yaml", tmp_path / "fleet.yaml", robot, move_ports=True
    )

    (one,) = load_served(tmp_path / "fleet.yaml").plan.notify.robots
    assert (one.chat, one.webhook.file, bool(one.secret)) == (
        chat,
        robot.webhook_file,
        VENDORS[chat].signed is not None,
    )


@pytest.mark.parametrize("chat", VENDORS)
def test_every_robot_of_a_fleet_is_the_local_one(tmp_path: Path, chat: str) -> None:
    """With its routes; a channel that Alertmanager sends to stays."""
    (tmp_path / "own.yaml").write_text(MIXED)
    robot = make_robot(tmp_path, chat)

    write_practice_fleet(tmp_path / "own.yaml", tmp_path / "fleet.yaml", robot, move_ports=False)

    notify = build_plan(load_fleet(tmp_path / "fleet.yaml"), tmp_path).notify
    assert {one.receiver for one in notify.robots} == {
        f"{chat}/{name}" for name in ("oncall", "other", "more")
    }
    assert [channel.receiver for channel in notify.channels] == ["slack/vision"]
    assert notify.routes[0].to == (f"{chat}/oncall", f"{chat}/other", "slack/vision")
    oncall = next(one for one in notify.robots if one.name == "oncall")
    assert (oncall.language, oncall.failover, bool(oncall.mentions)) == ("zh", ("other",), chat == "dingtalk")


def test_a_stack_on_free_ports_uses_no_other(tmp_path: Path) -> None:
    """Neither what the fleet file says nor, where it says nothing, what is usual."""
    (tmp_path / "own.yaml").write_text(
        'fleet: shop\nreplicas: [{name: a, url: "http://127.0.0.1:8000"}]\nmodels: {inspect: {}}\n'
    )
    plans = []
    for name, move_ports in (("usual", False), ("moved", True)):
        write_practice_fleet(tmp_path / "own.yaml", tmp_path / f"{name}.yaml", None, move_ports=move_ports)
        plans.append(build_plan(load_fleet(tmp_path / f"{name}.yaml"), tmp_path))

    usual, moved = (
        {
            *(plan.addresses.prometheus_url, plan.addresses.alertmanager_url, plan.addresses.serve_url),
            *(plan.replicas[0].http_url, plan.replicas[0].metrics_url),
        }
        for plan in plans
    )

    assert len(usual) == len(moved) == 5
    assert usual & moved == set()
