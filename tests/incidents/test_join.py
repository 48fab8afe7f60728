"""Which alerts are one incident, and which are two: each case has a twin that differs in one thing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.incidents.conversations import EPOCH, Listener, alert_of, heard
from tritonobs.extensions.incidents.incident import ID, What, find, ident

if TYPE_CHECKING:
    from collections.abc import Iterable

    from support.alertmanager_sim.alertmanager import Life
    from tritonobs.extensions.incidents.incident import Incident

FAST, MEDIUM = "TritonErrorBudgetBurnFast", "TritonErrorBudgetBurnMedium"
ABOVE, INVALID, DOWN = "TritonQpsAboveLimit", "TritonInvalidInputSurge", "TritonServerDown"
DEAD, SLOW = "TritonWorkerDead", "TritonReplicaSlow"


def _name(labels) -> str:
    shown = (labels.get(key) for key in ("model", "version", "replica", "robot", "cluster"))
    return " ".join([labels["alertname"], *filter(None, shown)])


def _parts(incidents: Iterable[Incident]) -> set[frozenset[str]]:
    return {frozenset(_name(one.alert.labels) for one in incident.alerts) for incident in incidents}


def _parted(lives: Iterable[Life], fleet, until: float = 600, **more):
    listener = heard(lives, fleet, until=until, **more)
    return _parts([*listener.state.open.values(), *listener.state.closed.values()])


def _whole(lives: Iterable[Life]) -> set[frozenset[str]]:
    return {frozenset(_name(life.labels) for life in lives)}


def _each(lives: Iterable[Life]) -> set[frozenset[str]]:
    return {frozenset({_name(life.labels)}) for life in lives}


ONE = {
    "a pipeline and the member that fails": [(FAST, 60, {"model": "nms"}), (FAST, 90, {"model": "inspect"})],
    "the member shows later than its pipeline": [
        (FAST, 60, {"model": "inspect"}),
        (FAST, 400, {"model": "nms"}),
    ],
    "two models on one replica that dies": [
        (DOWN, 60, {"replica": "triton-1"}),
        (DEAD, 70, {"model": "ocr", "version": "1", "replica": "triton-1"}),
        (DEAD, 75, {"model": "search", "version": "1", "replica": "triton-1"}),
    ],
    "a worker, and the budget of its model": [
        (DEAD, 60, {"model": "ocr", "version": "1", "replica": "triton-1"}),
        (FAST, 200, {"model": "ocr"}),
    ],
    "a deployment: errors, slowness and a reason of one version": [
        (FAST, 60, {"model": "ocr", "version": "2", "slo": "availability"}),
        (FAST, 100, {"model": "ocr", "version": "2", "slo": "latency"}),
        ("TritonErrorReasonSurge", 240, {"model": "ocr", "version": "2", "severity": "warning"}),
    ],
    "two versions of a model": [
        (FAST, 60, {"model": "ocr", "version": "1"}),
        (FAST, 60, {"model": "ocr", "version": "2"}),
    ],
    "servers of a zone": [
        (DOWN, 60, {"replica": "triton-1"}),
        (DOWN, 70, {"replica": "triton-2"}),
        ("TritonServersLost", 100, {}),
    ],
    "a robot that is muted, and its messages": [
        ("TritonobsRobotMuted", 60, {"robot": "oncall", "severity": "warning"}),
        ("TritonobsDeliveryFailing", 100, {"robot": "oncall"}),
    ],
    "a slower tier of the same burn, hours later": [
        (FAST, 60, {"model": "ocr"}),
        ("TritonErrorBudgetBurnSlow", 5 * 3600, {"model": "ocr", "severity": "warning"}),
    ],
    "an alert of others about a model of the fleet": [
        (FAST, 60, {"model": "ocr"}),
        ("OcrQualityLow", 90, {"model": "ocr"}),
    ],
    "what only informs, beside a page": [
        (FAST, 60, {"model": "ocr"}),
        ("TritonModelReloaded", 70, {"model": "ocr", "replica": "triton-1", "severity": "info"}),
    ],
}
TWO = {
    "two members of a pipeline": [(FAST, 60, {"model": "nms"}), (FAST, 90, {"model": "preprocess"})],
    "two pipelines that share a member": [(FAST, 60, {"model": "inspect"}), (FAST, 90, {"model": "audit"})],
    "the member shows an hour after its pipeline": [
        (FAST, 60, {"model": "inspect"}),
        (FAST, 3700, {"model": "nms"}),
    ],
    "too many requests to one, damaged images to another": [
        (ABOVE, 60, {"model": "ocr"}),
        (INVALID, 90, {"model": "search", "severity": "warning"}),
    ],
    "a model fails, then a server is down": [
        (FAST, 60, {"model": "ocr"}),
        (DOWN, 365, {"replica": "triton-3"}),
    ],
    "two models on two replicas": [
        (DEAD, 60, {"model": "ocr", "replica": "triton-1"}),
        (DEAD, 70, {"model": "search", "replica": "triton-2"}),
    ],
    "two servers, ten minutes apart": [
        (DOWN, 60, {"replica": "triton-1"}),
        (DOWN, 700, {"replica": "triton-2"}),
    ],
    "one model in two clusters": [
        (FAST, 60, {"model": "ocr", "cluster": "east"}),
        (FAST, 60, {"model": "ocr", "cluster": "west"}),
    ],
    "Prometheus' rules and a robot": [
        ("TritonobsRulesFailing", 60, {"severity": "warning"}),
        ("TritonobsRobotMuted", 60, {"robot": "oncall", "severity": "warning"}),
    ],
    "a ticket that fires for a day, and a fault of its model": [
        ("TritonBatchInefficient", 60, {"model": "ocr", "severity": "warning"}),
        (FAST, 86_400, {"model": "ocr"}),
    ],
}


@pytest.mark.parametrize("told", ONE.values(), ids=ONE)
def test_one_fault_is_one_incident(life, fleet, told) -> None:
    """Alerts that one fault explains are of one incident."""
    lives = [life(name, at, **labels) for name, at, labels in told]

    assert _parted(lives, fleet, until=told[-1][1] + 60) == _whole(lives)


@pytest.mark.parametrize("told", TWO.values(), ids=TWO)
def test_two_faults_are_two_incidents(life, fleet, told) -> None:
    """Alerts that have nothing to do with each other are not."""
    lives = [life(name, at, **labels) for name, at, labels in told]

    assert _parted(lives, fleet, until=told[-1][1] + 60) == _each(lives)


def test_a_pipeline_that_two_members_fail_is_of_one_of_them(life, fleet) -> None:
    """The faults of its members stay two: the pipeline belongs to the one that began last."""
    lives = [
        life(FAST, 60, model="nms"),
        life(FAST, 90, model="preprocess"),
        life(FAST, 120, model="inspect"),
    ]

    assert _parted(lives, fleet) == {
        frozenset({f"{FAST} nms"}),
        frozenset({f"{FAST} preprocess", f"{FAST} inspect"}),
    }


@pytest.mark.parametrize(
    ("gap", "number"), [pytest.param(280, 1, id="within five minutes"), pytest.param(320, 2, id="later")]
)
def test_a_model_that_fails_again_is_a_new_incident_after_five_minutes(life, fleet, gap, number) -> None:
    """Until then it is the same, with one beginning and one end."""
    lives = [life(FAST, 60, 360, model="ocr"), life(FAST, 360 + gap, 900, model="ocr")]

    listener = heard(lives, fleet, until=1300)

    assert len(listener.state.closed) == number
    assert {one.alerts[0].times for one in listener.state.closed.values()} == {3 - number}


def test_an_incident_says_what_it_is(life, fleet) -> None:
    """Severity, place, when it began and ended, and each alert with its own times."""
    lives = [
        life(MEDIUM, 60, 500, model="nms", version="1", severity="warning"),
        life(DEAD, 90, 200, model="nms", version="2", replica="triton-1"),
    ]

    (incident,) = heard(lives, fleet, until=300).state.open.values()

    assert (incident.worst, incident.now, incident.began - EPOCH) == ("critical", "warning", 60)
    assert (incident.ended, incident.closed, incident.eased) == (None, False, EPOCH + 200)
    assert incident.place.models == ("nms",)
    assert incident.place.versions == (("nms", "1"), ("nms", "2"))
    assert incident.place.replicas == ("triton-1",)
    assert [(one.began - EPOCH, one.ended) for one in incident.alerts] == [(60, None), (90, EPOCH + 200)]

    (incident,) = heard(lives, fleet, until=900).state.closed.values()
    assert (incident.worst, incident.now, incident.ended, incident.closed) == (
        "critical",
        "",
        EPOCH + 500,
        True,
    )


def test_changes_that_matter_are_told_once(life, fleet) -> None:
    """It begins, becomes worse and wider, goes back, and ends; a step without news has no change."""
    lives = [
        life(MEDIUM, 60, 400, model="nms", severity="warning"),
        life(DEAD, 90, 200, model="nms", replica="triton-1"),
        life(DEAD, 120, 200, model="nms", replica="triton-2"),
    ]
    listener = Listener(fleet=fleet)
    found = []
    for at in range(60, 800, 10):
        news = [alert_of(one, at) for one in lives if at in {one.since, one.until}]
        found += [(at, change.what) for change in listener.hear(at, news).changes]

    assert found == [
        (60, What.BEGAN),
        (90, What.SEVERITY),
        (120, What.PLACE),
        (200, What.EASED),
        (700, What.ENDED),
    ]


@pytest.mark.parametrize(
    ("labels", "wider"),
    [
        pytest.param({"model": "inspect"}, False, id="a pipeline of the model"),
        pytest.param({"model": "nms", "version": "1"}, False, id="the first version"),
        pytest.param({"model": "nms", "replica": "triton-1"}, False, id="the first replica"),
        pytest.param({"model": "nms", "version": "2"}, False, id="a version where none was named"),
    ],
)
def test_what_was_to_be_expected_makes_a_place_no_wider(life, fleet, labels, wider) -> None:
    """A pipeline fails where its member does, and the first version only says where."""
    listener = Listener(fleet=fleet)
    listener.hear(60, [alert_of(life(FAST, 60, model="nms"), 60)])

    step = listener.hear(90, [alert_of(life(MEDIUM, 90, **labels), 90)])

    assert any(change.what is What.PLACE for change in step.changes) is wider


def test_an_id_is_made_of_the_first_alert_and_fits_into_a_url(life, fleet) -> None:
    """Two processes have the same, also when one hears of a second alert first."""
    first, second = life(FAST, 60, model="nms"), life(FAST, 90, model="inspect")
    listener, other = Listener(fleet=fleet), Listener(fleet=fleet)

    (incident,) = listener.hear(100, [alert_of(first, 100), alert_of(second, 100)]).incidents
    (same,) = other.hear(100, [alert_of(second, 100), alert_of(first, 100)]).incidents

    assert incident.id == same.id == ident(alert_of(first, 100).fingerprint, EPOCH + 60)
    assert ID.fullmatch(incident.id)
    assert incident.id.startswith("20270115-0801-")


def test_an_id_stays_when_an_older_alert_is_heard_of_later(life, fleet) -> None:
    """People have it already."""
    listener = Listener(fleet=fleet)
    (incident,) = listener.hear(95, [alert_of(life(FAST, 90, model="inspect"), 95)]).incidents

    (later,) = listener.hear(100, [alert_of(life(FAST, 60, model="nms"), 100)]).incidents

    assert later.id == incident.id
    assert (later.began - EPOCH, len(later.alerts)) == (60, 2)


def test_two_incidents_that_an_older_alert_joins_keep_the_first_id(life, fleet) -> None:
    """Both ids find what they have become."""
    listener = Listener(fleet=fleet)
    listener.hear(70, [alert_of(life(FAST, 65, model="nms"), 70)])
    step = listener.hear(90, [alert_of(life(FAST, 80, model="preprocess"), 90)])
    first, second = sorted(step.incidents, key=lambda one: one.opened)

    step = listener.hear(100, [alert_of(life(MEDIUM, 60, model="inspect"), 100)])

    (joined,) = step.incidents
    assert (joined.id, joined.joined) == (first.id, (second.id,))
    assert find(step.incidents, second.id) is joined is find(step.incidents, first.id)
    assert find(step.incidents, "20270115-0801-0000000000") is None
    assert (first.id, What.JOINED) in [(change.incident, change.what) for change in step.changes]


@pytest.mark.parametrize(
    ("since", "until", "over"),
    [
        pytest.param(60, 200, False, id="of an earlier episode"),
        pytest.param(290, 400, True, id="with the start that another Prometheus gave"),
    ],
)
def test_an_end_that_comes_late_is_of_its_own_episode(life, fleet, since, until, over) -> None:
    """The alert fires since 300; what ended before is no end of that."""
    listener = Listener(fleet=fleet)
    listener.hear(310, [alert_of(life(FAST, 300, model="ocr"), 310)])

    (incident,) = listener.hear(410, [alert_of(life(FAST, since, until, model="ocr"), 410)]).incidents

    (alert,) = incident.alerts
    assert (alert.firing, alert.times) == (not over, 1)
    assert incident.ended == (EPOCH + until if over else None)


def test_an_alert_of_which_nothing_is_heard_for_days_is_over(life, fleet) -> None:
    """Alertmanager repeats every three days; after four nothing can come."""
    listener = Listener(fleet=fleet)
    listener.hear(60, [alert_of(life(FAST, 60, model="ocr"), 60)])
    assert listener.hear(3.9 * 86_400).incidents[0].ended is None

    (incident,) = listener.hear(4.1 * 86_400).incidents

    assert incident.closed
