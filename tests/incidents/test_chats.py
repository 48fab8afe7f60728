"""What of a digest a message names now, what was named before, and what waits for the next message."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from support.incidents.conversations import EPOCH, alert_of
from tritonobs.extensions.incidents import chats, news
from tritonobs.extensions.incidents.chats import (
    END_WAIT_SECONDS,
    LONGEST_WAIT_SECONDS,
    Manner,
    Talk,
    heard,
    sift,
    telling,
    unasked,
)
from tritonobs.extensions.incidents.incident import What
from tritonobs.extensions.incidents.join import State, join
from tritonobs.extensions.incidents.news import Kind

FAST, MEDIUM, DOWN = "TritonErrorBudgetBurnFast", "TritonErrorBudgetBurnMedium", "TritonServerDown"


@dataclass(slots=True)
class Room:
    """A robot's chat behind `serve`: every digest is sifted, and what is left is accepted."""

    manner: Manner
    talk: Talk = field(default_factory=Talk)
    state: State = field(default_factory=State)
    incidents: tuple = ()
    causes: list = field(default_factory=list)
    """What each accepted digest said of its incidents."""

    def call(self, at, *lives, verdict=None, takes=True):
        """The names that the message has, those that wait, those that are known."""
        alerts = [alert_of(life, at) for life in lives]
        step = join(self.state, EPOCH + at, alerts, self.manner.fleet, verdict)
        self.state, self.incidents = step.state, step.incidents
        self.talk, sifted = sift(self.talk, alerts, step.incidents, EPOCH + at, self.manner)
        sent = [one for one in alerts if one.state not in sifted.known and one.state not in sifted.later]
        # Delivery sends no end of what it never sent.
        has = {key for key, _, status in self.talk.chat.named.values() if status == "firing"}
        sent = [one for one in sent if one.firing or one.fingerprint in has]
        if takes:
            self.talk = telling(self.talk, step.incidents)
            self.causes += [one.cause.sentence if one.cause else "" for one in self.talk.messages.values()]
            self.talk = heard(self.talk, [one.state for one in sent], EPOCH + at)
        name = {one.state: f"{one.labels['alertname']} {one.status}" for one in alerts}
        return (
            [name[one.state] for one in sent],
            [name[state] for state in sifted.later],
            [name[state] for state in sifted.known],
        )

    def tick(self, at, verdict=None):
        """What is to be said although no call came."""
        step = join(self.state, EPOCH + at, (), self.manner.fleet, verdict)
        self.state, self.incidents = step.state, step.incidents
        return unasked(self.talk, step.incidents, EPOCH + at, self.manner)


@pytest.fixture
def room(fleet) -> Room:
    """One that has heard nothing."""
    return Room(Manner.of(fleet, 300.0))


def test_the_first_message_and_every_page_go_at_once(room, life) -> None:
    """A page of a known incident, too, however soon after the last message."""
    page, other = life(FAST, 60, model="ocr"), life(DOWN, 65, model="ocr")

    assert room.call(60, page) == ([f"{FAST} firing"], [], [])
    assert room.call(66, other) == ([f"{DOWN} firing"], [], [])


def test_a_ticket_of_a_known_incident_waits_and_goes_with_the_next_page(room, life) -> None:
    """Its call has no answer until then."""
    page, ticket = life(FAST, 60, model="ocr"), life(MEDIUM, 70, model="ocr", severity="warning")
    room.call(60, page)

    assert room.call(80, ticket) == ([], [f"{MEDIUM} firing"], [])
    sent, later, _ = room.call(100, ticket, life(DOWN, 99, model="ocr"))
    assert (sorted(sent), later) == ([f"{MEDIUM} firing", f"{DOWN} firing"], [])


def test_a_ticket_waits_four_minutes_at_most(room, life) -> None:
    """Also where its call ends and comes again: the wait counts from the first."""
    ticket = life(MEDIUM, 70, model="ocr", severity="warning")
    room.call(60, life(FAST, 60, model="ocr"))
    calls = [room.call(at, ticket) for at in (80, 200, 80 + LONGEST_WAIT_SECONDS - 1)]

    assert [later for _, later, _ in calls] == [[f"{MEDIUM} firing"]] * 3
    assert room.call(80 + LONGEST_WAIT_SECONDS, ticket)[0] == [f"{MEDIUM} firing"]


def test_a_ticket_that_no_one_was_told_of_waits_for_nothing(room, life) -> None:
    """The twin: it is the first message of its incident."""
    assert room.call(80, life(MEDIUM, 70, model="ocr", severity="warning"))[0] == [f"{MEDIUM} firing"]


