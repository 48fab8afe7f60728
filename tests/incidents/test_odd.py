"""Alerts that are not ours, too many, from the future, that flap: an incident, or delivered as today."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from support.incidents.conversations import EPOCH, Listener, alert_of
from tritonobs import names, registry
from tritonobs.extensions.incidents import groups, join
from tritonobs.extensions.incidents.incident import AREAS, ID, TEST_ALERT, where
from tritonobs.extensions.incidents.news import Kind
from tritonobs.render import alertmanager
from tritonobs.spec.rules import ALERTS

if TYPE_CHECKING:
    from collections.abc import Mapping

FAST = "TritonErrorBudgetBurnFast"


@pytest.fixture
def listener(fleet) -> Listener:
    """A chat that has heard nothing."""
    return Listener(fleet=fleet)


def _alerts(life, count: int, since: float = 60, **labels: str):
    lives = (life(FAST, since, model=f"m{number}", **labels) for number in range(count))
    return [alert_of(one, since) for one in lives]


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        pytest.param(names.WATCHDOG, {"severity": "info"}, id="the dead man's switch"),
        pytest.param(TEST_ALERT, {"robot": "oncall"}, id="a test of the way to the chat"),
        pytest.param("TritonTrafficDrop", {"severity": "none", "model": "ocr"}, id="sent to nobody"),
        pytest.param("NodeDown", {"instance": "10.0.0.1:9100"}, id="an alert of others"),
        pytest.param("QualityLow", {"model": "unknown"}, id="of others, about a model that is not ours"),
        pytest.param("", {}, id="no label at all"),
        pytest.param("Triton", {}, id="no name of ours"),
        pytest.param("TritonModelReloaded", {"severity": "info", "model": "ocr"}, id="what only informs"),
    ],
)
def test_what_is_no_incident_is_delivered_as_today(listener, life, name, labels) -> None:
    """It opens none, and is handed back."""
    alert = alert_of(life(name, 60, **labels), 60)

    step = listener.hear(60, [alert])

    assert (step.incidents, step.outside) == ((), (alert,))


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        pytest.param("TritonSomethingNew", {}, id="an alert of ours that is in no table"),
        pytest.param("TritonSomethingNew", {"pool": "a"}, id="with labels nobody knows"),
        pytest.param(FAST, {"model": "not-in-the-fleet-file"}, id="a model that is not in the fleet file"),
        pytest.param("TritonServerDown", {"instance": "10.0.0.9:8002"}, id="a server without a name"),
        pytest.param("QualityLow", {"model": "ocr"}, id="of others, about a model of ours"),
        pytest.param(FAST, {"model": "ocr", "severity": "page"}, id="a severity of others"),
    ],
)
def test_what_is_one_is_not(listener, life, name, labels) -> None:
    """The twin."""
    step = listener.hear(60, [alert_of(life(name, 60, **labels), 60)])

    assert (len(step.incidents), step.outside) == (1, ())


def test_an_end_of_which_no_beginning_was_heard_is_delivered_as_today(listener, life) -> None:
    """Another process may have told the beginning: delivery knows what to do."""
    alert = alert_of(life(FAST, 10, 50, model="ocr"), 60)

    step = listener.hear(60, [alert])

    assert (step.incidents, step.outside) == ((), (alert,))


@pytest.mark.parametrize(
    ("ended", "joins"), [pytest.param(900, True, id="now"), pytest.param(500, False, id="long ago")]
)
def test_an_end_beside_an_incident_belongs_to_it_while_it_is_young(listener, life, ended, joins) -> None:
    """What was over five minutes ago, and of which nothing was heard, is delivered as today."""
    alert = alert_of(life("TritonStageSlow", 60, ended, model="ocr"), 900)

    step = listener.hear(900, [alert, alert_of(life(FAST, 400, model="ocr"), 900)])

    assert (len(step.incidents[0].alerts), step.outside) == ((2, ()) if joins else (1, (alert,)))


def test_the_end_of_an_incident_that_is_told_again_is_no_news(listener, life) -> None:
    """Prometheus tells it for a quarter of an hour."""
    one = life(FAST, 60, 100, model="ocr")
    listener.hear(60, [alert_of(one, 60)])
    listener.hear(100, [alert_of(one, 100)])
    listener.hear(500)

    step = listener.hear(520, [alert_of(one, 520)])

    assert step.outside == ()
    assert [kind for said in listener.messages.values() for _, kind in said] == [Kind.FIRST, Kind.END]


def test_three_thousand_at_once_are_one_incident(listener, life) -> None:
    """In one message's time, and every one of them is named."""
    began = time.process_time()

    step = listener.hear(60, _alerts(life, 3000))

    assert time.process_time() - began < 3
    (incident,) = step.incidents
    assert (len(incident.alerts), step.outside) == (3000, ())
    assert [len(said.alerts) for said in listener.said] == [3000]


def test_four_at_once_are_four(listener, life) -> None:
    """A storm has five."""
    assert len(listener.hear(60, _alerts(life, 4)).incidents) == 4
    assert len(listener.hear(70, _alerts(life, 5)).incidents) == 1


