"""When an incident speaks, and what it says: each rule with a twin in which it is silent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.incidents.conversations import EPOCH, Listener, Said, alert_of, heard
from tritonobs.extensions.incidents import news
from tritonobs.extensions.incidents.incident import What, chat_incidents
from tritonobs.extensions.incidents.join import join
from tritonobs.extensions.incidents.news import REPEAT_SECONDS, Chat, Kind, accepted, due, named
from tritonobs.render.alertmanager import TIMINGS

FAST, MEDIUM, DEAD = "TritonErrorBudgetBurnFast", "TritonErrorBudgetBurnMedium", "TritonWorkerDead"


def _told(listener: Listener) -> list[tuple[float, Kind]]:
    return [(one.at, one.message.kind) for one in listener.said if one.message]


def _what(said: Said) -> set[What]:
    return {change.what for change in said.message.changes}


def test_one_alert_is_two_messages(life, fleet) -> None:
    """Its beginning at once, its end when it has been over for five minutes."""
    listener = heard([life(FAST, 60, 600, model="ocr")], fleet, until=3600)

    assert _told(listener) == [(60, Kind.FIRST), (900, Kind.END)]
    first, end = listener.said
    assert (_what(first), _what(end)) == ({What.BEGAN}, {What.ENDED})
    assert [one.status for one in (*first.alerts, *end.alerts)] == ["firing", "resolved"]


def test_the_first_message_begins_with_the_verdict(life, fleet, cause, verdict) -> None:
    """What is wrong, since when, what to do, and the alerts."""
    listener = Listener(fleet=fleet)
    listener.hear(
        60,
        [alert_of(life(FAST, 60, model="ocr"), 60)],
        verdict(cause("bad_deploy", "ocr", "2", since=20)),
    )

    (said,) = listener.said
    assert said.message.cause.sentence == "bad_deploy at ocr/2"
    assert said.message.cause.next_steps[0] == "mend bad_deploy"
    assert said.message.incident.since == EPOCH + 20
    assert [one.alert.labels["alertname"] for one in said.message.new] == [FAST]


def test_a_message_without_a_verdict_says_less(life, fleet) -> None:
    """The twin: since its first alert."""
    (said,) = heard([life(FAST, 60, model="ocr")], fleet, until=60).said

    assert said.message.cause is None
    assert said.message.incident.since == EPOCH + 60


def test_a_late_cause_goes_once_with_the_next_message(life, fleet, cause, verdict) -> None:
    """It makes none by itself, and is not said again."""
    said = verdict(cause("bad_deploy", "ocr", "2", since=20))
    lives = [life(MEDIUM, 60, 1900, model="ocr", severity="warning"), life(FAST, 900, 1900, model="ocr")]

    listener = heard(lives, fleet, until=3000, verdicts=dict.fromkeys((65, 80, 1000, 1800), said))

    assert [(one.message.kind, one.message.cause) for one in listener.said] == [
        (Kind.FIRST, None),
        (Kind.UPDATE, said.causes[0]),
        (Kind.END, None),
    ]


def test_another_cause_is_an_update_and_each_only_once(life, fleet, cause, verdict) -> None:
    """A verdict that wavers between two says both, not more."""
    one, other = (verdict(cause(check, "ocr", "2")) for check in ("error_surge", "bad_deploy"))
    verdicts = {60: one} | {at: (one, other)[at // 15 % 2] for at in range(75, 3600, 15)}

    listener = heard([life(FAST, 60, model="ocr")], fleet, until=3600, verdicts=verdicts)

    assert _told(listener) == [(60, Kind.FIRST), (375, Kind.UPDATE)]
    assert listener.said[1].message.cause.sentence == "bad_deploy at ocr/2"
    assert _what(listener.said[1]) == {What.CAUSE}


@pytest.mark.parametrize(
    ("left", "since", "messages"),
    [
        pytest.param("error_surge", 24, 1, id="it follows from what was told"),
        pytest.param("error_surge", 150, 2, id="it began later"),
        pytest.param("larger_inputs", 24, 2, id="it does not follow"),
        pytest.param("error_surge", None, 2, id="nobody knows since when"),
    ],
)
def test_what_follows_from_a_cause_is_no_other(
    life, fleet, cause, verdict, monkeypatch, *, left: str, since: float | None, messages: int
) -> None:
    """A model that is loaded again leaves its errors behind, and they began with it."""
    asked = {"follows": lambda check, other: (check, other) == ("error_surge", "model_gone")}
    monkeypatch.setattr(news, "answer", asked.get)
    told = cause("model_gone", "ocr", "2", since=20)
    echo = cause(left, "ocr", "2", since=0 if since is None else since)
    echo = echo if since is not None else replace(echo, since=None)

    listener = heard(
        [life(FAST, 60, model="ocr")], fleet, until=1000, verdicts={60: verdict(told), 600: verdict(echo)}
    )

    assert len(_told(listener)) == messages


def test_the_same_cause_with_other_numbers_is_none(life, fleet, cause, verdict) -> None:
    """The twin: its sentence moves with every look."""
    first = cause("error_surge", "ocr", "2")
    verdicts = {at: verdict(replace(first, sentence=f"{at} %")) for at in range(60, 3600, 15)}

    assert len(heard([life(FAST, 60, model="ocr")], fleet, until=3600, verdicts=verdicts).said) == 1


def test_a_page_never_waits_for_a_ticket(life, fleet) -> None:
    """A higher severity is told at once."""
    lives = [life(MEDIUM, 60, model="ocr", severity="warning"), life(FAST, 70, model="ocr")]

    listener = heard(lives, fleet, until=1000)

    assert _told(listener) == [(60, Kind.FIRST), (70, Kind.UPDATE)]
    assert _what(listener.said[1]) == {What.SEVERITY}


def test_a_ticket_waits_for_the_next_message_of_a_page(life, fleet) -> None:
    """The twin: it is named with the end."""
    lives = [life(FAST, 60, 500, model="ocr"), life(MEDIUM, 70, 500, model="ocr", severity="warning")]

    listener = heard(lives, fleet, until=1000)

    assert _told(listener) == [(60, Kind.FIRST), (800, Kind.END)]
    assert listener.said[1].names == {FAST, MEDIUM}


def test_an_alert_of_a_long_incident_is_named_within_a_quarter_of_an_hour(life, fleet) -> None:
    """Though nothing about it is worth a message."""
    lives = [life(FAST, 60, model="ocr"), life(MEDIUM, 90, model="ocr", severity="warning")]

    listener = heard(lives, fleet, until=3600)

    assert _told(listener) == [(60, Kind.FIRST), (990, Kind.UPDATE)]
    said = listener.said[1].message
    assert ([one.alert.labels["alertname"] for one in said.new], len(said.going_on)) == ([MEDIUM], 1)


def test_a_wider_place_is_told_after_five_minutes(life, fleet) -> None:
    """Two more servers at once are one update."""
    lives = [
        life("TritonServerDown", at, replica=f"triton-{number}") for number, at in ((1, 60), (2, 70), (3, 80))
    ]

    listener = heard(lives, fleet, until=1000)

    assert _told(listener) == [(60, Kind.FIRST), (365, Kind.UPDATE)]
    said = listener.said[1]
    assert _what(said) == {What.PLACE}
    assert [one.where.replica for one in said.message.new] == ["triton-2", "triton-3"]


def test_a_pipeline_of_the_model_is_not_wider(life, fleet) -> None:
    """The twin: it is named with the end."""
    lives = [life(FAST, 60, 500, model="nms"), life(FAST, 70, 500, model="inspect")]

    assert [kind for _, kind in _told(heard(lives, fleet, until=1000))] == [Kind.FIRST, Kind.END]


@pytest.mark.parametrize(
    ("over", "told"),
    [
        pytest.param(800, [Kind.FIRST, Kind.UPDATE, Kind.END], id="the page is over, the ticket goes on"),
        pytest.param(1500, [Kind.FIRST, Kind.END], id="both end within ten minutes"),
    ],
)
def test_going_back_is_told(life, fleet, over, told) -> None:
    """Once it has for ten minutes."""
    lives = [life(FAST, 60, over, model="ocr"), life(MEDIUM, 60, 2000, model="ocr", severity="warning")]

    listener = heard(lives, fleet, until=3000)

    assert [kind for _, kind in _told(listener)] == told
    if len(told) == 3:
        assert listener.said[1].at == 1400
        assert _what(listener.said[1]) == {What.EASED}


def test_as_bad_again_is_told_and_then_neither_any_more(life, fleet) -> None:
    """What swings is said to go back once, and once to be as bad again."""
    pages = [life(FAST, 60 + 2400.0 * turn, 660 + 2400.0 * turn, model="ocr") for turn in range(6)]
    ticket = life(MEDIUM, 60, 16_000, model="ocr", severity="warning")

    listener = heard([*pages, ticket], fleet, until=17_000)

    assert [(one.at, _what(one)) for one in listener.said[1:-1]] == [
        (1260, {What.EASED}),
        (2460, {What.AGAIN}),
    ]
    assert listener.said[-1].message.kind is Kind.END


@pytest.mark.parametrize("timing", TIMINGS, ids=lambda one: one.severity)
def test_repeats_are_alertmanagers(timing) -> None:
    """The two tables say the same."""
    assert REPEAT_SECONDS[timing.severity] == float(timing.repeat_seconds)


def test_an_update_puts_the_repetition_off(life, fleet) -> None:
    """It counts from the last message, and says the cause again."""
    ticket, page = life(MEDIUM, 60, model="ocr", severity="warning"), life(FAST, 7200, model="ocr")
    listener = Listener(fleet=fleet)
    for at in range(60, 30_000, 60):
        alerts = [alert_of(one, at) for one in (ticket, page) if at >= one.since]
        listener.hear(at, alerts if at in {60, 7200, 14_460, 21_600} else [])

    assert _told(listener) == [(60, Kind.FIRST), (7200, Kind.UPDATE), (21_600, Kind.REPEAT)]


def test_a_repetition_says_the_cause_again(life, fleet, cause, verdict) -> None:
    """Who reads it may not have seen the first."""
    listener = Listener(fleet=fleet)
    said = verdict(cause("bad_deploy", "ocr", "2"))
    for at in (60, 14_460):
        listener.hear(at, [alert_of(life(FAST, 60, model="ocr"), at)], said)

    assert [one.message.cause.sentence for one in listener.said] == ["bad_deploy at ocr/2"] * 2


def test_what_was_over_before_it_could_be_told_is_not_told(life, fleet) -> None:
    """The robot was muted; delivery does the same with alerts."""
    one = life(FAST, 60, 90, model="ocr")
    state = join(Listener(fleet=fleet).state, EPOCH + 60, [alert_of(one, 60)], fleet).state
    step = join(state, EPOCH + 90, [alert_of(one, 90)], fleet)

    assert due(Chat(), step.incidents, EPOCH + 90, fleet) == ()


def test_a_message_that_failed_is_due_again(life, fleet) -> None:
    """With what has come since; nothing is thought to be known that no chat took."""
    lives = [life(FAST, 60, model="ocr"), life(MEDIUM, 70, model="ocr", severity="warning")]
    step = join(Listener(fleet=fleet).state, EPOCH + 60, [alert_of(lives[0], 60)], fleet)
    (first,) = due(Chat(), step.incidents, EPOCH + 60, fleet)
    step = join(step.state, EPOCH + 70, [alert_of(lives[1], 70)], fleet)

    (again,) = due(Chat(), step.incidents, EPOCH + 70, fleet)

    assert (first.kind, again.kind) == (Kind.FIRST, Kind.FIRST)
    assert again.states == first.states | {alert_of(lives[1], 70).state}
    assert due(accepted(Chat(), again, EPOCH + 70), step.incidents, EPOCH + 75, fleet) == ()


def test_the_rest_of_a_message_that_was_taken_in_part_is_due_at_once(life, fleet) -> None:
    """A message of thousands of alerts has several pages."""
    alerts = [alert_of(life(FAST, 60, model="ocr", slo=f"s{number}"), 60) for number in range(9)]
    step = join(Listener(fleet=fleet).state, EPOCH + 60, alerts, fleet)
    (whole,) = due(Chat(), step.incidents, EPOCH + 60, fleet)
    part = frozenset(one.state for one in alerts[:4])

    chat = accepted(Chat(), whole, EPOCH + 60, part)
    (rest,) = due(chat, step.incidents, EPOCH + 61, fleet)

    assert {one.alert.state for one in rest.new} == whole.states - part
    assert due(accepted(chat, rest, EPOCH + 61), step.incidents, EPOCH + 62, fleet) == ()


def test_an_alert_that_was_told_outside_is_not_new(life, fleet) -> None:
    """What only informs was delivered before the page that it belongs to."""
    info = life("TritonModelReloaded", 60, model="ocr", severity="info")

    listener = heard([info, life(FAST, 90, model="ocr")], fleet, until=100)

    outside, first = listener.said
    assert (outside.message, outside.names) == (None, {"TritonModelReloaded"})
    assert [one.alert.labels["alertname"] for one in first.message.new] == [FAST]
    assert [one.alert.labels["alertname"] for one in first.message.going_on] == ["TritonModelReloaded"]


def test_a_chat_hears_of_its_own_alerts_only(life, fleet) -> None:
    """A robot for pages is told nothing of a ticket, and its incident ends with the page."""
    ticket, page = life(MEDIUM, 60, model="ocr", severity="warning"), life(FAST, 90, 200, model="ocr")
    keys = {alert_of(page, 90).fingerprint}
    state, chat, told = Listener(fleet=fleet).state, Chat(), []
    for at in range(60, 900, 10):
        now = EPOCH + at
        news_now = [alert_of(one, at) for one in (ticket, page) if at in {one.since, one.until}]
        step = join(state, now, news_now, fleet)
        state = step.state
        for message in due(chat, chat_incidents(step.incidents, keys, now), now, fleet):
            told.append((at, message.kind, message.incident.id == step.incidents[0].id))
            chat = accepted(chat, message, now)

    assert told == [(90, Kind.FIRST, True), (500, Kind.END, True)]


def test_an_incident_that_turned_out_to_be_another_goes_on_in_its_conversation(
    life, fleet, cause, verdict
) -> None:
    """Two first messages were sent; there is one update and one end."""
    lives = [life(FAST, 60, 1000, model="ocr"), life(FAST, 90, 1000, model="search")]
    said = verdict(
        cause("replica_down", "", "", "triton-1"), following=(cause("a", "ocr"), cause("b", "search"))
    )

    listener = heard(lives, fleet, until=2000, verdicts={95: said})

    assert [kind for _, kind in _told(listener)] == [Kind.FIRST, Kind.FIRST, Kind.UPDATE, Kind.END]
    assert What.JOINED in _what(listener.said[2])


def test_what_a_chat_knows_is_bounded(life, fleet, monkeypatch) -> None:
    """The oldest is forgotten first."""
    monkeypatch.setattr(news, "MOST_NAMED", 3)

    chat = named(
        named(Chat(), [("a", "", "firing"), ("b", "", "firing")]), [("c", "", "firing"), ("d", "", "firing")]
    )
    chat = named(chat, [("b", "", "resolved")])

    assert list(chat.named) == ["c", "d", "b"]