def test_a_ticket_of_another_incident_waits_for_nothing(room, life) -> None:
    """Two models that have nothing to do with each other."""
    room.call(60, life(FAST, 60, model="ocr"))

    assert room.call(70, life(MEDIUM, 70, model="search", severity="warning"))[0] == [f"{MEDIUM} firing"]


def test_the_end_of_a_page_goes_at_once_and_takes_tickets_along(room, life) -> None:
    """Another ticket goes on: what is no page any more is news."""
    page = life(FAST, 60, 200, model="ocr")
    ticket, other = (
        life(f"{MEDIUM}{n}", 60, until, model="ocr", severity="warning") for n, until in enumerate((190, 900))
    )
    room.call(60, page, ticket, other)

    assert room.call(192, ticket) == ([], [f"{MEDIUM}0 resolved"], [])
    sent, later, _ = room.call(201, page, ticket)
    assert (sorted(sent), later) == ([f"{FAST} resolved", f"{MEDIUM}0 resolved"], [])


def test_the_end_of_a_page_waits_for_another_one_for_seconds(room, life) -> None:
    """Alertmanager gives a call about pages ten seconds."""
    page, ticket = life(FAST, 60, 200, model="ocr"), life(MEDIUM, 60, 190, model="ocr", severity="warning")
    room.call(60, page, ticket, life(DOWN, 60, model="ocr"))

    assert room.call(201, page) == ([], [f"{FAST} resolved"], [])
    sent, later, _ = room.call(201 + END_WAIT_SECONDS, page, ticket)
    assert (sorted(sent), later) == ([f"{FAST} resolved", f"{MEDIUM} resolved"], [])


def test_pages_that_end_together_are_one_message(room, life) -> None:
    """The twin: three seconds apart."""
    page, other = life(FAST, 60, 200, model="ocr"), life(DOWN, 60, 203, model="ocr")
    room.call(60, page, other)

    assert room.call(201, page)[0] == []
    assert sorted(room.call(204, page, other)[0]) == [f"{FAST} resolved", f"{DOWN} resolved"]


def test_a_page_that_begins_takes_an_end_along(room, life) -> None:
    """It waits for nothing."""
    page = life(FAST, 60, 200, model="ocr")
    room.call(60, page, life(DOWN, 60, model="ocr"))
    late = life("TritonWorkerDead", 202, model="ocr")

    assert room.call(201, page)[0] == []
    assert sorted(room.call(203, page, late)[0]) == [f"{FAST} resolved", "TritonWorkerDead firing"]


def test_the_last_end_goes_at_once(room, life) -> None:
    """Also that of a ticket."""
    page, ticket = life(FAST, 60, 200, model="ocr"), life(MEDIUM, 60, 210, model="ocr", severity="warning")
    room.call(60, page, ticket)
    room.call(200, page)

    assert room.call(211, ticket) == ([f"{MEDIUM} resolved"], [], [])


def test_what_the_chat_has_is_not_sent_again(room, life) -> None:
    """A group is told as a whole when one alert of it changes, and each group by itself."""
    page, other = life(FAST, 60, model="ocr"), life(DOWN, 90, model="ocr")
    room.call(60, page)

    assert room.call(91, page, other) == ([f"{DOWN} firing"], [], [f"{FAST} firing"])
    sent, later, known = room.call(500, page, other)
    assert (sent, later, sorted(known)) == ([], [], [f"{FAST} firing", f"{DOWN} firing"])


def test_what_the_chat_did_not_accept_is_sent_again(room, life) -> None:
    """The twin."""
    page = life(FAST, 60, model="ocr")
    room.call(60, page, takes=False)

    assert room.call(70, page)[0] == [f"{FAST} firing"]


def test_what_goes_on_is_repeated_once_for_all_its_groups(room, life) -> None:
    """Alertmanager repeats each of them by itself."""
    page, other = life(FAST, 60, model="ocr"), life(DOWN, 90, model="ocr")
    room.call(60, page)
    room.call(91, other)

    assert room.call(60 + 14_400, page)[0] == [f"{FAST} firing"]
    assert room.call(91 + 14_400, other)[2] == [f"{DOWN} firing"]


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        pytest.param("NodeDown", {"instance": "10.0.0.1:9100"}, id="an alert of others"),
        pytest.param("Watchdog", {"severity": "none"}, id="the dead man's switch"),
        pytest.param("", {}, id="no label at all"),
    ],
)
def test_what_no_incident_has_is_sent_whenever_it_comes(room, life, name, labels) -> None:
    """As it always was."""
    alert = life(name, 60, **labels)

    assert [len(room.call(at, alert)[0]) for at in (60, 61, 400)] == [1, 1, 1]


