"""What triage finds parts and joins incidents, and does neither twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.incidents.conversations import EPOCH, Listener, alert_of, heard
from tritonobs import assets
from tritonobs.extensions.incidents.groups import CONTRARY, NEAR_SECONDS, explanations, places_of
from tritonobs.extensions.incidents.incident import What, Where
from tritonobs.extensions.incidents.news import Kind
from tritonobs.spec.rules import ALERTS

FAST, ABOVE = "TritonErrorBudgetBurnFast", "TritonQpsAboveLimit"
INVALID, DOWN = "TritonInvalidInputSurge", "TritonServerDown"


def _models(listener: Listener) -> set[tuple[str, ...]]:
    return {one.place.models or one.place.replicas for one in listener.state.open.values()}


@pytest.fixture
def two(life):
    """Too many requests to a pipeline, damaged images to a member: the graph joins them."""
    return [life(ABOVE, 60, model="inspect"), life(INVALID, 90, model="preprocess", severity="warning")]


@pytest.fixture
def both(cause, verdict):
    """Both causes, each where it is."""
    return verdict(
        cause("qps_limit", "inspect", "", since=30),
        cause("error_surge", "preprocess", "1", since=70),
    )


def test_two_causes_at_two_places_part_an_incident(two, both, fleet) -> None:
    """Each becomes an incident with its own cause, and the one that was known keeps its id."""
    listener = heard(two, fleet, until=100)
    (before,) = listener.state.open.values()

    step = listener.hear(105, verdict=both)

    assert _models(listener) == {("inspect",), ("preprocess",)}
    assert {one.cause.check for one in step.incidents} == {"qps_limit", "error_surge"}
    assert before.id in listener.state.open
    assert [change.what for change in step.changes] == [What.CAUSE, What.BEGAN]


def test_one_cause_parts_nothing(two, fleet, cause, verdict) -> None:
    """The twin: the second is what follows from the first."""
    listener = heard(two, fleet, until=100)

    step = listener.hear(
        105,
        verdict=verdict(
            cause("qps_limit", "inspect", "", since=30),
            following=(cause("error_surge", "preprocess", "1", since=70),),
        ),
    )

    (incident,) = step.incidents
    assert [one.check for one in incident.causes] == ["qps_limit"]


def test_a_guess_parts_nothing(two, fleet, cause, verdict) -> None:
    """Triage often adds what it is not sure of."""
    listener = heard(two, fleet, until=100)

    step = listener.hear(
        105,
        verdict=verdict(
            cause("qps_limit", "inspect", "", since=30),
            cause("traffic_surge", "preprocess", "1", since=70, confidence=0.6),
        ),
    )

    assert len(step.incidents) == 1


@pytest.fixture
def apart(life):
    """Too many requests to one model, damaged images to another: nothing joins them."""
    return [life(ABOVE, 60, model="ocr"), life(INVALID, 90, model="search", severity="warning")]


def test_a_cause_that_explains_two_places_joins_them(apart, fleet, cause, verdict) -> None:
    """The incident that was known first remains."""
    listener = heard(apart, fleet, until=100)
    first, second = sorted(listener.state.open.values(), key=lambda one: one.opened)

    step = listener.hear(
        105,
        verdict=verdict(
            cause("qps_limit", "ocr", "", since=30),
            following=(cause("error_surge", "search", "1", since=70),),
        ),
    )

    (incident,) = step.incidents
    assert (incident.id, incident.joined) == (first.id, (second.id,))
    assert incident.since == EPOCH + 30


def test_two_causes_leave_two_incidents_two(apart, fleet, cause, verdict) -> None:
    """The twin: each has its own."""
    listener = heard(apart, fleet, until=100)

    step = listener.hear(
        105,
        verdict=verdict(
            cause("qps_limit", "ocr", "", since=30), cause("error_surge", "search", "1", since=70)
        ),
    )

    assert {(one.place.models, one.cause.check) for one in step.incidents} == {
        (("ocr",), "qps_limit"),
        (("search",), "error_surge"),
    }


def test_a_server_that_is_gone_explains_the_models_on_it(life, fleet, cause, verdict) -> None:
    """A page of the server and a page of a model are two until triage says that one follows."""
    lives = [life(DOWN, 60, replica="triton-1"), life(FAST, 90, model="ocr")]
    listener = heard(lives, fleet, until=100)
    assert len(listener.state.open) == 2

    listener.hear(
        105,
        verdict=verdict(
            cause("replica_down", "", "", "triton-1", since=20),
            following=(cause("error_surge", "ocr", "1", since=25),),
        ),
    )

    assert _models(listener) == {("ocr",)}
    assert len(listener.state.open) == 1


def test_an_alert_that_began_before_the_cause_has_another(life, fleet, cause, verdict) -> None:
    """A ticket of an hour ago is not explained by the deployment of a minute ago."""
    lives = [life("TritonBatchInefficient", 60, model="nms"), life(FAST, 3600, model="inspect")]
    listener = heard(lives, fleet, until=3600)

    step = listener.hear(3610, verdict=verdict(cause("bad_deploy", "nms", "2", since=3550)))

    assert {(one.place.models, one.cause and one.cause.check) for one in step.incidents} == {
        (("nms",), None),
        (("inspect",), "bad_deploy"),
    }


@pytest.mark.parametrize(
    ("alert", "first", "then"),
    [(ABOVE, "qps_limit", "upstream_drop"), ("TritonTrafficDrop", "upstream_drop", "traffic_surge")],
)
def test_the_end_of_the_requests_is_not_the_cause_of_too_many(
    life, fleet, cause, verdict, *, alert, first, then
) -> None:
    """An alert lasts a while after what it is about: a look in that while changes nothing."""
    listener = heard([life(alert, 60, model="inspect")], fleet, until=100)
    listener.hear(105, verdict=verdict(cause(first, "inspect", "", since=50)))

    step = listener.hear(120, verdict=verdict(cause(then, "inspect", "1", since=65)))

    (incident,) = step.incidents
    assert [one.check for one in incident.causes] == [first]


def test_another_cause_of_the_same_alert_replaces_the_first(life, fleet, cause, verdict) -> None:
    """The twin."""
    listener = heard([life("TritonTrafficDrop", 60, model="inspect")], fleet, until=100)
    listener.hear(105, verdict=verdict(cause("model_gone", "inspect", "", since=50)))

    step = listener.hear(120, verdict=verdict(cause("upstream_drop", "inspect", "1", since=55)))

    (incident,) = step.incidents
    assert [one.check for one in incident.causes] == ["upstream_drop"]


def test_what_cannot_explain_what_are_names_that_exist() -> None:
    """Of checks, by their pages, and of alerts, by their runbooks."""
    checks = {page.stem for page in assets.folder("checks").glob("*.md")}

    assert CONTRARY.keys() <= checks
    assert frozenset().union(*CONTRARY.values()) <= set(ALERTS)


def test_what_was_joined_is_not_parted_and_what_was_parted_is_not_joined(
    two, both, fleet, cause, verdict
) -> None:
    """A verdict comes every quarter of a minute and may change its mind; messages do not follow it."""
    one = verdict(
        cause("qps_limit", "inspect", "", since=30),
        following=(cause("error_surge", "preprocess", "1", since=70),),
    )
    joined, parted = heard(two, fleet, until=100), heard(two, fleet, until=100)
    for at in range(105, 300, 30):
        joined.hear(at, verdict=one)
        joined.hear(at + 15, verdict=both)
        parted.hear(at, verdict=both)
        parted.hear(at + 15, verdict=one)

    assert _models(joined) == {("inspect", "preprocess")}
    assert _models(parted) == {("inspect",), ("preprocess",)}


def test_a_new_alert_goes_to_the_incident_of_its_cause(two, both, life, fleet) -> None:
    """The graph ties it to both."""
    listener = heard(two, fleet, until=100)
    listener.hear(105, verdict=both)

    listener.hear(120, [alert_of(life(FAST, 120, model="preprocess"), 120)])
    listener.hear(125, verdict=both)

    assert {tuple(one.where.model for one in each.alerts) for each in listener.state.open.values()} == {
        ("inspect",),
        ("preprocess", "preprocess"),
    }


@pytest.fixture
def late(life, fleet, cause, verdict):
    """Two pipelines share nms, which cannot be loaded: the second one fails some seconds after the look.

    Given are its moment and what the look said.
    """

    def after(seconds, *causes):
        listener = heard([life(FAST, 60, model="inspect")], fleet, until=65)
        listener.hear(65, verdict=verdict(*(causes or [cause("model_gone", "nms", "1", since=30)])))
        listener.hear(65 + seconds, [alert_of(life(FAST, 65 + seconds, model="audit"), 65 + seconds)])
        return listener

    return after


def test_a_known_cause_explains_what_begins_after_the_look(late) -> None:
    """No other message begins with 'an incident'. Before, it was one of its own until the next look."""
    (incident,) = late(30).state.open.values()
    assert {one.where.model for one in incident.alerts} == {"inspect", "audit"}


def test_a_cause_that_was_found_long_ago_explains_nothing_new(late) -> None:
    """The twin: a quarter of an hour later nothing says that it is the same fault."""
    assert _models(late(NEAR_SECONDS + 1)) == {("inspect",), ("audit",)}


def test_a_cause_of_the_whole_fleet_explains_nothing_new(late, cause) -> None:
    """The twin: what all traffic explains is for a look to say."""
    assert _models(late(30, cause("traffic_surge", "", "", since=30))) == {("inspect",), ("audit",)}


def test_a_look_may_know_better_than_what_was_assumed(late, cause, verdict) -> None:
    """The next one finds a cause of the pipeline's own."""
    listener = late(30)

    listener.hear(
        110,
        verdict=verdict(
            cause("model_gone", "nms", "1", since=30), cause("error_surge", "audit", "1", since=90)
        ),
    )

    assert _models(listener) == {("inspect",), ("audit",)}