@pytest.mark.parametrize(
    ("apart", "number"), [pytest.param(20, 1, id="fast"), pytest.param(60, 6, id="slow")]
)
def test_a_storm_begins_within_two_minutes(listener, life, apart, number) -> None:
    """What comes one after the other is not one fault."""
    for turn in range(6):
        at = 60 + apart * turn
        listener.hear(at, [alert_of(life(FAST, at, model=f"m{turn}"), at)])

    assert len(listener.state.open) == number


def test_a_storm_leaves_other_clusters_and_our_own_parts_alone(listener, life) -> None:
    """A robot that is muted has nothing to do with it."""
    listener.hear(
        60,
        [
            *_alerts(life, 20, cluster="east"),
            *_alerts(life, 2, cluster="west"),
            alert_of(life("TritonobsRobotMuted", 60, robot="oncall"), 60),
        ],
    )

    assert sorted(len(one.alerts) for one in listener.state.open.values()) == [1, 1, 1, 20]


def test_the_number_of_incidents_is_bounded(listener, life) -> None:
    """Those that people know stay; alerts of the others are delivered as today."""
    for turn in range(join.MOST_OPEN + 10):
        at = 60.0 + 121 * turn
        step = listener.hear(at, [alert_of(life(FAST, at, model=f"m{turn}"), at)])

    assert len(listener.state.open) == join.MOST_OPEN
    assert {one.place.models for one in listener.state.open.values()} == {
        (f"m{turn}",) for turn in range(join.MOST_OPEN)
    }
    assert [one.labels["model"] for one in step.outside] == [f"m{join.MOST_OPEN + 9}"]


def test_the_number_of_alerts_is_bounded(listener, life, monkeypatch) -> None:
    """Of one incident and of all: the rest is delivered as today."""
    monkeypatch.setattr(groups, "MOST_OF_ONE", 20)
    monkeypatch.setattr(join, "MOST_ALERTS", 50)

    step = listener.hear(60, [alert_of(life(FAST, 60, model="ocr", slo=f"s{n}"), 60) for n in range(80)])

    assert [len(one.alerts) for one in step.incidents] == [20]
    assert len(step.outside) == 60
    assert len(step.state.alerts) == 50


def test_incidents_that_are_over_are_forgotten(listener, life, monkeypatch) -> None:
    """After a day, and the oldest when there are too many."""
    monkeypatch.setattr(join, "MOST_CLOSED", 3)
    for turn in range(6):
        one = life(FAST, 60 + 400.0 * turn, 70 + 400.0 * turn, model=f"m{turn}")
        listener.hear(one.since, [alert_of(one, one.since)])
        listener.hear(one.until, [alert_of(one, one.until)])
        step = listener.hear(one.until + 310)
        assert not step.state.alerts

    assert [one.place.models for one in step.state.closed.values()] == [("m3",), ("m4",), ("m5",)]
    assert listener.hear(3 * 86_400).incidents == ()


def test_incidents_that_are_over_take_no_more_memory_than_those_that_go_on(
    listener, life, monkeypatch
) -> None:
    """Together they have as many alerts; what was told is known without them."""
    monkeypatch.setattr(join, "MOST_ALERTS", 50)
    for turn in range(4):
        since = 60 + 1000.0 * turn
        lives = [life(FAST, since, since + 10, model=f"m{turn}", slo=f"s{number}") for number in range(20)]
        listener.hear(since, [alert_of(one, since) for one in lives])
        listener.hear(since + 10, [alert_of(one, since + 10) for one in lives])
        listener.hear(since + 320)

    assert [one.place.models for one in listener.state.closed.values()] == [("m2",), ("m3",)]
    assert {len(one.incident.alerts) for one in listener.chat.told.values()} == {0}


@pytest.mark.parametrize("ahead", [3, 86_400, 10**9])
def test_an_alert_from_the_future_begins_now(fleet, life, ahead) -> None:
    """Clocks differ. Two processes that hear of it at different times call it the same."""
    one = life(FAST, 60 + ahead, model="ocr")
    here, there = Listener(fleet=fleet), Listener(fleet=fleet)

    (incident,) = here.hear(60, [alert_of(one, 60)]).incidents
    (same,) = there.hear(62, [alert_of(one, 62)]).incidents

    assert incident.began == EPOCH + 60
    assert incident.id == same.id
    assert ID.fullmatch(incident.id)


def test_an_alert_without_a_time_began_when_it_was_heard_of(listener, life) -> None:
    """Go's zero time is none."""
    alert = alert_of(life(FAST, 60, model="ocr"), 60).model_copy(update={"starts_at": None})

    (incident,) = listener.hear(75, [alert]).incidents

    assert incident.began == EPOCH + 75


