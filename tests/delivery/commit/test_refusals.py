"""Group commit when a robot refuses: held, passed to a stand-in or answered, never lost."""

from __future__ import annotations

import asyncio

import pytest

from support.dingtalk import reply
from support.virtual_time import run_virtual
from tritonobs.delivery.commit import Answer
from tritonobs.errors import TimedOut

OK, MUTED = reply(errcode=0, errmsg="ok"), reply(errcode=130101, errmsg="send too fast")
REFUSED = reply(errcode=310000, errmsg="sign not match")
BUSY = reply(errcode=-1, errmsg="busy")


def test_refused_message_is_answered_come_again(bench, alert, payload) -> None:
    """Not accepted, the reason in words; the repeated call is delivered."""

    async def main() -> None:
        one = bench(answers={"oncall": [REFUSED]})
        answer = await one.committer.commit(payload(alert()))
        assert answer == Answer(accepted=False, reason="robot oncall: DingTalk said 310000: sign not match")
        assert (await one.committer.commit(payload(alert()))).accepted
        assert one.named == ["inspect:firing"]

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


def test_second_message_failing_repeats_only_the_rest(bench, alert, payload) -> None:
    """Of a digest of three messages one was accepted: the repeated call brings the other two."""

    async def main() -> None:
        one = bench(page_size=2, answers={"oncall": [OK, TimedOut("no answer")]})
        call = payload(*(alert(model=f"m{n}") for n in range(6)))
        assert not (await one.committer.commit(call)).accepted
        assert one.named == ["m0:firing", "m1:firing"]
        assert (await one.committer.commit(call)).accepted
        assert sorted(one.named) == [f"m{n}:firing" for n in range(6)]

    run_virtual(main())


def test_accepted_alerts_count_once_also_where_others_of_their_call_are_refused(
    bench, alert, payload
) -> None:
    """Those of the accepted message at once, the rest with its own; an answer from memory adds none."""

    async def main() -> None:
        one = bench(page_size=2, answers={"oncall": [OK, BUSY]})
        call = payload(*(alert(model=f"m{n}") for n in range(5)), alert(model="m5", status="resolved"))
        one.metrics.known("oncall", "dingtalk")
        one.lanes[0].sent("oncall").add(alert(model="m5"))
        assert not (await one.committer.commit(call)).accepted
        assert (len(one.named), one.counted) == (2, (2, 0))
        assert (await one.committer.commit(call)).accepted
        assert (len(one.named), one.counted) == (6, (5, 1))

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
        one = bench(slips={"oncall": RuntimeError("slip")})
        answer = await one.committer.commit(payload(alert()))
        assert not answer.accepted
        assert answer.reason.startswith("internal error")
        assert (await one.committer.commit(payload(alert()))).accepted
        assert one.named == ["inspect:firing"]

    run_virtual(main())


def test_what_was_told_before_a_slip_is_not_told_again(bench, alert, payload) -> None:
    """One robot took a part of the digest, then the stand-in's part could not be made."""

    async def main() -> None:
        one = bench("oncall", "backup", page_size=2, answers={"oncall": [OK, MUTED]})
        one.slips = {"backup": RuntimeError("slip")}
        call = payload(*(alert(model=f"m{n}") for n in range(4)))
        assert (await one.committer.commit(call)).reason.startswith("internal error")
        assert (await one.committer.commit(call)).accepted
        assert [(robot, names) for _, robot, names in one.sent] == [
            ("oncall", ["m0:firing", "m1:firing"]),
            ("backup", ["m2:firing", "m3:firing"]),
        ]

    run_virtual(main())


def test_what_was_told_stays_told_while_the_rest_fails(bench, alert, payload) -> None:
    """A call comes again for half an hour because of its second message; the first is not told again."""

    async def main() -> None:
        one = bench(page_size=1, answers={"oncall": [OK, *[BUSY] * 10]})
        call = payload(alert(model="first"), alert(model="second"))
        for _ in range(11):
            accepted = (await one.committer.commit(call)).accepted
            await asyncio.sleep(180)
        assert accepted
        assert one.named == ["first:firing", "second:firing"]
        # All was acknowledged: what comes now is a repetition that somebody asked for.
        assert (await one.committer.commit(call)).accepted
        assert one.named == ["first:firing", "second:firing"] * 2

    run_virtual(main())


def test_a_call_repeated_while_its_message_is_on_its_way_is_not_sent_twice(bench, alert, payload) -> None:
    """Its caller gave up and came again before the robot had answered: the first message counts."""

    async def main() -> None:
        one = bench(delay_seconds=4.0)
        first = asyncio.create_task(one.committer.commit(payload(alert(model="m"))))
        await asyncio.sleep(2.0)
        first.cancel()
        again = await one.committer.commit(payload(alert(model="m")))

        assert again.accepted
        assert one.named == ["m:firing"]

    run_virtual(main())