def test_another_cause_is_said_although_no_call_comes(room, life, cause, verdict) -> None:
    """Five minutes after the last message at the soonest, with the alerts that go on, and once."""
    page = life(FAST, 60, model="ocr")
    room.call(60, page, verdict=verdict(cause("error_surge", "ocr", "2")))
    other = verdict(cause("bad_deploy", "ocr", "2"))

    assert room.tick(200, other) == ()
    (message,) = room.tick(361, other)
    assert (message.kind, message.corrects, len(message.going_on)) == (Kind.UPDATE, True, 1)
    room.talk = Talk(chat=room.talk.chat, keys=room.talk.keys, asked=frozenset({message.incident.id}))
    assert room.call(362, page)[0] == [f"{FAST} firing"]
    assert room.talk.asked == frozenset()
    assert room.tick(1000, other) == ()
    assert room.call(1001, page)[2] == [f"{FAST} firing"]


def test_a_cause_is_said_once(room, life, cause, verdict) -> None:
    """Pages that come later, and the end, say that they belong to it."""
    page, other, known = (
        life(FAST, 60, 400, model="ocr"),
        life(DOWN, 90, 300, model="ocr"),
        cause("e", "ocr", "2"),
    )
    room.call(60, page, verdict=verdict(known))
    room.call(91, page, other, verdict=verdict(known))
    room.call(300, other, verdict=verdict(known))
    room.call(300 + END_WAIT_SECONDS, other, verdict=verdict(known))

    assert room.causes == ["e at ocr/2", "", ""]


def test_while_alerts_end_no_other_cause_is_said(room, life, cause, verdict) -> None:
    """What recovers looks like many things. The twin: when another alert begins, it is said."""
    page, other = life(FAST, 60, 300, model="ocr"), life(DOWN, 90, model="ocr")
    echo = verdict(cause("echo", "ocr", "2"))
    room.call(60, page, verdict=verdict(cause("e", "ocr", "2")))
    room.call(90, other)
    room.call(301, page, verdict=echo)
    assert room.tick(1000, echo) == ()
    assert "echo at ocr/2" not in room.causes

    room.call(1010, life(FAST, 1010, model="ocr"), verdict=echo)
    assert room.causes[-1] == "echo at ocr/2"


def test_the_first_cause_that_comes_late_makes_no_message(room, life, cause, verdict) -> None:
    """The twin: it goes with the next one."""
    room.call(60, life(FAST, 60, model="ocr"))

    assert room.tick(500, verdict(cause("bad_deploy", "ocr", "2"))) == ()


def test_that_it_goes_back_is_said_although_no_call_comes(room, life) -> None:
    """When no page has fired for ten minutes, and tickets do."""
    page, ticket = life(FAST, 60, 100, model="ocr"), life(MEDIUM, 60, model="ocr", severity="warning")
    room.call(60, page, ticket)
    room.call(101, page)

    assert room.tick(600) == ()
    (message,) = room.tick(701)
    assert [change.what for change in message.changes] == [What.EASED]


def test_a_ticket_that_comes_and_goes_is_a_message_in_some_minutes(room, life) -> None:
    """Every 20 s; a page beside it goes on."""
    room.call(60, life(FAST, 60, model="ocr"))
    sent = 0
    for turn in range(90):
        since = 80.0 + 20 * turn
        flapping = life(MEDIUM, since, since + 10, model="ocr", severity="warning")
        sent += bool(room.call(since, flapping)[0]) + bool(room.call(since + 10, flapping)[0])

    assert 1800 // LONGEST_WAIT_SECONDS - 2 <= sent <= 2 + 1800 // LONGEST_WAIT_SECONDS
    assert len(room.talk.since) <= 1


def test_three_thousand_at_once_are_sent_at_once_and_known_then(room, life) -> None:
    """The digest after it has nothing to say."""
    storm = [life(FAST, 60, model=f"m{number}") for number in range(3000)]

    assert len(room.call(60, *storm)[0]) == 3000
    assert len(room.call(70, *storm)[2]) == 3000


def test_an_alert_from_the_future_is_sent_at_once(room, life) -> None:
    """Whatever the clock of its Prometheus says."""
    assert room.call(60, life(FAST, 4000, model="ocr"))[0] == [f"{FAST} firing"]


def test_what_a_talk_knows_is_bounded(room, life, monkeypatch) -> None:
    """The oldest is forgotten first, and then sent again rather than left out."""
    monkeypatch.setattr(chats, "MOST_NAMED", 50)
    monkeypatch.setattr(news, "MOST_NAMED", 50)
    first = [life(FAST, 60, model=f"m{number}") for number in range(40)]
    room.call(60, *first)
    for turn in range(10):
        room.call(70 + turn, *(life("NodeDown", 70, instance=f"{turn}-{number}") for number in range(40)))

    assert (len(room.talk.keys), len(room.talk.chat.named)) == (50, 50)
    assert len(room.talk.since) <= 50
    assert len(room.call(100, *first)[0]) == 40