def test_an_alert_that_flaps_is_one_incident_with_two_messages(listener, life) -> None:
    """20 s on, 20 s off, for an hour: told once, and its end once."""
    for turn in range(90):
        one = life(FAST, 60 + 40.0 * turn, 80 + 40.0 * turn, model="ocr")
        listener.hear(one.since, [alert_of(one, one.since)])
        listener.hear(one.until, [alert_of(one, one.until)])
    for tick in range(0, 600, 15):
        listener.hear(3700 + tick)

    ((_, said),) = listener.messages.items()
    assert [kind for _, kind in said] == [Kind.FIRST, Kind.END]
    (incident,) = listener.state.closed.values()
    assert [one.times for one in incident.alerts] == [90]


def test_two_alerts_that_flap_by_turns_are_no_more(listener, life) -> None:
    """A page and a ticket, each on for 40 s of 80: it goes back once, not each time."""
    for turn in range(90):
        start = 60 + 80.0 * turn
        page = life(FAST, start, start + 40, model="ocr")
        ticket = life("TritonStageSlow", start + 20, start + 70, model="ocr", severity="warning")
        for at, one in (
            (page.since, page),
            (ticket.since, ticket),
            (page.until, page),
            (ticket.until, ticket),
        ):
            listener.hear(at, [alert_of(one, at)])
    for tick in range(0, 600, 15):
        listener.hear(7300 + tick)

    ((_, said),) = listener.messages.items()
    assert [kind for _, kind in said] == [Kind.FIRST, Kind.UPDATE, Kind.END]


@pytest.mark.parametrize(
    ("silenced", "repeats"),
    [pytest.param(86_400, 5, id="as long as it fires"), pytest.param(20_000, 1, id="silenced")],
)
def test_an_alert_that_never_ends_is_repeated(listener, life, silenced, repeats) -> None:
    """Every four hours, when Alertmanager calls again; it does not while someone silences it."""
    one = life(FAST, 60, model="ocr")
    for at in range(60, 86_400, 60):
        calls = (at - 60) % 14_460 == 0 and at < silenced
        listener.hear(at, [alert_of(one, at)] if calls else [])

    ((_, said),) = listener.messages.items()
    assert [kind for _, kind in said] == [Kind.FIRST, *[Kind.REPEAT] * repeats]


HOSTILE = {
    "markup": "[x](http://evil)<script>",
    "a path": "../../etc/passwd",
    "controls": "a\nb\x1b[2J\0",
    "right to left": "\u202egpj.ecivres",
    "many characters": "模" * 5000,
    "quotes": "\"'`;$(reboot)",
}


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_hostile_names_are_data(listener, life, cause, verdict, name) -> None:
    """They are compared and kept, at most 256 characters of a place; the id has none of them."""
    lives = [life(FAST, 60, model=name, version=name), life("TritonServerDown", 60, replica=name)]
    step = listener.hear(60, [alert_of(one, 60) for one in lives])
    step = listener.hear(70, verdict=verdict(cause("error_surge", name, name), cause("x", "", "", name)))

    assert step.outside == ()
    assert all(ID.fullmatch(one.id) for one in step.incidents)
    models = {model for one in step.incidents for model in one.place.models}
    assert models == {name[:256]}


def test_an_alert_of_megabytes_is_kept_small(listener, life) -> None:
    """Its name, its fingerprint and what fits; what it is about is known all the same."""
    one = life(FAST, 60, model="ocr", **{f"l{n}": "x" * 10_000 for n in range(200)})
    alert = alert_of(one, 60)

    (incident,) = listener.hear(60, [alert]).incidents

    (kept,) = incident.alerts
    assert kept.alert.state == alert.state
    assert kept.alert.labels["alertname"] == FAST
    assert sum(map(len, kept.alert.labels.values())) < 20_000


def test_every_alert_without_a_model_has_an_area() -> None:
    """Names in the table are those of rules, as long as all extensions that bring rules are there."""
    known = {*ALERTS, *names.SHARD_ALERTS, *names.AGENT_ALERTS}
    if {"kubernetes", "traces"} <= {*registry.NAMES}:
        assert AREAS.keys() <= known
    assert {name for name in known if name.startswith("Tritonobs")} <= AREAS.keys()
    assert TEST_ALERT == alertmanager.TEST_ALERT


@pytest.mark.parametrize(
    ("labels", "about"),
    [
        pytest.param({"pod": "triton-7c9"}, "triton-7c9", id="the label of the replica"),
        pytest.param(
            {"replica": "triton-1", "instance": "10.0.0.1:8002"}, "10.0.0.1:8002", id="another label"
        ),
    ],
)
def test_labels_are_called_as_in_the_fleet_file(labels: Mapping[str, str], about: str) -> None:
    """Under a PodMonitor the replica is the pod; without its label it is the address."""
    from tritonobs.extensions.incidents.incident import Fleet  # noqa: PLC0415 (the fixture has other labels)

    fleet = Fleet(edges={}, replica_label="pod", cluster_label="")
    found = where({"alertname": "TritonServerDown", "cluster": "east", **labels}, fleet)

    assert found is not None
    assert (found.cluster, found.replica, found.area) == ("", about, "servers")
