"""What a chat was sent: no resolved message without a firing one."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta, timezone

import pytest

from support.dingtalk import reply
from support.virtual_time import run_virtual
from tritonobs.delivery.lane import Sent
from tritonobs.errors import BadAnswer, ConnectionBroken, SecretUnusable, TimedOut, Unreachable

NOW = datetime.now(timezone.utc)
LATER = (NOW + timedelta(hours=1)).isoformat()
EARLIER = (NOW - timedelta(hours=1)).isoformat()
BY_A_FAST_CLOCK = (NOW + timedelta(seconds=50)).isoformat()


def _pair(alert, model: str, began: str = LATER):
    return alert(model=model, startsAt=began), alert(model=model, startsAt=began, status="resolved")


def test_an_end_nobody_knows_the_beginning_of_is_not_told(bench, alert, payload) -> None:
    """In the group of an alert that was told: Alertmanager posts both, and neither is news."""
    stays, _ = _pair(alert, "stays")
    _, gone = _pair(alert, "gone")

    async def main() -> None:
        one = bench()
        assert (await one.committer.commit(payload(stays))).accepted
        assert (await one.committer.commit(payload(stays, gone))).accepted
        assert one.named == ["stays:firing"]

    run_virtual(main())


def test_beside_such_an_end_news_and_reminders_are_told(bench, alert, payload) -> None:
    """A new alert brings its group along; a call without any end is a reminder."""
    stays, over = _pair(alert, "stays")
    new, _ = _pair(alert, "new")
    _, gone = _pair(alert, "gone")

    async def main() -> None:
        one = bench()
        assert (await one.committer.commit(payload(stays))).accepted
        assert (await one.committer.commit(payload(stays, new, gone))).accepted
        assert (await one.committer.commit(payload(stays, new))).accepted
        assert (await one.committer.commit(payload(over, new, gone))).accepted
        told = [sorted(one.named[start:end]) for start, end in ((0, 1), (1, 3), (3, 5), (5, 7))]
        assert told == [
            ["stays:firing"],
            ["new:firing", "stays:firing"],
            ["new:firing", "stays:firing"],
            ["new:firing", "stays:resolved"],
        ]
        assert len(one.named) == 7

    run_virtual(main())


def test_an_end_alone_that_nobody_needs_sends_nothing(bench, alert, payload) -> None:
    """The call is accepted all the same: Alertmanager need not come again."""
    _, gone = _pair(alert, "gone")

    async def main() -> None:
        one = bench()
        assert (await one.committer.commit(payload(gone))).accepted
        assert one.sent == []

    run_virtual(main())


def test_the_end_of_what_was_told_is_told_once(bench, alert, payload) -> None:
    """Whichever group brings it."""
    firing, resolved = _pair(alert, "m")

    async def main() -> None:
        one = bench()
        await one.committer.commit(payload(firing))
        await one.committer.commit(payload(resolved, group="a"))
        await one.committer.commit(payload(resolved, group="b"))
        assert one.named == ["m:firing", "m:resolved"]

    run_virtual(main())


def test_an_end_is_told_though_its_beginning_is_dated_anew(bench, alert, payload) -> None:
    """Alertmanager forgets alerts when it is restarted, and dates them by the next time it hears of them."""
    firing, _ = _pair(alert, "m")
    _, resolved = _pair(alert, "m", (NOW + timedelta(hours=2)).isoformat())

    async def main() -> None:
        one = bench()
        await one.committer.commit(payload(firing))
        await one.committer.commit(payload(resolved))
        assert one.named == ["m:firing", "m:resolved"]

    run_virtual(main())


def _ended(alert, *, began_minutes: float, ended_minutes: float):
    """An end, in minutes after `EARLIER`."""
    moments = [NOW + timedelta(hours=-1, minutes=minutes) for minutes in (began_minutes, ended_minutes)]
    began, ended = (moment.isoformat() for moment in moments)
    return alert(model="m", startsAt=began, endsAt=ended, status="resolved")


def test_the_end_of_an_earlier_episode_that_comes_late_is_not_sent(bench, alert, payload) -> None:
    """An Alertmanager that was cut off brings it while the alert fires again; what is the end is."""
    firing, _ = _pair(alert, "m", EARLIER)
    late = _ended(alert, began_minutes=-30, ended_minutes=-5)

    async def main() -> None:
        one = bench()
        assert (await one.committer.commit(payload(firing, group="a"))).accepted
        assert (await one.committer.commit(payload(late, group="b"))).accepted
        assert one.named == ["m:firing"]
        assert (await one.committer.commit(payload(_ended(alert, began_minutes=0, ended_minutes=5)))).accepted
        assert one.named == ["m:firing", "m:resolved"]

    run_virtual(main())


def test_an_end_is_told_though_its_start_is_of_another_prometheus(bench, alert, payload) -> None:
    """Of two, Alertmanager takes the earlier start once it has heard of both."""
    firing, _ = _pair(alert, "m", EARLIER)
    end = _ended(alert, began_minutes=-0.2, ended_minutes=5)

    async def main() -> None:
        one = bench()
        await one.committer.commit(payload(firing))
        await one.committer.commit(payload(end))
        assert one.named == ["m:firing", "m:resolved"]

    run_virtual(main())


def test_an_end_is_told_though_its_start_lies_ahead(bench, alert, payload) -> None:
    """Alertmanager takes the planned end for the start where an alert was posted with an end alone."""
    planned = (NOW + timedelta(minutes=10)).isoformat()
    firing = alert(model="m", startsAt=planned)
    over = alert(model="m", startsAt=NOW.isoformat(), endsAt=NOW.isoformat(), status="resolved")

    async def main() -> None:
        one = bench()
        await one.committer.commit(payload(firing))
        await one.committer.commit(payload(over))
        assert one.named == ["m:firing", "m:resolved"]

    run_virtual(main())


@pytest.mark.parametrize("first", ["the end", "the beginning"])
def test_a_late_end_does_not_replace_the_beginning_it_waits_with(bench, alert, payload, first: str) -> None:
    """Both are in one digest: what fires now is told."""
    firing, _ = _pair(alert, "m", EARLIER)
    late = _ended(alert, began_minutes=-30, ended_minutes=-5)
    calls = [payload(late, group="b"), payload(firing, group="a")]

    async def main() -> None:
        one = bench()
        both = calls if first == "the end" else calls[::-1]
        answers = await asyncio.gather(*map(one.committer.commit, both))
        assert all(answer.accepted for answer in answers)
        assert one.named == ["m:firing"]

    run_virtual(main())


def test_a_late_end_is_sent_to_the_chat_that_knows_no_later_episode(bench, alert, payload) -> None:
    """The failover robot was sent the earlier one, and waits for its end."""
    earlier = alert(model="m", startsAt=(NOW - timedelta(minutes=90)).isoformat())
    firing, _ = _pair(alert, "m", EARLIER)
    late = _ended(alert, began_minutes=-30, ended_minutes=-5)

    async def main() -> None:
        one = bench("oncall", "backup", answers={"oncall": [Unreachable("no connection")]})
        await one.committer.commit(payload(earlier))
        await asyncio.sleep(90)
        await one.committer.commit(payload(firing))
        await one.committer.commit(payload(late))
        assert [(robot, names) for _, robot, names in one.sent] == [
            ("backup", ["m:firing"]),
            ("oncall", ["m:firing"]),
            ("backup", ["m:resolved"]),
        ]

    run_virtual(main())


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(Unreachable("no connection"), id="no connection"),
        pytest.param(SecretUnusable("no webhook"), id="nowhere to send to"),
        pytest.param(reply(errcode=-1, errmsg="busy"), id="busy"),
        pytest.param(reply(errcode=130101, errmsg="too fast"), id="muted"),
        pytest.param(reply(errcode=310000, errmsg="sign not match"), id="signature refused"),
    ],
)
def test_what_was_certainly_not_told_is_not_told_once_over(bench, alert, payload, refusal) -> None:
    """The robot never had the message."""
    firing, resolved = _pair(alert, "m")

    async def main() -> None:
        one = bench(answers={"oncall": [refusal] * 3}, hold_seconds=1.0)
        assert not (await one.committer.commit(payload(firing))).accepted
        one.answers.clear()
        await asyncio.sleep(700)
        assert (await one.committer.commit(payload(resolved))).accepted
        assert one.named == []

    run_virtual(main())


@pytest.mark.parametrize(
    "silence",
    [
        pytest.param(TimedOut("no answer"), id="no answer"),
        pytest.param(ConnectionBroken("connection broken"), id="the connection broke"),
        pytest.param(BadAnswer("answered 502"), id="a proxy's answer"),
        pytest.param(ValueError("a slip of ours"), id="a slip of ours"),
    ],
)
def test_what_may_have_been_told_is_told_once_over(bench, alert, payload, silence) -> None:
    """Nobody knows whether the chat has the beginning: the end is needless there, or missing without it."""
    firing, resolved = _pair(alert, "m")

    async def main() -> None:
        one = bench(answers={"oncall": [silence]}, hold_seconds=1.0)
        assert not (await one.committer.commit(payload(firing))).accepted
        await asyncio.sleep(70)
        assert (await one.committer.commit(payload(resolved))).accepted
        assert one.named == ["m:resolved"]
        assert (await one.committer.commit(payload(resolved, group="again"))).accepted
        assert one.named == ["m:resolved"]

    run_virtual(main())


def test_the_end_comes_again_until_its_own_answer_arrives(bench, alert, payload, answer_lost) -> None:
    """The answers to the beginning and to the end are both lost: the end is sent twice rather than never."""
    firing, resolved = _pair(alert, "m")

    async def main() -> None:
        one = bench(answers={"oncall": [answer_lost, answer_lost]}, hold_seconds=1.0)
        assert not (await one.committer.commit(payload(firing))).accepted
        await asyncio.sleep(70)
        assert not (await one.committer.commit(payload(resolved))).accepted
        await asyncio.sleep(70)
        assert (await one.committer.commit(payload(resolved))).accepted
        assert one.named == ["m:firing", "m:resolved", "m:resolved"]

    run_virtual(main())


def test_both_chats_hear_the_end_when_the_first_lost_only_its_answer(
    bench, alert, payload, answer_lost
) -> None:
    """The failover robot sent it too, because it was unknown whether the first chat has it."""
    firing, resolved = _pair(alert, "m")

    async def main() -> None:
        one = bench("oncall", "backup", answers={"oncall": [answer_lost]})
        assert (await one.committer.commit(payload(firing))).accepted
        await asyncio.sleep(90)
        assert (await one.committer.commit(payload(resolved))).accepted
        assert [(robot, names) for _, robot, names in one.sent] == [
            ("oncall", ["m:firing"]),
            ("backup", ["m:firing"]),
            ("oncall", ["m:resolved"]),
            ("backup", ["m:resolved"]),
        ]

    run_virtual(main())


def test_an_end_that_one_chat_still_waits_for_is_not_settled(bench, alert, payload) -> None:
    """Both were sent the beginning, one at the repetition; the first is mute at its end and gets it later."""
    firing, resolved = _pair(alert, "m")
    mute = reply(errcode=130101, errmsg="too fast")

    async def main() -> None:
        one = bench("oncall", "backup")
        assert (await one.committer.commit(payload(firing))).accepted
        one.answers["oncall"] = [mute]
        assert (await one.committer.commit(payload(firing))).accepted
        await asyncio.sleep(60)
        assert not (await one.committer.commit(payload(resolved))).accepted
        await asyncio.sleep(600)
        assert (await one.committer.commit(payload(resolved))).accepted
        assert [(robot, names) for _, robot, names in one.sent] == [
            ("oncall", ["m:firing"]),
            ("backup", ["m:firing"]),
            ("backup", ["m:resolved"]),
            ("oncall", ["m:resolved"]),
        ]

    run_virtual(main())


@pytest.mark.parametrize("began", [EARLIER, BY_A_FAST_CLOCK], ids=["earlier", "by a clock that is ahead"])
def test_what_began_before_this_process_may_have_been_told(bench, alert, payload, began: str) -> None:
    """By its predecessor; so its end is told."""
    _, resolved = _pair(alert, "m", began)

    async def main() -> None:
        one = bench()
        await one.committer.commit(payload(resolved))
        assert one.named == ["m:resolved"]

    run_virtual(main())


def test_an_end_is_told_where_the_beginning_was(bench, alert, payload) -> None:
    """The failover robot's chat was sent it, so that chat is sent its end."""
    firing, resolved = _pair(alert, "m")

    async def main() -> None:
        one = bench("oncall", "backup", answers={"oncall": [Unreachable("no connection")]})
        assert (await one.committer.commit(payload(firing))).accepted
        await asyncio.sleep(90)
        assert (await one.committer.commit(payload(resolved))).accepted
        assert [(robot, names) for _, robot, names in one.sent] == [
            ("backup", ["m:firing"]),
            ("backup", ["m:resolved"]),
        ]

    run_virtual(main())


@pytest.mark.parametrize("most", [1, 3])
def test_what_is_forgotten_counts_as_told(alert, most: int) -> None:
    """Memory is bounded; the price is a needless message, never a missing one."""
    sent = Sent(most=most)
    starts = [(NOW + timedelta(minutes=minute)).isoformat() for minute in range(1, most + 3)]
    alerts = [_pair(alert, f"m{at}", began) for at, began in enumerate(starts)]
    for firing, _ in alerts:
        sent.add(firing)
    assert sum(sent.has(resolved) for _, resolved in alerts) == most
    assert all(sent.has(resolved) or sent.may_have(resolved) for _, resolved in alerts)
