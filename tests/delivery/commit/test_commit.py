"""Group commit: one digest for all who wait, answered when it was accepted; nothing lost, nothing twice."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from support.virtual_time import run_virtual
from tritonobs.delivery.commit import REMEMBERED_SECONDS, Answer, Ledger

NEWS = ("fingerprint", "began", "firing")


def test_calls_that_arrive_together_share_one_message(bench, alert, payload) -> None:
    """Twenty groups within the linger are one message, and every call is answered accepted."""

    async def main() -> None:
        one = bench()
        calls = [one.committer.commit(payload(alert(model=f"m{n}"), group=f"g{n}")) for n in range(20)]
        assert await asyncio.gather(*calls) == [Answer(accepted=True)] * 20
        assert len(one.sent) == 1
        assert sorted(one.named) == sorted(f"m{n}:firing" for n in range(20))

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
        assert one.named == ["inspect:firing"]
        assert one.counted[0] == 1

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
        assert one.named == ["inspect:resolved"]

    run_virtual(main())


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
        assert one.named == ["inspect:firing"]
        assert one.counted[0] == 1
        assert (await one.committer.commit(payload(alert()))).accepted
        assert one.named == ["inspect:firing"] * 2, "a reminder hours later is sent again"
        assert one.counted[0] == 2

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
        assert one.named == ["a:firing"]

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
        assert sorted(one.named) == sorted(f"m{number}:firing" for number in range(100))
        assert len(one.sent) <= 20
        assert max(waits) <= 12.5

    run_virtual(main())


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth of what is allowed."""
    monkeypatch.setattr("tritonobs.delivery.commit._MOST_IN_DIGEST", 100)
    monkeypatch.setattr("tritonobs.delivery.commit._MOST_WAITING", 500)


@pytest.mark.usefixtures("_small")
def test_a_digest_takes_no_more_than_it_can_write(bench, alert, payload) -> None:
    """Of a storm of large calls the first ones go first, the rest with the next digests; all are told."""
    sizes = []

    async def main() -> None:
        one = bench(page_size=1000, hold_seconds=600.0)
        compose = one.compose

        async def counted(alerts, robot, most_bytes):
            sizes.append(len(alerts))
            return await compose(alerts, robot, most_bytes)

        one.compose = one.committer._compose = counted
        calls = [
            payload(*(alert(model=f"m{call}-{n}") for n in range(40)), group=f"g{call}") for call in range(8)
        ]
        answers = await asyncio.gather(*(one.committer.commit(call) for call in calls))
        assert all(answer.accepted for answer in answers)
        assert len(set(one.named)) == 320

    run_virtual(main())
    assert sizes == [120, 120, 80]


@pytest.mark.usefixtures("_small")
def test_more_than_can_wait_comes_again(bench, alert, payload) -> None:
    """Memory is bounded: what is not taken is Alertmanager's to keep."""

    async def main() -> None:
        one = bench(page_size=1000, hold_seconds=600.0)
        one.delay_seconds = 10.0
        calls = [
            payload(*(alert(model=f"m{call}-{n}") for n in range(100)), group=f"g{call}") for call in range(7)
        ]
        answers = await asyncio.gather(*(one.committer.commit(call) for call in calls))
        assert [answer.accepted for answer in answers] == [True] * 5 + [False] * 2
        assert answers[-1].reason == "too many alerts wait already"

    run_virtual(main())


def test_news_is_remembered_for_its_group() -> None:
    """Another group, or another state of the alert, is other news."""
    ledger = Ledger()
    ledger.remember("g", [NEWS], now=0.0)
    assert ledger.accepted("g", NEWS, now=1.0)
    assert not ledger.accepted("h", NEWS, now=1.0)
    assert not ledger.accepted("g", ("fingerprint", "began", "resolved"), now=1.0)


def test_memory_ends() -> None:
    """After its time, and once the caller knows."""
    ledger = Ledger()
    ledger.remember("g", [NEWS], now=0.0)
    assert not ledger.accepted("g", NEWS, now=REMEMBERED_SECONDS)
    ledger.acknowledge("g", [NEWS])
    assert not ledger.accepted("g", NEWS, now=1.0)
