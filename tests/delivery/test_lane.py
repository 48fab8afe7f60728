"""A lane keeps its robot within the vendor's limits, whatever happens to the process."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from support.dingtalk import markdown, reply
from support.virtual_time import run_virtual
from tritonobs.chats.chat import Message, Reply
from tritonobs.chats.dingtalk import MOST_BYTES
from tritonobs.delivery.lane import Lane, Outcome
from tritonobs.delivery.metrics import DeliveryMetrics
from tritonobs.errors import BadAnswer, ConnectionBroken, SecretUnusable, TimedOut, Unreachable
from tritonobs.extensions.lab.robot import RobotRules

if TYPE_CHECKING:
    from collections.abc import Callable

    from tritonobs.plan.notify import Robot

MESSAGE = markdown(title="t", text="x")
OK = reply(errcode=0, errmsg="ok")


class _Vendor:
    """Answers with what it is told, else by the vendor's rules; notes when."""

    def __init__(self, *answers: Reply | Exception) -> None:
        self.answers = list(answers)
        self.rules = RobotRules(token="")
        self.times: list[float] = []

    async def send(self, robot: Robot, message: Message) -> Reply:
        assert robot.name == "oncall"
        now = asyncio.get_running_loop().time()
        self.times.append(now)
        if not self.answers:
            judgement, _ = self.rules.judge({"access_token": ""}, message.body(), now)
            return reply(errcode=judgement.errcode, errmsg=judgement.errmsg)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def _as_fast_as_allowed(lane: Lane, until: float) -> None:
    loop = asyncio.get_running_loop()
    while (ready := lane.ready_at(loop.time())) < until:
        await asyncio.sleep(ready - loop.time())
        await lane.send(MESSAGE)
    await asyncio.sleep(until - loop.time())


@pytest.fixture
def lane(robot) -> Callable[..., Lane]:
    """Makes a lane that begins now."""

    def make(vendor: _Vendor, **more: object) -> Lane:
        now = asyncio.get_running_loop().time()
        return Lane(robot(**more), vendor.send, DeliveryMetrics(), now=now)

    return make


def test_a_lane_in_a_hurry_is_never_muted(lane) -> None:
    """Sending whenever allowed for ten minutes stays within 20 a minute, at 14 a minute in the long run."""
    vendor = _Vendor()

    async def main() -> None:
        await _as_fast_as_allowed(lane(vendor), 600)

    run_virtual(main())
    assert vendor.rules.mutes == 0
    assert 120 <= len(vendor.times) <= 140


@pytest.mark.parametrize("killed_at", range(1, 190, 7))
def test_a_restart_does_not_cost_a_mute(lane, killed_at: int) -> None:
    """The last minute of a killed process and the first of its successor stay within the limit together."""
    vendor = _Vendor()

    async def main() -> None:
        await _as_fast_as_allowed(lane(vendor), killed_at)
        await _as_fast_as_allowed(lane(vendor), killed_at + 180)

    run_virtual(main())
    assert vendor.rules.mutes == 0


def test_first_message_goes_at_once(lane) -> None:
    """A page does not wait for a budget nobody has touched."""

    async def main() -> None:
        now = asyncio.get_running_loop().time()
        assert lane(_Vendor()).ready_at(now) == now

    run_virtual(main())


def test_mute_silences_for_ten_minutes(lane) -> None:
    """After 130101 nothing goes for 600 s and a margin, and the budget says 0."""
    vendor = _Vendor(reply(errcode=130101, errmsg="send too fast"))

    async def main() -> None:
        loop = asyncio.get_running_loop()
        one = lane(vendor)
        assert await one.send(MESSAGE) is Outcome.REFUSED
        assert one.muted(loop.time())
        assert one.remaining(loop.time()) == 0
        assert 600 < one.ready_at(loop.time()) <= 610
        assert "130101" in one.trouble
        await asyncio.sleep(610)
        assert not one.muted(loop.time())
        assert await one.send(MESSAGE) is Outcome.TAKEN
        assert one.trouble == ""

    run_virtual(main())


