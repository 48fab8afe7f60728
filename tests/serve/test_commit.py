"""Group commit: one digest for all who wait, answered when it was accepted; nothing lost, nothing twice."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from tritonobs.clients.dingtalk import MOST_BYTES, Markdown, Reply
from tritonobs.errors import TimedOut
from tritonobs.serve.commit import Answer, Committer, Pace
from tritonobs.serve.lane import Lane
from tritonobs.serve.metrics import DeliveryMetrics
from tritonobs.testing.virtual_time import run_virtual

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tritonobs.plan.notify import Robot
    from tritonobs.serve.payload import Alert

OK, MUTED = Reply(errcode=0, errmsg="ok"), Reply(errcode=130101, errmsg="send too fast")
REFUSED = Reply(errcode=310000, errmsg="sign not match")


@dataclass(frozen=True, kw_only=True)
class _Page:
    message: Markdown
    states: frozenset[tuple[str, str, str]]


@dataclass(kw_only=True)
class Bench:
    """A committer with robots that answer as told; `sent` is (second, robot, names in the message)."""

    committer: Committer
    lanes: list[Lane]
    sent: list[tuple[float, str, list[str]]] = field(default_factory=list)
    answers: dict[str, list[Reply | Exception]] = field(default_factory=dict)
    delay_seconds: float = 0.0
    page_size: int = 100
    slips: list[Exception] = field(default_factory=list)

    async def send(self, robot: Robot, message: Markdown) -> Reply:
        """The robot's next answer; accepted when it has none left."""
        await asyncio.sleep(self.delay_seconds)
        queue = self.answers.get(robot.name, [])
        answer = queue.pop(0) if queue else OK
        if isinstance(answer, Exception):
            raise answer
        if answer.errcode == 0:
            names = message.text.split()
            self.sent.append((asyncio.get_running_loop().time(), robot.name, names))
        return answer

    async def compose(self, alerts: Sequence[Alert], robot: Robot, most_bytes: int) -> list[_Page]:
        """Pages of `page_size` names."""
        assert (robot.language, most_bytes) == ("en", MOST_BYTES)
        if self.slips:
            raise self.slips.pop()
        pages = [alerts[at : at + self.page_size] for at in range(0, len(alerts), self.page_size)]
        return [
            _Page(
                message=Markdown(
                    title="t", text=" ".join(f"{one.labels['model']}:{one.status}" for one in page)
                ),
                states=frozenset(one.state for one in page),
            )
            for page in pages
        ]

    @property
    def told(self) -> list[str]:
        """Every name in every accepted message."""
        return [name for _, _, names in self.sent for name in names]


@pytest.fixture
def bench(robot) -> Callable[..., Bench]:
    """Makes a bench, with robots of these names, the first preferred."""

    def make(*names: str, hold_seconds: float = 30.0, **more: object) -> Bench:
        metrics = DeliveryMetrics()
        made = Bench(committer=None, lanes=[], **more)  # type: ignore[arg-type] # filled in two lines below
        now = asyncio.get_running_loop().time()
        made.lanes = [Lane(robot(name), made.send, metrics, now=now) for name in names or ("oncall",)]
        made.committer = Committer(
            "oncall", lambda: made.lanes, made.compose, metrics, Pace(hold_seconds=hold_seconds)
        )
        return made

    return make


def test_calls_that_arrive_together_share_one_message(bench, alert, payload) -> None:
    """Twenty groups within the linger are one message, and every call is answered accepted."""

    async def main() -> None:
        one = bench()
        calls = [one.committer.commit(payload(alert(model=f"m{n}"), group=f"g{n}")) for n in range(20)]
        assert await asyncio.gather(*calls) == [Answer(accepted=True)] * 20
        assert len(one.sent) == 1
        assert sorted(one.told) == sorted(f"m{n}:firing" for n in range(20))

    run_virtual(main())