def test_a_look_that_says_nothing_new_parts_nothing(late, cause, verdict) -> None:
    """Twin: it need not say again what was assumed."""
    listener = late(30)
    listener.hear(110, verdict=verdict(cause("error_surge", "ocr", "1", since=90)))
    assert len(listener.state.open) == 1


@pytest.mark.parametrize("healthy", [True, False])
def test_a_verdict_without_causes_changes_nothing(two, both, fleet, verdict, healthy) -> None:
    """What was known stays: a later look may be blind."""
    listener = heard(two, fleet, until=100)
    before = listener.hear(105, verdict=both).incidents

    step = listener.hear(110, verdict=verdict() if healthy else None)

    assert step.incidents == before
    assert step.changes == ()


def test_what_is_parted_when_it_is_over_is_named_in_an_end(two, both, life, fleet) -> None:
    """It had waited for the next message of the incident that it was of."""
    page, _ = two
    ticket = life(INVALID, 90, 200, model="preprocess", severity="warning")

    listener = heard([page, ticket], fleet, until=900, verdicts={300: both})

    assert [(one.message.kind, one.names) for one in listener.said] == [
        (Kind.FIRST, {ABOVE}),
        (Kind.END, {INVALID}),
    ]


def test_a_verdict_about_half_of_a_storm_parts_nothing(life, fleet, cause, verdict) -> None:
    """Triage looks closely at a few models; what it does not explain stays with what it does."""
    lives = [life(FAST, 60, model=f"m{number}") for number in range(7)]
    listener = heard(lives, fleet, until=60)

    step = listener.hear(
        65,
        verdict=verdict(
            cause("replica_down", "", "", "triton-1"),
            following=tuple(cause("error_surge", f"m{number}") for number in (3, 4, 5)),
        ),
    )

    (incident,) = step.incidents
    assert (len(incident.alerts), incident.cause.check) == (7, "replica_down")


