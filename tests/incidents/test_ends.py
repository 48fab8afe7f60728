"""Ends that no call reports: what Alertmanager listed and lists no more is over, and nothing else is."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
import requests

from support.incidents.serving import BEGAN, Judged, alert, cause, say
from support.programs import AlertmanagerProgram, free_port
from tritonobs.clients.alertmanager import AlertmanagerClient, ManagedAlert
from tritonobs.errors import BadAnswer, Unreachable
from tritonobs.extensions.incidents import ends
from tritonobs.extensions.incidents import part as module
from tritonobs.extensions.incidents.ends import RESTARTED_SECONDS, TOLD_SECONDS, Answer, Listing
from tritonobs.programs import find

START, MINUTE = BEGAN, 60.0
KEEPS_SECONDS = 240.0


def listed(key: str, at: float, *, silenced: bool = False, inhibited: bool = False, keeps=KEEPS_SECONDS):
    """An alert as Alertmanager lists it at a moment."""
    ends_at = datetime.fromtimestamp(at + keeps, timezone.utc).isoformat()
    return ManagedAlert(
        fingerprint=key, state="suppressed" if silenced or inhibited else "active",
        starts_at="2026-05-28T20:26:40Z", ends_at=ends_at, labels={}, annotations={},
        silenced_by=("s",) if silenced else (), inhibited_by=("i",) if inhibited else (),
    )  # fmt: skip


def over(*answers, firing=("a",)):
    """What is over after these answers: each a moment in seconds, the run, and the alerts listed then."""
    listing = Listing()
    for at, run, *alerts in answers:
        now = START + at
        there = tuple(listed(key, now, **how) for key, how in alerts)
        listing = listing.read(Answer(run=run, alerts=there), now, firing)
    return {key: at - START for key, at in listing.over.items()}


SILENCED = ("a", {"silenced": True})
PLAIN = ("a", {})


@pytest.mark.parametrize("how", ["silenced", "inhibited"])
def test_what_was_muted_and_is_listed_no_more_is_over(how) -> None:
    """Since it was first missing; two answers say so, so that one odd answer ends nothing."""
    muted = ("a", {how: True})

    assert over((0, "1", muted), (60, "1")) == {}
    assert over((0, "1", muted), (60, "1"), (120, "1")) == {"a": 60}


def test_what_is_listed_goes_on(life) -> None:
    """The twin: silenced or not, also where it was missing once."""
    assert over((0, "1", SILENCED), (60, "1", SILENCED), (9000, "1", SILENCED)) == {}
    assert over((0, "1", SILENCED), (60, "1"), (120, "1", SILENCED), (180, "1")) == {}


def test_the_end_of_what_is_not_muted_is_left_to_alertmanager(life) -> None:
    """It reports it within minutes; only when that time is over there is no call to wait for."""
    gone = [(60 * minute, "1") for minute in range(1, 20)]

    assert over((0, "1", PLAIN), *gone[:6]) == {}
    assert over((0, "1", PLAIN), *gone[: int(TOLD_SECONDS / MINUTE) + 1]) == {"a": 60}


def test_what_was_never_listed_is_left_alone() -> None:
    """Another Alertmanager may have it: this one has nothing of ours, and is well."""
    assert over(*((60.0 * minute, "1") for minute in range(60))) == {}


def test_a_restart_ends_nothing_until_prometheus_would_have_sent_it_again() -> None:
    """A new process has lost every alert."""
    restarted = [(60.0 * minute, "2") for minute in range(1, 60)]
    most = int(RESTARTED_SECONDS / MINUTE)

    assert over((0, "1", SILENCED), *restarted[:most]) == {}
    assert over((0, "1", SILENCED), *restarted[: most + 1]) == {"a": 60}
    assert over((0, "1", SILENCED), *restarted[:3], (240, "2", SILENCED), *restarted[4:9]) == {"a": 300}


def test_an_alert_that_is_kept_for_long_is_waited_for_as_long() -> None:
    """Rules that are evaluated every ten minutes are sent again every ten minutes."""
    slow = ("a", {"silenced": True, "keeps": 2400.0})
    restarted = [(60.0 * minute, "2") for minute in range(1, 60)]

    assert over((0, "1", slow), *restarted[:40]) == {}
    assert over((0, "1", slow), *restarted[:41]) == {"a": 60}


def test_two_restarts_begin_the_wait_again() -> None:
    """The second one has lost it, too."""
    first, second = (
        [(60.0 * minute, run) for minute in span] for run, span in (("2", range(1, 12)), ("3", range(12, 24)))
    )

    assert over((0, "1", SILENCED), *first, *second) == {}


def test_a_moment_that_cannot_be_read_counts_as_none() -> None:
    """The wait after a restart is then the usual one."""
    odd = replace(listed("a", START, silenced=True), ends_at="never")
    listing = Listing().read(Answer(run="1", alerts=(odd,)), START, {"a"})

    for minute in range(1, 18):
        listing = listing.read(Answer(run="2", alerts=()), START + 60 * minute, {"a"})

    assert listing.over == {"a": START + 60}


def test_what_has_ended_meanwhile_is_forgotten() -> None:
    """What is kept is bounded by what fires."""
    listing = Listing().read(Answer(run="1", alerts=(listed("a", START),)), START, {"a", "b"})

    assert set(listing.seen) == {"a"}
    assert listing.read(Answer(run="1", alerts=()), START + 60, set()).seen == {}


class Manager:
    """An Alertmanager that answers as it is told."""

    def __init__(self, *alerts: ManagedAlert) -> None:
        self.held = alerts
        self.runs = ["2026-05-28T20:00:00Z"]
        self.asked = 0
        self.well = True
        self.address = "http://alertmanager.shop"

    def alerts(self):
        """What it holds."""
        self.asked += 1
        return self.held

    def up_since(self):
        """Since when it runs; another one each time, if there are several."""
        self.runs.append(self.runs.pop(0))
        return self.runs[-1]

    def ready(self):
        """Whether it accepts alerts."""
        return self.well

    def silences(self):
        """None."""
        return ()

    def close(self):
        """Nothing to give back."""


def test_an_answer_counts_only_from_one_that_is_well() -> None:
    """One that is not ready, or was restarted between two questions, has said nothing."""
    manager = Manager()
    assert ends.ask(manager).run == "http://alertmanager.shop 2026-05-28T20:00:00Z"

    manager.runs.append("2026-05-28T20:10:00Z")
    with pytest.raises(BadAnswer, match="another one responds"):
        ends.ask(manager)

    manager = Manager()
    manager.well = False
    with pytest.raises(BadAnswer, match="is not ready"):
        ends.ask(manager)


@pytest.fixture
def quick(monkeypatch):
    """Readings every twentieth of a second."""
    monkeypatch.setattr(module, "_PAUSE_SECONDS", 0.05)
    monkeypatch.setattr(module, "_LIST_AGAIN_SECONDS", 0.05)


async def until(wanted):
    """Wait until that is so; whether it came to be."""
    for _ in range(1000):
        if wanted():
            break
        await asyncio.sleep(0.02)
    return wanted()


def readings(manager, more):
    """Whether so many readings more were made."""
    done = manager.asked + more
    return lambda: manager.asked >= done


def test_the_end_of_a_silenced_alert_ends_its_incident(begin, quick) -> None:
    """Also on the board; the chat hears nothing of what was silenced."""
    page = alert()
    manager = Manager(listed(page.fingerprint, BEGAN + 60, silenced=True))
    said = []

    async def test(one, robots):
        async def deliver(robot, alerts):
            said.append((robot, alerts))
            return True

        one._asked = replace(one._asked, alertmanager=manager)
        one.may_say(deliver, lambda: True)
        await say(one, robots, page)
        assert await until(readings(manager, 2))
        lasts = [incident.ended for incident in one.incidents]
        manager.held = ()
        assert await until(lambda: one.incidents[0].ended is not None)
        assert await until(lambda: not any(one.firing for one in one._state.alerts.values()))
        counted = [sample.value for family in one.series.collect() for sample in family.samples]
        return lasts, counted

    lasts, counted = begin(Judged(cause()), test)

    assert lasts == [None]
    assert counted == [0, 0]
    assert said == []


def test_what_it_cost_is_read_although_no_message_asks(begin, quick, monkeypatch) -> None:
    """The page and the folder have it."""
    monkeypatch.setattr(module, "bill", lambda *_, **__: "the bill")
    page = alert()
    manager = Manager(listed(page.fingerprint, BEGAN + 60, silenced=True))

    async def test(one, robots):
        one._asked = replace(one._asked, alertmanager=manager)
        await say(one, robots, page)
        assert await until(readings(manager, 2))
        manager.held = ()
        await until(lambda: one.bills)
        return list(one.bills.values())

    assert begin(Judged(cause()), test) == ["the bill"]


def _away():
    raise Unreachable("no route")


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param({"alerts": _away}, id="away"),
        pytest.param({"up_since": _away}, id="half away"),
        pytest.param({"well": False}, id="not ready"),
        pytest.param({"runs": ["2026-05-28T21:00:00Z"]}, id="just restarted"),
        pytest.param({"runs": ["2026-05-28T20:00:00Z", "2026-05-28T21:00:00Z"]}, id="two of them"),
    ],
)
def test_nothing_ends_because_alertmanager_has_trouble(begin, quick, trouble) -> None:
    """The twin: an incident goes on, however often it is asked."""
    page = alert()
    manager = Manager(listed(page.fingerprint, BEGAN + 60, silenced=True))

    async def test(one, robots):
        one._asked = replace(one._asked, alertmanager=manager)
        await say(one, robots, page)
        assert await until(readings(manager, 2))
        manager.held = ()
        for name, value in trouble.items():
            setattr(manager, name, value)
        await asyncio.sleep(1.0)
        return [incident.ended for incident in one.incidents]

    assert begin(Judged(cause()), test) == [None]


def test_alertmanager_is_asked_now_and_then_and_only_while_something_fires(begin, monkeypatch) -> None:
    """At once, then once a minute; in calm never."""
    manager = Manager()

    async def test(one, robots):
        one._asked = replace(one._asked, alertmanager=manager)
        await asyncio.sleep(0.3)
        calm = manager.asked
        await say(one, robots, alert())
        assert await until(lambda: manager.asked)
        await asyncio.sleep(0.5)
        return calm, manager.asked

    assert begin(Judged(cause()), test) == (0, 1)


CONFIG = """\
route: {receiver: serve, group_wait: 0s, group_interval: 1s}
receivers: [{name: serve}]
"""


@pytest.fixture
def manager(tmp_path):
    """A real Alertmanager, and what starts it again; its alerts are kept for ten minutes without news."""
    config = tmp_path / "alertmanager.yml"
    config.write_text(CONFIG)
    port = free_port()
    with ExitStack() as running:

        def start():
            program = AlertmanagerProgram(find("alertmanager"), config, tmp_path / "data", port=port)
            return running.enter_context(program)

        yield start


def post(program, one, *, over: bool = False) -> None:
    """Tell it of an alert as Prometheus does."""
    now = datetime.now(timezone.utc)
    ends_at = now - timedelta(seconds=1) if over else now + timedelta(minutes=10)
    program.post_alerts(
        {
            "labels": one.labels,
            "startsAt": (now - timedelta(minutes=1)).isoformat(),
            "endsAt": ends_at.isoformat(),
        }
    )


def silence(program, model: str) -> None:
    """Silence a model for an hour."""
    now = datetime.now(timezone.utc)
    matcher = {"name": "model", "value": model, "isRegex": False, "isEqual": True}
    requests.post(
        f"{program.url}/api/v2/silences",
        json={
            "matchers": [matcher],
            "startsAt": now.isoformat(),
            "endsAt": (now + timedelta(hours=1)).isoformat(),
            "createdBy": "ops",
            "comment": "known",
        },
        timeout=10,
    ).raise_for_status()


def told(program) -> list:
    """The alerts as serve is told of them: with the fingerprints that Alertmanager gives them."""
    return [ends.firing(one) for one in AlertmanagerClient(program.url).alerts()]


def test_a_real_alertmanager_says_what_has_ended_in_silence(begin, quick, manager) -> None:
    """Of two alerts the silenced one ends, the other goes on; a restart then ends nothing."""
    program = manager()
    ends_, goes_on = alert(), alert(model="other")
    post(program, ends_)
    post(program, goes_on)

    async def test(one, robots):
        one._asked = replace(one._asked, alertmanager=AlertmanagerClient(program.url))
        await say(one, robots, *told(program))
        assert len(one.incidents) == 2
        silence(program, "inspect")
        assert await until(lambda: any(seen.muted for seen in one._listing.seen.values()))
        before = {incident.place.models[0]: incident.ended is None for incident in one.incidents}
        post(program, ends_, over=True)
        assert await until(lambda: any(incident.ended is not None for incident in one.incidents))
        after = {incident.place.models[0]: incident.ended is None for incident in one.incidents}
        program.kill()
        program.start()
        run = one._listing.run
        assert await until(lambda: one._listing.run != run)
        await asyncio.sleep(0.5)
        restarted = {incident.place.models[0]: incident.ended is None for incident in one.incidents}
        return before, after, restarted, told(program)

    before, after, restarted, lost = begin(Judged(cause()), test)

    assert before == {"inspect": True, "other": True}
    assert after == {"inspect": False, "other": True}
    assert restarted == after
    assert lost == []
