"""Robots of several chats in one fleet: budgets of their own, failover, ends where their beginnings were."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from support.dingtalk import markdown
from support.virtual_time import run_virtual
from tritonobs.chats.chat import Reply, Verdict
from tritonobs.chats.registry import robot_chat, robot_chats
from tritonobs.clients.chat import ChatClient
from tritonobs.delivery.commit import Pace
from tritonobs.delivery.lane import Lane, Outcome
from tritonobs.delivery.metrics import DeliveryMetrics
from tritonobs.delivery.robots import Delivery
from tritonobs.extensions.lab.robot import Fault, RobotDouble
from tritonobs.serve.config import load_served
from tritonobs.tasks import Supervisor

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from tritonobs.plan.notify import Robot

NAMES = [chat.name for chat in robot_chats()]
OTHERS = [name for name in NAMES if name != "dingtalk"]


@pytest.fixture(name="doubles")
def _doubles() -> Iterator[dict[str, RobotDouble]]:
    """A robot of each chat, by its name."""
    with ExitStack() as running:
        yield {name: running.enter_context(RobotDouble(chat=name)) for name in NAMES}


@pytest.fixture(name="fleet")
def _fleet(tmp_path: Path, doubles: dict[str, RobotDouble]) -> Callable[..., Path]:
    """Writes a fleet file with a robot of each chat, called as its chat; `failover` is of the first."""

    def write(*chats: str, failover: tuple[str, ...] = ()) -> Path:
        notify: dict[str, dict[str, dict[str, object]]] = {}
        for name in chats:
            entry: dict[str, object] = {"webhook_file": f"{name}-webhook", **robot_chat(name).example}
            secrets = {f"{name}-webhook": doubles[name].webhook_url}
            if doubles[name].secret:
                entry["secret_file"] = f"{name}-secret"
                secrets[f"{name}-secret"] = doubles[name].secret
            for file, text in secrets.items():
                (tmp_path / file).touch(mode=0o600)
                (tmp_path / file).write_text(text)
            notify[name] = {name: entry}
        if failover:
            notify[chats[0]][chats[0]]["failover"] = failover
        path = tmp_path / "fleet.yaml"
        replicas = [{"name": "a", "url": "http://10.0.0.1:8000"}]
        said = {"fleet": "shop", "replicas": replicas, "models": {"inspect": {}}, "notify": notify}
        path.write_text(json.dumps({**said, "addresses": {"prometheus": "http://127.0.0.1:1"}}))
        return path

    return write


def _deliver(path: Path, steps: Callable[[Delivery, DeliveryMetrics], Awaitable[None]]) -> None:
    async def main() -> None:
        metrics, served = DeliveryMetrics(), load_served(path)
        delivery = Delivery(
            served.plan,
            served.templates,
            ChatClient(timeout_seconds=1.0),
            metrics=metrics,
            supervisor=Supervisor(),
            pace=Pace(linger_seconds=0.01, hold_seconds=5.0),
        )
        for lane in delivery._lanes.values():
            # In its first minute, a robot's messages are far apart.
            lane._started -= 120
        try:
            await steps(delivery, metrics)
        finally:
            await delivery.close()

    asyncio.run(main())


@pytest.mark.parametrize("name", NAMES)
def test_200_only_after_a_message_that_names_all_was_accepted(
    fleet, doubles, alert, payload, name: str
) -> None:
    """With a robot that refuses it is "come again"; afterwards one message names everything, once."""
    alerts = [alert(model=f"m{at}", fingerprint=f"f{at}") for at in range(5)]

    async def steps(delivery: Delivery, metrics: DeliveryMetrics) -> None:
        doubles[name].fail(Fault.REVOKED)
        committer = delivery.committer(name, name)
        refused = await committer.commit(payload(*alerts))
        assert not refused.accepted
        assert robot_chat(name).title in refused.reason
        # The pause after a refusal is 2 s; the call of a repeat is held for it.
        assert (await committer.commit(payload(*alerts))).accepted
        labels = {"robot": name, "chat": name}
        assert metrics.registry.get_sample_value("tritonobs_robot_info", labels) == 1

    _deliver(fleet(name), steps)
    said = "\n".join(message.text for message in doubles[name].messages)
    assert [said.count(f"m{at} version 1") for at in range(5)] == [1] * 5


@pytest.mark.parametrize("first", NAMES)
def test_a_robot_of_another_chat_takes_over_and_the_end_goes_where_the_beginning_was(
    fleet, doubles, alert, payload, first: str
) -> None:
    """A muted robot's alert goes to another chat within the same call; so does its end, and to no other."""
    second = next(name for name in NAMES if name != first)

    async def steps(delivery: Delivery, _: DeliveryMetrics) -> None:
        committer = delivery.committer(first, first)
        doubles[first].fail(Fault.REVOKED)
        assert (await committer.commit(payload(alert()))).accepted
        assert (await committer.commit(payload(alert(status="resolved")))).accepted

    _deliver(fleet(first, second, failover=(second,)), steps)
    assert doubles[first].messages == []
    icons = ["🔴" in message.text for message in doubles[second].messages]
    assert icons == [True, False]
    assert "✅" in doubles[second].messages[1].text