def test_a_lone_call_waits_half_a_second(bench, alert, payload) -> None:
    """The price of group commit for a single page."""

    async def main() -> float:
        one = bench()
        await one.committer.commit(payload(alert()))
        return one.sent[0][0]

    assert run_virtual(main()) == pytest.approx(0.5)


def test_alert_of_two_groups_is_named_once(bench, alert, payload) -> None:
    """Two routes, or two Alertmanagers, bring the same alert: one line, two answers."""

    async def main() -> None:
        one = bench()
        calls = [one.committer.commit(payload(alert(), group=group)) for group in ("a", "b")]
        assert all(answer.accepted for answer in await asyncio.gather(*calls))
        assert one.told == ["inspect:firing"]

    run_virtual(main())


def test_newest_state_is_told(bench, alert, payload) -> None:
    """Firing and resolved of one alert in one digest: only what holds now."""

    async def main() -> None:
        one = bench()
        first = asyncio.create_task(one.committer.commit(payload(alert(), group="a")))
        await asyncio.sleep(0.1)
        second = asyncio.create_task(one.committer.commit(payload(alert(status="resolved"), group="b")))
        assert (await first).accepted
        assert (await second).accepted
        assert one.told == ["inspect:resolved"]

    run_virtual(main())


def test_refused_message_is_answered_come_again(bench, alert, payload) -> None:
    """Not accepted, the reason in words; the repeated call is delivered."""

    async def main() -> None:
        one = bench(answers={"oncall": [REFUSED]})
        answer = await one.committer.commit(payload(alert()))
        assert answer == Answer(accepted=False, reason="robot oncall: DingTalk said 310000: sign not match")
        assert (await one.committer.commit(payload(alert()))).accepted
        assert one.told == ["inspect:firing"]

    run_virtual(main())


def test_stand_in_takes_over_at_once(bench, alert, payload) -> None:
    """While the first robot is mute, the second gets the digest of the same call; then the first again."""

    async def main() -> None:
        one = bench("oncall", "backup", answers={"oncall": [MUTED]})
        for episode in ("2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z"):
            assert (await one.committer.commit(payload(alert(startsAt=episode)))).accepted
        await asyncio.sleep(700)
        assert (await one.committer.commit(payload(alert(startsAt="2026-03-01T14:00:00Z")))).accepted
        assert [robot for _, robot, _ in one.sent] == ["backup", "backup", "oncall"]

    run_virtual(main())


def test_held_call_is_answered_before_alertmanager_loses_patience(bench, alert, payload) -> None:
    """With every robot mute a call is held for 30 s, in case that helps, and then sent away."""

    async def main() -> None:
        one = bench(answers={"oncall": [MUTED]})
        await one.committer.commit(payload(alert()))
        began = asyncio.get_running_loop().time()
        answer = await one.committer.commit(payload(alert()))
        assert not answer.accepted
        assert "130101" in answer.reason
        assert asyncio.get_running_loop().time() - began == pytest.approx(30)

    run_virtual(main())


def test_call_held_at_the_end_of_a_mute_is_delivered_then(bench, alert, payload) -> None:
    """Who waits when the mute ends is told in that second, not at the next retry."""

    async def main() -> float:
        one = bench(answers={"oncall": [MUTED]})
        await one.committer.commit(payload(alert()))
        await asyncio.sleep(590)
        assert (await one.committer.commit(payload(alert()))).accepted
        return one.sent[0][0]

    assert 605 <= run_virtual(main()) <= 607


def test_caller_who_left_is_forgotten(bench, alert, payload) -> None:
    """Its alert is not told: Alertmanager will come again if it still matters."""

    async def main() -> None:
        one = bench()
        call = asyncio.create_task(one.committer.commit(payload(alert())))
        await asyncio.sleep(0.1)
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await call
        await asyncio.sleep(5)
        assert (one.sent, one.committer.waiting) == ([], 0)

    run_virtual(main())