def test_two_causes_part_a_storm(life, fleet, cause, verdict) -> None:
    """The twin: what neither explains stays with what began just before it."""
    lives = [life(FAST, 60 + number, model=f"m{number}") for number in range(7)]
    listener = heard(lives, fleet, until=70)

    step = listener.hear(75, verdict=verdict(cause("bad_deploy", "m1", "2"), cause("bad_deploy", "m5", "2")))

    assert {(one.cause.model, len(one.alerts)) for one in step.incidents} == {("m1", 5), ("m5", 2)}


@pytest.mark.parametrize(
    ("alert", "place", "explains"),
    [
        pytest.param(
            {"name": FAST, "model": "ocr"}, ("qps_limit", "", ""), True, id="and what it does to models"
        ),
        pytest.param(
            {"name": FAST, "model": "ocr"}, ("replica_down", "", "", "triton-1"), False, id="a replica"
        ),
        pytest.param(
            {"name": FAST, "model": "ocr"}, ("error_surge", "search", "1"), False, id="another model"
        ),
        pytest.param(
            {"name": FAST, "model": "inspect"}, ("error_surge", "nms", "1"), True, id="a pipeline of it"
        ),
        pytest.param(
            {"name": DOWN, "replica": "triton-1"}, ("error_surge", "nms"), False, id="not of a server"
        ),
    ],
)
def test_a_cause_explains_what_is_at_its_place(
    life, fleet, cause, verdict, *, alert, place, explains
) -> None:
    """And nothing else."""
    listener = Listener(fleet=fleet)

    step = listener.hear(60, [alert_of(life(since=60, **alert), 60)], verdict(cause(*place)))

    assert bool(step.incidents[0].cause) is explains


def test_the_limit_of_the_fleet_is_explained_by_its_traffic(life, fleet, cause, verdict) -> None:
    """And by nothing that is about another part of the fleet."""
    for area, explains in (("traffic", True), ("serve", False), ("accelerators", False)):
        said = verdict(cause("qps_limit", "", "", area=area))
        step = Listener(fleet=fleet).hear(60, [alert_of(life(ABOVE, 60), 60)], said)

        assert bool(step.incidents[0].cause) is explains, area