def test_a_call_for_a_robot_of_another_chat_is_for_no_one(fleet) -> None:
    """The path names the chat, too."""

    async def steps(delivery: Delivery, _: DeliveryMetrics) -> None:
        assert delivery.committer("feishu", "feishu") is not None
        assert delivery.committer("feishu", "dingtalk") is None

    _deliver(fleet("feishu"), steps)


def test_a_name_that_moves_to_another_chat_is_another_robot(fleet, doubles, alert, payload) -> None:
    """Its budget, its chat's limits and its label are the new chat's."""

    async def steps(delivery: Delivery, metrics: DeliveryMetrics) -> None:
        path = fleet("feishu")
        path.write_text(path.read_text().replace('"feishu": {"feishu"', '"feishu": {"oncall"'))
        served = load_served(path)
        delivery.apply(served.plan, served.templates)
        assert (await delivery.committer("oncall", "feishu").commit(payload(alert()))).accepted
        path = fleet("wecom")
        path.write_text(path.read_text().replace('"wecom": {"wecom"', '"wecom": {"oncall"'))
        served = load_served(path)
        delivery.apply(served.plan, served.templates)
        assert delivery.committer("oncall", "feishu") is None
        assert (await delivery.committer("oncall", "wecom").commit(payload(alert(model="other")))).accepted
        value = metrics.registry.get_sample_value
        assert value("tritonobs_robot_info", {"robot": "oncall", "chat": "feishu"}) is None
        assert value("tritonobs_robot_info", {"robot": "oncall", "chat": "wecom"}) == 1

    _deliver(fleet("feishu"), steps)
    assert [len(doubles[name].messages) for name in ("feishu", "wecom")] == [1, 1]


def test_a_webhook_of_another_chat_gets_nothing_and_does_not_stop_other_robots(
    fleet, doubles, alert, payload
) -> None:
    """The caller comes again and reads why, without the address; it is not posted to."""

    async def steps(delivery: Delivery, _: DeliveryMetrics) -> None:
        refused = await delivery.committer("feishu", "feishu").commit(payload(alert()))
        assert "the webhook is not Feishu's" in refused.reason
        assert doubles["dingtalk"].rules.token not in refused.reason
        assert (await delivery.committer("wecom", "wecom").commit(payload(alert()))).accepted

    path = fleet("feishu", "wecom")
    (path.parent / "feishu-webhook").write_text(doubles["dingtalk"].webhook_url)
    _deliver(path, steps)
    assert doubles["dingtalk"].attempts == []


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize(("said", "least", "most"), [(3.0, 3.0, 5.0), (None, 30.0, 66.0)])
def test_429_mutes_for_as_long_as_it_says(
    robot, name: str, said: float | None, least: float, most: float
) -> None:
    """Without a time, for as long as the chat's limit lasts; then it is used again."""
    answers = [Reply(verdict=Verdict.TOO_FAST, code="429", pause_seconds=said)]

    async def send(_: Robot, __: object) -> Reply:
        return answers.pop() if answers else Reply(verdict=Verdict.ACCEPTED, code="0")

    async def main() -> None:
        loop = asyncio.get_running_loop()
        lane = Lane(robot(chat=name), send, DeliveryMetrics(), now=loop.time() - 120)
        message = markdown(title="t", text="x")
        assert await lane.send(message) is Outcome.REFUSED
        assert lane.muted(loop.time())
        wait = lane.ready_at(loop.time()) - loop.time()
        assert least <= wait <= most
        await asyncio.sleep(wait)
        assert await lane.send(message) is Outcome.TAKEN

    run_virtual(main())


@pytest.mark.parametrize("name", OTHERS)
def test_messages_of_one_digest_keep_the_pace_of_a_second(robot, name: str) -> None:
    """Where a vendor counts by the second, too."""
    times: list[float] = []

    async def send(_: Robot, __: object) -> Reply:
        times.append(asyncio.get_running_loop().time())
        return Reply(verdict=Verdict.ACCEPTED, code="0")

    async def main() -> None:
        loop = asyncio.get_running_loop()
        lane = Lane(robot(chat=name), send, DeliveryMetrics(), now=loop.time())
        for _ in range(4):
            await asyncio.sleep(lane.open_at(loop.time()) - loop.time())
            await lane.send(markdown(title="t", text="x"))

    run_virtual(main())
    spacing = robot_chat(name).spacing_seconds
    assert [later - earlier > spacing - 1e-6 for earlier, later in pairwise(times)] == [True] * 3