@pytest.mark.parametrize(
    ("answer", "trouble", "outcome"),
    [
        pytest.param(reply(errcode=-1, errmsg="busy"), "DingTalk said -1: busy", Outcome.REFUSED, id="busy"),
        pytest.param(
            reply(errcode=310000, errmsg="sign not match"), "310000", Outcome.REFUSED, id="signature"
        ),
        pytest.param(reply(errcode=987654, errmsg="?"), "987654", Outcome.ODD, id="an unknown errcode"),
        pytest.param(Unreachable("refused"), "refused", Outcome.REFUSED, id="no connection"),
        pytest.param(SecretUnusable("missing"), "missing", Outcome.REFUSED, id="secret taken away"),
        pytest.param(TimedOut("no answer"), "no answer", Outcome.UNKNOWN, id="timeout"),
        pytest.param(ConnectionBroken("broken"), "broken", Outcome.UNKNOWN, id="broken connection"),
        pytest.param(BadAnswer("answered 500"), "500", Outcome.UNKNOWN, id="500"),
        pytest.param(KeyError("slip"), "KeyError", Outcome.UNKNOWN, id="a slip of ours"),
    ],
)
def test_trouble_makes_pauses_that_grow_to_a_minute(
    lane, answer: Reply | Exception, trouble: str, outcome: Outcome
) -> None:
    """Every refusal is tried again later, never at once, never given up; a lost answer is no refusal."""

    async def main() -> list[float]:
        loop = asyncio.get_running_loop()
        one = lane(_Vendor(*[answer] * 8))
        waits = []
        for _ in range(8):
            assert await one.send(MESSAGE) is outcome
            assert trouble in one.trouble
            waits.append(one.ready_at(loop.time()) - loop.time())
            await asyncio.sleep(waits[-1])
        return waits

    waits = run_virtual(main())
    assert waits[0] >= 2
    assert waits == sorted(waits)
    assert waits[-1] == 60


def test_too_long_is_tried_shorter_at_once(lane) -> None:
    """When the vendor counts bytes otherwise than we do, the next message gets less room, and no pause."""

    async def main() -> None:
        one = lane(_Vendor(reply(errcode=460101, errmsg="too long")))
        long = markdown(title="t", text="x" * 15_000)
        assert await one.send(long) is Outcome.REFUSED
        assert one.most_bytes < len(long.body())

    run_virtual(main())


def test_too_long_is_about_a_short_message_itself(lane) -> None:
    """Feishu says 9499 of any card that it does not take; the next messages stay as large as they were."""

    async def main() -> None:
        one = lane(_Vendor(reply(errcode=460101, errmsg="too long")))
        assert await one.send(MESSAGE) is Outcome.SHORT
        assert one.most_bytes == MOST_BYTES
        assert one.open_at(asyncio.get_running_loop().time()) == asyncio.get_running_loop().time()

    run_virtual(main())


def test_an_hour_later_messages_are_as_long_again(lane) -> None:
    """The answer may have been about something else."""

    async def main() -> None:
        one = lane(_Vendor(reply(errcode=460101, errmsg="too long")))
        await one.send(markdown(title="t", text="x" * 15_000))
        for _ in range(2):
            assert one.most_bytes < MOST_BYTES
            await asyncio.sleep(1900)
            assert await one.send(MESSAGE) is Outcome.TAKEN
        assert one.most_bytes == MOST_BYTES

    run_virtual(main())


def test_what_waits_for_its_turn_is_counted(lane) -> None:
    """Three that come at once while one message is left: it is sent, and the others go elsewhere."""
    vendor = _Vendor()

    async def main() -> None:
        one = lane(vendor)
        now = asyncio.get_running_loop().time()
        while one.remaining(now) > 1:
            assert await one.send(MESSAGE) is Outcome.TAKEN
        outcomes = await asyncio.gather(*(one.send(MESSAGE) for _ in range(3)))
        assert sorted(outcome.name for outcome in outcomes) == ["REFUSED", "REFUSED", "TAKEN"]
        assert len(vendor.times) == one.allowed(now)

    run_virtual(main())


def test_a_smaller_budget_holds_for_what_was_sent_before_it(lane, robot) -> None:
    """A reload lowers it while more were sent in this minute: the next one goes when few enough are left."""
    vendor = _Vendor()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        one = lane(vendor)
        # After the first minute, in which less is allowed.
        await asyncio.sleep(100)
        for _ in range(8):
            assert await one.send(MESSAGE) is Outcome.TAKEN
            await asyncio.sleep(2)
        one.robot = robot(messages_per_minute=4)
        assert one.allowed(loop.time()) == 3
        assert one.remaining(loop.time()) == 0
        # Six of the eight have to be a minute old, the last of them that of second 110.
        assert one.open_at(loop.time()) == 110 + 60
        await asyncio.sleep(110 + 60 - loop.time())
        assert one.remaining(loop.time()) == 1

    run_virtual(main())


def test_smaller_budget_is_kept(lane) -> None:
    """A robot shared with others gets fewer messages a minute."""
    vendor = _Vendor()

    async def main() -> None:
        await _as_fast_as_allowed(lane(vendor, messages_per_minute=4), 600)

    run_virtual(main())
    busiest = max(sum(start <= one < start + 60 for one in vendor.times) for start in vendor.times)
    assert busiest <= 3
