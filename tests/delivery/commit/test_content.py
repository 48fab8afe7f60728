"""A chat that refuses what one alert says: the others are delivered, and that one without its texts."""

from __future__ import annotations

import asyncio

import pytest

from support.dingtalk import reply
from support.virtual_time import run_virtual
from tritonobs.chats.dingtalk import MOST_BYTES

UNSUITABLE = reply(errcode=430102, errmsg="不合适的文本")
ODD = reply(errcode=987654, errmsg="?")
BROKEN = reply(errcode=310000, errmsg="sign not match")


async def _until_accepted(one, call) -> None:
    """As Alertmanager does."""
    for _ in range(10):
        if (await one.committer.commit(call)).accepted:
            return
        await asyncio.sleep(10)
    raise AssertionError("never accepted")


@pytest.mark.parametrize("answer", [UNSUITABLE, ODD], ids=["documented", "not documented"])
@pytest.mark.parametrize("place", [0, 12, 49])
def test_one_of_fifty_is_found(bench, alert, payload, answer, place) -> None:
    """Halves are sent until it stands alone; then its name is."""

    async def main() -> None:
        one = bench(poison={"POISON": answer})
        texts = [{} if number != place else {"poison": "POISON"} for number in range(50)]
        alerts = [alert(model=f"m{number}", annotations=text) for number, text in enumerate(texts)]
        call = payload(*alerts)
        await _until_accepted(one, call)
        assert sorted(one.named) == sorted(f"m{number}:firing" for number in range(50))
        assert one.refused <= 14, one.sent

    run_virtual(main())


def test_others_are_not_kept_by_an_alert_that_is_never_taken(bench, alert, payload) -> None:
    """Its name alone is refused: it is sent less and less often, and never with others."""

    async def main() -> None:
        one = bench(poison={"POISON": UNSUITABLE})
        poison = payload(alert(model="POISON"), group="p")
        refusals = []
        for minute in range(60):
            others = [payload(alert(model=f"m{minute}-{n}"), group=f"{minute}-{n}") for n in range(2)]
            bad, *good = await asyncio.gather(*map(one.committer.commit, (poison, *others)))
            assert not bad.accepted
            assert [answer.accepted for answer in good] == [True, True]
            refusals.append(one.refused)
            await asyncio.sleep(60)
        assert refusals[-1] - refusals[29] <= 3
        assert refusals[-1] <= 14

    run_virtual(main())


def test_two_in_different_halves_are_found(bench, alert, payload) -> None:
    """Where the answer says that it is about the content."""

    async def main() -> None:
        one = bench(poison={"POISON": UNSUITABLE})
        call = payload(
            *(alert(model=f"m{n}", annotations={"poison": "POISON"} if n in {1, 6} else {}) for n in range(8))
        )
        await _until_accepted(one, call)
        assert sorted(one.named) == [f"m{n}:firing" for n in range(8)]

    run_virtual(main())


@pytest.mark.parametrize(("answer", "most"), [(ODD, 3), (BROKEN, 1)])
def test_a_robot_that_takes_nothing_is_asked_seldom(bench, alert, payload, answer, most) -> None:
    """No half is taken: it is the robot."""

    async def main() -> None:
        one = bench(poison={"firing": answer})
        call = payload(*(alert(model=f"m{n}") for n in range(50)))
        assert not (await one.committer.commit(call)).accepted
        assert one.refused <= most

    run_virtual(main())


def test_a_robot_in_trouble_costs_no_alert_its_texts(bench, alert, payload) -> None:
    """It answers oddly to everything for a while; afterwards the alerts are as they should be."""

    async def main() -> None:
        one = bench(poison={"firing": ODD})
        calls = [payload(alert(model="a", annotations={"poison": "!"})), payload(alert(model="b"))]
        for _ in range(3):
            for call in calls:
                assert not (await one.committer.commit(call)).accepted
        one.poison.clear()
        for call in calls:
            await _until_accepted(one, call)
        assert one.named == ["a:firing!", "b:firing"]

    run_virtual(main())


def test_a_day_later_it_is_sent_whole_again(bench, alert, payload) -> None:
    """The vendor may have changed its mind."""

    async def main() -> None:
        one = bench(poison={"POISON": UNSUITABLE})
        call = payload(alert(model="a", annotations={"poison": "POISON"}))
        await _until_accepted(one, call)
        one.poison.clear()
        for hours in (2, 25):
            await asyncio.sleep(hours * 3600)
            await _until_accepted(one, call)
        assert one.named == ["a:firing", "a:firing", "a:firingPOISON"]

    run_virtual(main())


def test_labels_that_are_too_long_are_not_sent_again_at_once(bench, alert, payload) -> None:
    """A shorter message cannot be made."""

    async def main() -> None:
        one = bench(most_taken=60)
        assert not (await one.committer.commit(payload(alert(model="a")))).accepted
        assert one.refused <= 2

    run_virtual(main())


def test_a_failover_robot_comes_before_a_riddle(bench, alert, payload) -> None:
    """An undocumented answer is not looked into while another robot takes the digest."""

    async def main() -> None:
        one = bench("oncall", "backup", answers={"oncall": [ODD]})
        assert (await one.committer.commit(payload(alert(model="a"), alert(model="b")))).accepted
        assert [robot for _, robot, _ in one.sent] == ["backup"]

    run_virtual(main())


def test_its_end_is_told_alone_too(bench, alert, payload) -> None:
    """The chat would refuse the same text again."""

    async def main() -> None:
        one = bench(poison={"POISON": UNSUITABLE})
        text = {"poison": "POISON"}
        assert (await one.committer.commit(payload(alert(model="a", annotations=text)))).accepted
        refused = one.refused
        end = alert(model="a", annotations=text, status="resolved")
        assert (await one.committer.commit(payload(end, alert(model="b")))).accepted
        assert one.named == ["a:firing", "b:firing", "a:resolved"]
        assert one.refused == refused

    run_virtual(main())


def test_an_alert_that_is_too_long_for_the_chat_is_shortened_at_once(bench, alert, payload) -> None:
    """The vendor takes less than it documents: the message is halved until it is taken."""

    async def main() -> None:
        one = bench(most_taken=400)
        # Its labels alone are too long.
        assert (await one.committer.commit(payload(alert(model="x" * 1500), alert(model="b")))).accepted
        assert sorted(name[:3] for name in one.named) == ["b:f", "xxx"]
        assert one.lanes[0].most_bytes == MOST_BYTES

    run_virtual(main())