@pytest.mark.parametrize(
    ("alert", "area", "what"),
    [
        ("TritonobsRobotMuted", "delivery", "oncall"),
        ("TritonobsDeliveryFailing", "delivery", "oncall"),
        ("TritonobsFleetFileInvalid", "serve", "fleet file on a:1"),
        ("TritonobsServeDown", "serve", "tritonobs"),
        ("TritonobsRulesFailing", "prometheus", "tritonobs.alerts.slo"),
    ],
)
def test_what_is_broken_on_the_way_explains_its_own_alert(
    life, fleet, cause, verdict, *, alert, area, what
) -> None:
    """The twins: neither the alert of a model, nor another one about the way."""
    other = "TritonobsRobotMuted" if alert != "TritonobsRobotMuted" else "TritonobsRulesFailing"
    if alert == "TritonobsDeliveryFailing":
        other = "TritonobsServeDown"
    said = cause("delivery", "", "", what, area=area)
    for name, labels, explains in ((alert, {}, True), (FAST, {"model": "ocr"}, False), (other, {}, False)):
        step = Listener(fleet=fleet).hear(60, [alert_of(life(name, 60, **labels), 60)], verdict(said))

        assert bool(step.incidents[0].cause) is explains, name


@pytest.mark.parametrize(
    ("place", "check", "found"),
    [
        pytest.param(("nms", "2", "decode"), "slow_stage", {Where(model="nms", version="2")}, id="a stage"),
        pytest.param(
            ("nms", "2", "triton-1"),
            "slow_replica",
            {Where(model="nms", version="2", replica="triton-1")},
            id="a model on a replica",
        ),
        pytest.param(("", "", "triton-1"), "replica_down", {Where(replica="triton-1")}, id="a replica"),
        pytest.param(
            ("", "", "triton-1, triton-2"),
            "slow_machine",
            {Where(replica="triton-1"), Where(replica="triton-2")},
            id="two replicas",
        ),
        pytest.param((), "anything", {Where()}, id="nothing"),
    ],
)
def test_the_place_of_a_cause_is_read_as_triage_writes_it(cause, place, check, found) -> None:
    """Model, version, and a replica where the check is about one."""
    assert set(places_of(cause(check, *place))) == found


@pytest.fixture
def one_cause(cause, verdict):
    """Makes verdicts of one cause."""
    return lambda *of, **more: verdict(cause(*of, **more))


@pytest.mark.parametrize(
    ("cluster", "explains"),
    [
        pytest.param("east", True, id="own"),
        pytest.param("", True, id="not said"),
        pytest.param("west", False, id="another"),
    ],
)
def test_a_cause_explains_no_alert_of_another_cluster(life, fleet, one_cause, cluster, explains) -> None:
    """Triage reads one cluster; a model or replica of the same name elsewhere has causes of its own."""
    east = replace(fleet, cluster="east")
    more = {"cluster": cluster} if cluster else {}
    for number, (name, labels, said) in enumerate(
        (
            (FAST, {"model": "nms"}, one_cause("qps_limit", "nms", "")),
            (FAST, {"model": "inspect"}, one_cause("qps_limit", "nms", "")),
            (DOWN, {"replica": "triton-1"}, one_cause("replica_down", "", "", "triton-1")),
            ("TritonobsServeDown", {}, one_cause("serve_down", area="serve")),
        )
    ):
        alerts = [alert_of(life(name, 60, **labels, **more), 60)]
        step = Listener(fleet=east).hear(60, alerts, said)

        assert bool(step.incidents[0].cause) is explains, number


def test_an_alert_of_another_cluster_is_an_incident_of_its_own(life, fleet, cause, verdict) -> None:
    """Also where the cause of its model's namesake is known."""
    east = replace(fleet, cluster="east")
    lives = [life(FAST, 60, model="nms", cluster=cluster) for cluster in ("east", "west")]

    step = heard(lives, east, until=100).hear(105, verdict=verdict(cause("qps_limit", "nms", "", since=30)))

    causes = {one.alerts[0].where.cluster: len(one.causes) for one in step.incidents}
    assert (len(step.incidents), causes) == (2, {"east": 1, "west": 0})


def test_what_follows_is_given_to_the_cause_that_it_has_to_do_with(fleet, cause, verdict) -> None:
    """A model's own cause first, else that of a server."""
    found = explanations(
        verdict(
            cause("error_surge", "ocr", "1"),
            cause("replica_down", "", "", "triton-1"),
            following=(cause("budget_burn", "ocr", "1", "a"), cause("slow_stage", "search", "1")),
        ),
        fleet,
    )

    assert [[place.model for place in one.places] for one in found] == [["ocr", "ocr"], ["", "search"]]
