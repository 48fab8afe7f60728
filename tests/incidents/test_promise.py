"""Nothing is answered 200 that no message named, whatever waits and whatever comes again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from support.alerts import make_alert, make_payload, make_robot
from support.dingtalk import markdown, reply
from support.incidents.sieve import PureSieve
from support.virtual_time import run_virtual
from tritonobs.chats.chat import Message
from tritonobs.delivery.commit import Committer, Pace
from tritonobs.delivery.lane import Lane
from tritonobs.delivery.metrics import DeliveryMetrics
from tritonobs.extensions.incidents.incident import Fleet
from tritonobs.tasks import Supervisor


@dataclass(frozen=True)
class Page:
    """A message, and which alerts it names."""

    message: Message
    states: frozenset[tuple[str, str, str]]


class Group:
    """Alertmanager's side of one group: it calls when an alert begins or ends, until that was accepted."""

    def __init__(self, name, alerts):
        self.name, self.alerts = name, alerts
        self.accepted = []

    async def live(self, committer, payload, until):
        """Call as Alertmanager does; what has ended and was told is told no more."""
        loop = asyncio.get_running_loop()
        told = set()
        while loop.time() < until:
            await asyncio.sleep(5)
            begun = [one for since, one in self.alerts if since <= loop.time()]
            now_is = list({one.fingerprint: one for one in begun}.values())
            fresh = [one for one in now_is if one.firing or one.state not in told]
            if {one.state for one in fresh} <= told:
                continue
            if (await committer.commit(payload(*fresh, group=self.name))).accepted:
                self.accepted.append((loop.time(), fresh))
                told |= {one.state for one in fresh}


@st.composite
def _groups(draw):
    """Groups of pages and tickets about three models, of which some come and go."""
    groups = []
    for number in range(draw(st.integers(1, 5))):
        alerts = []
        for turn in range(draw(st.integers(1, 3))):
            severity = draw(st.sampled_from(["critical", "warning", "info"]))
            model = draw(st.sampled_from(["inspect", "nms", "ocr"]))
            at = draw(st.integers(0, 300))
            for flap in range(draw(st.integers(1, 3))):
                begins = {"startsAt": f"2027-01-15T08:{at // 60:02}:{at % 60:02}Z"}
                labels = {"severity": severity, "slo": f"{number}-{turn}"}
                one = make_alert("TritonErrorBudgetBurnFast", model, **labels, **begins)
                over = make_alert("TritonErrorBudgetBurnFast", model, status="resolved", **labels, **begins)
                lasts = draw(st.integers(10, 400))
                alerts += [(at, one), (at + lasts, over)]
                at += lasts + 20 + flap
        groups.append(sorted(alerts, key=lambda each: each[0]))
    return groups


@settings(max_examples=60)
@given(groups=_groups(), refusals=st.integers(0, 3))
def test_every_accepted_call_has_all_its_alerts_in_accepted_messages(groups, refusals) -> None:
    """Whatever waits, is left out or comes again: nothing is answered 200 that no message named."""

    async def main() -> None:
        named = {}
        fleet = Fleet(edges={"inspect": {"nms": 1}, "nms": {}, "ocr": {}})
        metrics = DeliveryMetrics()
        left = [refusals]

        async def send(_robot, message):
            if left[0]:
                left[0] -= 1
                return reply(errcode=40035, errmsg="no")
            for text in message.text.split("\n"):
                named.setdefault(tuple(text.split("|")), asyncio.get_running_loop().time())
            return reply(errcode=0, errmsg="ok")

        async def compose(alerts, _robot, _most):
            text = "\n".join("|".join(one.state) for one in alerts)
            return [Page(markdown(title="t", text=text), frozenset(one.state for one in alerts))]

        lanes = [Lane(make_robot(), send, metrics, now=0.0)]
        sieve = PureSieve(fleet)
        committer = Committer("oncall", lambda: lanes, compose, metrics, Pace(), sieve=sieve)
        supervisor = Supervisor()
        supervisor.keep("oncall", committer.deliver)
        living = [Group(f"g{number}", alerts) for number, alerts in enumerate(groups)]
        await asyncio.gather(*(one.live(committer, make_payload, 3000) for one in living))
        supervisor.close()
        for group in living:
            for at, alerts in group.accepted:
                for one in alerts:
                    fired = (one.fingerprint, one.state[1], "firing")
                    unsent = not one.firing and fired not in named
                    assert unsent or _known_there(one, named, at) or _newer(one, named, at)
            last = {one.fingerprint: one for _, one in group.alerts}
            assert {one.state for one in last.values()} <= {
                each.state for _, alerts in group.accepted for each in alerts
            }

    run_virtual(main())


def _known_there(one, named, at):
    """The chat has its state: a message named it, or named that it fires, and none an end since."""
    told = {key: when for key, when in named.items() if key[0] == one.fingerprint and when <= at}
    return one.state in told or (one.firing and bool(told) and max(told, key=told.get)[2] == "firing")


def _newer(one, named, at):
    """A later state of the same alert was named by then: both are settled by it."""
    return any(
        key[0] == one.fingerprint and key > one.state[:2] and when <= at for key, when in named.items()
    )
