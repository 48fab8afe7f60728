"""Calls whose alerts a later message names: each is answered 200 only after that message, or comes again."""

from __future__ import annotations

import asyncio

import pytest

from support.dingtalk import reply
from support.virtual_time import run_virtual
from tritonobs.delivery.commit import Answer
from tritonobs.delivery.payload import Sifted


class Sieve:
    """Names of models that wait, and those that are known; it remembers what was named."""

    def __init__(self, *, later=(), known=(), wait=60.0):
        self.later, self.known, self.wait = set(later), set(known), wait
        self.heard = []
        self._since = {}

    async def sift(self, robot, alerts):
        """As a test wants it; what waited long enough waits no more."""
        assert robot == "oncall"
        now = asyncio.get_running_loop().time()
        waits = {}
        for one in alerts:
            began = self._since.setdefault(one.state, now)
            if one.labels["model"] in self.later and now < began + self.wait:
                waits[one.state] = began + self.wait - now
        return Sifted(
            known=frozenset(one.state for one in alerts if one.labels["model"] in self.known), later=waits
        )

    def named(self, robot, states):
        """Remember it."""
        self.heard.append((robot, len(states)))


def _sifting(bench, sieve, **more):
    made = bench(**more)
    made.committer._sieve = sieve
    return made


def test_a_held_call_is_answered_with_the_message_that_names_its_alert(bench, alert, payload) -> None:
    """It waits without an answer, and goes with the next message."""

    async def main() -> None:
        sieve = Sieve(later={"ticket"})
        one = _sifting(bench, sieve)
        held = asyncio.create_task(one.committer.commit(payload(alert(model="ticket"), group="t")))
        await asyncio.sleep(10)
        assert (held.done(), one.sent) == (False, [])
        sieve.later.clear()
        assert (await one.committer.commit(payload(alert(model="page"), group="p"))).accepted
        assert await held == Answer(accepted=True)
        assert [sorted(names) for _, _, names in one.sent] == [["page:firing", "ticket:firing"]]

    run_virtual(main())


def test_a_held_call_is_sent_when_it_has_waited_long_enough(bench, alert, payload) -> None:
    """Though nothing else comes; and the committer does not turn round meanwhile."""

    async def main() -> None:
        one = _sifting(bench, Sieve(later={"ticket"}, wait=20))
        assert (await one.committer.commit(payload(alert(model="ticket")))).accepted
        ((at, _, names),) = one.sent
        assert (20 <= at <= 22, names) == (True, ["ticket:firing"])
        assert len(one.committer._sieve.heard) == 2

    run_virtual(main())


def test_a_held_call_that_waits_too_long_comes_again_and_goes_on_waiting(bench, alert, payload) -> None:
    """Alertmanager keeps it: nothing is answered 200 that no message names."""

    async def main() -> None:
        one = _sifting(bench, Sieve(later={"ticket"}, wait=45))
        first = await one.committer.commit(payload(alert(model="ticket")))
        assert (first.accepted, "next message" in first.reason, one.sent) == (False, True, [])
        assert (await one.committer.commit(payload(alert(model="ticket")))).accepted
        assert one.named == ["ticket:firing"]

    run_virtual(main())


def test_of_a_call_the_urgent_part_is_sent_once_and_at_once(bench, alert, payload) -> None:
    """The rest waits; the call comes again in between."""

    async def main() -> None:
        one = _sifting(bench, Sieve(later={"ticket"}, wait=45))
        both = payload(alert(model="ticket"), alert(model="page"))
        assert not (await one.committer.commit(both)).accepted
        assert [at for at, _, _ in one.sent] == [0.5]
        assert (await one.committer.commit(both)).accepted
        assert one.named == ["page:firing", "ticket:firing"]

    run_virtual(main())


def test_what_is_known_needs_no_message(bench, alert, payload) -> None:
    """The twin: a call with something new names that alone."""

    async def main() -> None:
        one = _sifting(bench, Sieve(known={"old"}))
        assert (await one.committer.commit(payload(alert(model="old")))).accepted
        assert one.sent == []
        assert (await one.committer.commit(payload(alert(model="old"), alert(model="new")))).accepted
        assert one.named == ["new:firing"]

    run_virtual(main())


def test_a_held_call_does_not_look_as_if_a_robot_failed(bench, alert, payload) -> None:
    """`TritonobsDeliveryFailing` counts calls that wait for a message."""

    async def main() -> None:
        one = _sifting(bench, Sieve(later={"ticket"}))
        held = asyncio.create_task(one.committer.commit(payload(alert(model="ticket"), group="t")))
        await asyncio.sleep(5)
        assert one.committer.waiting == 0
        held.cancel()

    run_virtual(main())


def test_stopping_lets_a_held_call_come_again(bench, alert, payload) -> None:
    """The next process holds it, or sends it."""

    async def main() -> None:
        one = _sifting(bench, Sieve(later={"ticket"}))
        held = asyncio.create_task(one.committer.commit(payload(alert(model="ticket"), group="t")))
        await asyncio.sleep(5)
        await one.committer.close("stopping")
        assert await held == Answer(accepted=False, reason="stopping")

    run_virtual(main())


@pytest.mark.parametrize("page_size", [1, 100])
def test_only_what_a_robot_accepted_counts_as_named(bench, alert, payload, page_size) -> None:
    """A message that was refused named nothing."""

    async def main() -> None:
        sieve = Sieve()
        one = _sifting(bench, sieve, page_size=page_size)
        one.answers["oncall"] = [reply(errcode=310000, errmsg="no")]
        assert not (await one.committer.commit(payload(alert(model="a"), alert(model="b")))).accepted
        assert sieve.heard[0] == ("oncall", 0)

    run_virtual(main())
