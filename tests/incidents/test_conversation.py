"""Incidents in serve as a conversation: what waits, what is left out, what is said without a call."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest

from support.incidents.serving import BEGAN, Judged, alert, cause, say
from tritonobs.clients.alertmanager import ManagedAlert
from tritonobs.extensions.incidents import part as module

TICKET = "TritonErrorBudgetBurnMedium"


def test_one_incident_is_one_conversation(begin):
    """A ticket waits, what the chat has is left out, and the end goes at once with all of it."""

    async def test(one, robots):
        page, ticket = alert(), alert(TICKET, severity="warning")
        first = await say(one, robots, page)
        second = await say(one, robots, page, ticket)
        third = await say(one, robots, alert(status="resolved"), ticket)
        return first, second, third

    first, second, third = begin(Judged(cause()), test)

    assert (first[0], second[0], third[0]) == (
        ["TritonQpsAboveLimit"],
        [],
        ["TritonQpsAboveLimit", TICKET],
    )
    assert [len(second[2].known), len(second[2].later)] == [1, 1]


def test_switched_off_every_alert_is_sent_as_it_comes(begin):
    """The twin."""

    async def test(one, robots):
        await say(one, robots, alert())
        return await say(one, robots, alert(), alert(TICKET, severity="warning"))

    assert begin(Judged(cause()), test, "hold_back: false")[0] == ["TritonQpsAboveLimit", TICKET]


def test_what_cannot_be_joined_in_time_is_sent(begin, monkeypatch):
    """No alert waits for an incident that is not known."""
    monkeypatch.setattr(module, "join", lambda *_: (_ for _ in ()).throw(RuntimeError("a slip")))

    async def test(one, _robots):
        return await one.sift("oncall", [alert()])

    sifted = begin(Judged(cause()), test)

    assert (sifted.known, sifted.later) == (frozenset(), {})


def test_another_cause_is_said_without_a_call(begin, monkeypatch):
    """By the way of a call, with the alerts that go on."""
    monkeypatch.setattr(module, "_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(module, "_LOOK_AGAIN_SECONDS", 0.0)
    judged = Judged(cause())
    said = []

    async def test(one, robots):
        spoken = asyncio.Event()

        async def deliver(robot, alerts):
            said.append((robot, await say(one, robots, *alerts)))
            spoken.set()
            return True

        one.may_say(deliver, lambda: True)
        await say(one, robots, alert())
        judged.verdict.causes = (replace(cause("inspect", "a bad deploy"), check="bad_deploy"),)
        await asyncio.wait_for(spoken.wait(), 10)
        await asyncio.sleep(0.3)

    begin(judged, test, "update_interval: 1ms")

    ((robot, (names_, lines, _)),) = said
    assert (robot, names_) == ("oncall", ["TritonQpsAboveLimit"])
    assert lines[0].startswith("Probable cause changed: a bad deploy")


def test_who_takes_over_says_nothing_a_second_time(begin, tmp_path):
    """With a folder that both have: the first alert is known, and what comes is an update."""

    async def first(one, robots):
        await say(one, robots, alert())
        await kept(tmp_path)

    async def second(one, robots):
        await resumed(one)
        again = await say(one, robots, alert())
        return again, await say(one, robots, alert("TritonServerDown"))

    begin(Judged(cause()), first, "folder: kept")
    again, new = begin(Judged(cause()), second, "folder: kept")

    assert again[0] == []
    assert (new[0], any("tritonobs serve started at" in line for line in new[1])) == (
        ["TritonServerDown"],
        False,
    )


@pytest.mark.parametrize(
    ("began", "says"), [pytest.param(BEGAN - 600, True, id="before it"), (BEGAN + 60, False)]
)
def test_who_takes_over_without_a_folder_says_so(begin, began, says):
    """The first message of this process may be the second of the incident."""

    async def test(one, robots):
        return await say(one, robots, alert(began=began))

    _, lines, _ = begin(Judged(cause()), test)

    assert any("tritonobs serve started at" in line for line in lines) is says


@pytest.mark.parametrize(
    ("fires", "waits"), [pytest.param(True, 1, id="still fires"), pytest.param(False, 0, id="is over")]
)
def test_who_takes_over_asks_which_alerts_still_fire(begin, tmp_path, fires, waits):
    """A ticket of an incident that goes on waits, as it would have for the other process."""
    page = alert()

    async def first(one, robots):
        await say(one, robots, page)
        await kept(tmp_path)

    async def second(one, robots):
        await resumed(one)
        held = managed(page)
        asked = SimpleNamespace(alerts=lambda: (held,) if fires else (), close=lambda: None)
        one._asked = replace(one._asked, alertmanager=asked)
        return await say(one, robots, alert(TICKET, severity="warning"))

    begin(Judged(cause()), first, "folder: kept")
    _, _, sifted = begin(Judged(cause()), second, "folder: kept")

    assert len(sifted.later) == waits


@pytest.mark.parametrize("fires", [True, False])
def test_who_takes_over_knows_what_is_silenced_without_a_call(begin, tmp_path, fires):
    """Alertmanager calls for nothing that it mutes; without its word nothing goes on."""
    page = alert()

    async def first(one, robots):
        await say(one, robots, page)
        await kept(tmp_path)

    async def second(one, robots):
        held = managed(page, silenced_by=("s",))
        asked = SimpleNamespace(alerts=lambda: (held,) if fires else (), close=lambda: None)
        one._asked = replace(one._asked, alertmanager=asked)
        await resumed(one)
        await asyncio.sleep(0.3)
        return [incident.ended for incident in one.incidents]

    begin(Judged(cause()), first, "folder: kept")

    assert begin(Judged(cause()), second, "folder: kept") == ([None] if fires else [])


def managed(page, silenced_by=()):
    """The alert as Alertmanager lists it."""
    return ManagedAlert(
        fingerprint=page.fingerprint, state="suppressed" if silenced_by else "active",
        starts_at="2026-05-28T20:26:40Z", ends_at="", labels=page.labels, annotations={},
        silenced_by=silenced_by, inhibited_by=(),
    )  # fmt: skip


async def kept(folder):
    """Wait until what was told is in the folder."""
    for _ in range(200):
        if any("oncall" in path.read_text() for path in (folder / "kept").glob("*.json")):
            return
        await asyncio.sleep(0.05)


async def resumed(one):
    """Wait until the process knows what another one told."""
    for _ in range(200):
        if one._talks:
            return
        await asyncio.sleep(0.05)


def test_who_delivers_no_more_forgets_what_fires(begin):
    """Its ends come to another process; a board must not show it for days."""

    async def test(one, robots):
        leads = [True]

        async def deliver(_robot, _alerts):
            raise AssertionError

        one.may_say(deliver, lambda: leads[0])
        await say(one, robots, alert())
        before = len(one.incidents)
        leads[0] = False
        for _ in range(200):
            if not one.incidents:
                break
            await asyncio.sleep(0.05)
        return before, len(one.incidents), sum(1 for family in one.series.collect() for _ in family.samples)

    assert begin(Judged(cause()), test) == (1, 0, 2)