def test_news_accepted_for_a_caller_who_left_is_not_told_twice(bench, alert, payload) -> None:
    """The caller goes while the message is on its way; its repeated call is answered from memory."""

    async def main() -> None:
        one = bench(delay_seconds=2.0)
        call = asyncio.create_task(one.committer.commit(payload(alert())))
        await asyncio.sleep(1.5)
        call.cancel()
        await asyncio.sleep(5)
        assert (await one.committer.commit(payload(alert()))).accepted
        assert one.told == ["inspect:firing"]
        assert (await one.committer.commit(payload(alert()))).accepted
        assert one.told == ["inspect:firing"] * 2, "a reminder hours later is told again"

    run_virtual(main())


def test_second_message_failing_repeats_only_the_rest(bench, alert, payload) -> None:
    """Of a digest of three messages one was accepted: the repeated call brings the other two."""

    async def main() -> None:
        one = bench(page_size=2, answers={"oncall": [OK, TimedOut("no answer")]})
        call = payload(*(alert(model=f"m{n}") for n in range(6)))
        assert not (await one.committer.commit(call)).accepted
        assert one.told == ["m0:firing", "m1:firing"]
        assert (await one.committer.commit(call)).accepted
        assert sorted(one.told) == [f"m{n}:firing" for n in range(6)]

    run_virtual(main())


def test_rest_of_a_digest_goes_through_the_stand_in(bench, alert, payload) -> None:
    """When the first robot fails in the middle, only what it did not take goes to the second."""

    async def main() -> None:
        one = bench("oncall", "backup", page_size=2, answers={"oncall": [OK, MUTED]})
        assert (await one.committer.commit(payload(*(alert(model=f"m{n}") for n in range(4))))).accepted
        assert [(robot, names) for _, robot, names in one.sent] == [
            ("oncall", ["m0:firing", "m1:firing"]),
            ("backup", ["m2:firing", "m3:firing"]),
        ]

    run_virtual(main())


def test_slip_of_ours_costs_one_digest_only(bench, alert, payload) -> None:
    """The caller is told to come again, and the next digest is made as ever."""

    async def main() -> None:
        one = bench(slips=[RuntimeError("slip")])
        answer = await one.committer.commit(payload(alert()))
        assert not answer.accepted
        assert answer.reason.startswith("internal error")
        assert (await one.committer.commit(payload(alert()))).accepted
        assert one.told == ["inspect:firing"]

    run_virtual(main())


def test_stopping_answers_everybody(bench, alert, payload) -> None:
    """A digest on its way arrives and is answered so; who waits, and who comes later, is sent away."""

    async def main() -> None:
        one = bench(delay_seconds=2.0)
        leaving = asyncio.create_task(one.committer.commit(payload(alert(model="a"), group="a")))
        await asyncio.sleep(1)
        waiting = asyncio.create_task(one.committer.commit(payload(alert(model="b"), group="b")))
        await asyncio.sleep(0.1)
        await one.committer.close("stopping")
        assert (await leaving).accepted
        assert await waiting == Answer(accepted=False, reason="stopping")
        assert await one.committer.commit(payload(alert())) == Answer(accepted=False, reason="stopping")
        assert one.told == ["a:firing"]

    run_virtual(main())


def test_a_hundred_groups_in_a_minute_flood_nobody(bench, alert, payload) -> None:
    """Every alert is named, exactly once, in at most 20 messages, the last within ten seconds of its call."""

    async def main() -> None:
        one = bench()

        async def call(number: int) -> float:
            await asyncio.sleep(number * 0.6)
            began = asyncio.get_running_loop().time()
            assert (
                await one.committer.commit(payload(alert(model=f"m{number}"), group=f"g{number}"))
            ).accepted
            return asyncio.get_running_loop().time() - began

        waits = await asyncio.gather(*(call(number) for number in range(100)))
        assert sorted(one.told) == sorted(f"m{number}:firing" for number in range(100))
        assert len(one.sent) <= 20
        assert max(waits) <= 12.5

    run_virtual(main())
