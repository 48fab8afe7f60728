"""One burst of errors is one page with one end: what begins, about whom, and what comes after it."""

import pytest

from support.fleet_sim.curves import between, every, steps
from support.fleet_sim.fleet import Fleet
from support.fleet_sim.world import live, product_rules

FAST, MEDIUM, SLOW, LONG = (f"TritonErrorBudgetBurn{tier}" for tier in ("Fast", "Medium", "Slow", "Long"))
TIERS = (FAST, MEDIUM, SLOW, LONG)
EXHAUSTED = "TritonErrorBudgetExhausted"
MINUTE, HOUR, DAY = 60, 3600, 86_400
OLD = 74 * HOUR
"""So old an SLO has a budget to spend: more than a tenth of its 30 days."""


def told(engine, fleet, *asked, phases=0):
    """Every start of the burn alerts, in the order of time."""
    lived = live(engine, fleet, *(asked or TIERS), phases=phases)
    assert lived.failures == {}
    return sorted((one for fired in lived.all_fired().values() for one in fired), key=lambda one: one.since)


def shown(found):
    """What began, about which model and version, and when."""
    return [
        (one.labels["alertname"], one.labels["model"], one.labels.get("version", ""), one.since, one.until)
        for one in found
    ]


def one_model(*, seconds, qps=10, versions=("1",), seed=1, **shares):
    """A model whose versions share the traffic; it and each of them are promised 99.9 %."""
    fleet = Fleet(seconds=seconds, seed=seed)
    server = fleet.server()
    for version in versions:
        fleet.serve(server, version=version, qps=qps / len(versions), bounds=None, **shares)
        fleet.promises("nms", version=version)
    return fleet.owns("nms", *versions).promises("nms")


@pytest.mark.parametrize(
    ("before", "minutes", "share"),
    [
        (2 * HOUR, 15, 0.5),
        (2 * HOUR, 5, 1.0),
        (12 * HOUR, 15, 0.5),
        (26 * HOUR, 40, 0.2),
        (1 * HOUR, 90, 0.05),
    ],
)
def test_a_burst_of_errors_is_one_page(engine, before, minutes, share):
    """Its bad requests are reported once: no slower tier begins before it, beside it, or after its end."""
    end = before + minutes * MINUTE
    fleet = one_model(seconds=end + 8 * HOUR, raised=between(before, end, share))

    found = told(engine, fleet)

    assert [one.labels["alertname"] for one in found] == [FAST], shown(found)
    assert found[0].until is not None


def test_what_goes_on_below_the_page_is_told_by_a_slower_tier(engine):
    """A burst, then a share of 0.8 % for hours: those bad requests were in no page."""
    burst, end = 26 * HOUR, 26 * HOUR + 20 * MINUTE
    fleet = one_model(seconds=36 * HOUR, raised=steps((burst, 0.5), (end, 0.008)))

    found = told(engine, fleet)

    assert [one.labels["alertname"] for one in found][:2] == [FAST, MEDIUM], shown(found)
    assert found[1].since > end + HOUR


@pytest.mark.parametrize("phases", [0, 1, 2])
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_versions_that_fail_alike_are_one_page_about_the_model(engine, share, phases):
    """The subject of the beginning is that of the end: no version is named when the windows run out."""
    begin, end = 2 * HOUR, 2 * HOUR + 15 * MINUTE
    fleet = one_model(
        seconds=end + 7 * HOUR, versions=("1", "2"), raised=between(begin, end, share), seed=phases
    )

    found = told(engine, fleet, phases=phases)

    assert [(one.labels["alertname"], one.labels.get("version", "")) for one in found] == [(FAST, "")], shown(
        found
    )


def test_the_one_version_that_fails_is_named(engine):
    """Two versions share the traffic, the second fails: the page is about it, to its end."""
    begin, end = 2 * HOUR, 2 * HOUR + 15 * MINUTE
    fleet = Fleet(seconds=end + 7 * HOUR, seed=1)
    server = fleet.server()
    fleet.serve(server, version="1", qps=5, bounds=None)
    fleet.serve(server, version="2", qps=5, bounds=None, raised=between(begin, end, 0.5))
    fleet.owns("nms", "1", "2").promises("nms").promises("nms", version="1").promises("nms", version="2")

    found = told(engine, fleet)

    assert [(one.labels["alertname"], one.labels.get("version", "")) for one in found] == [(FAST, "2")], (
        shown(found)
    )


def test_a_second_version_that_fails_later_is_told(engine):
    """The first has failed for a while. That the second fails, too, is news: the page is about the model."""
    fleet = Fleet(seconds=5 * HOUR, seed=1)
    server = fleet.server()
    fleet.serve(server, version="1", qps=5, bounds=None, raised=between(2 * HOUR, 3 * HOUR, 0.5))
    fleet.serve(server, version="2", qps=5, bounds=None, raised=between(2.5 * HOUR, 3 * HOUR, 1))
    fleet.owns("nms", "1", "2").promises("nms").promises("nms", version="1").promises("nms", version="2")

    found = told(engine, fleet, FAST)

    assert [one.labels.get("version", "") for one in found] == ["1", ""], shown(found)


def pipeline(*, seconds, own=0, member=0, members_qps=10, seed=1):
    """A pipeline that calls a member for every request; all are promised 99.9 %."""
    fleet = Fleet(seconds=seconds, seed=seed)
    server = fleet.server()
    own_curve, member_curve = own, member
    fleet.serve(server, "nms", qps=members_qps, bounds=None, raised=member_curve, steady=True)
    fleet.serve(server, "inspect", qps=10, bounds=None, raised=own_curve, steady=True)
    fleet.exports("tritonobs_pipeline_calls", 1, pipeline="inspect", stage="nms", model="nms")
    for model in ("nms", "inspect"):
        fleet.owns(model, "1", pipeline="inspect").promises(model).promises(model, version="1")
    return fleet


@pytest.mark.parametrize("share", [1.0, 0.5, 0.05])
def test_a_member_that_fails_is_one_page(engine, share):
    """The pipeline fails with it: the page is about the member, and none comes for hours after its end."""
    begin, end = 2 * HOUR, 2 * HOUR + 40 * MINUTE
    bad = between(begin, end, share)
    fleet = pipeline(seconds=end + 7 * HOUR, own=bad, member=bad)

    found = told(engine, fleet)

    assert [(one.labels["alertname"], one.labels["model"]) for one in found] == [(FAST, "nms")], shown(found)


def test_a_pipeline_that_fails_itself_is_told(engine):
    """Its member fails a little, it fails far more: two causes, two pages."""
    begin, end = 2 * HOUR, 2 * HOUR + 40 * MINUTE
    fleet = pipeline(seconds=end + HOUR, own=between(begin, end, 0.5), member=between(begin, end, 0.05))

    found = told(engine, fleet, FAST)

    assert {one.labels["model"] for one in found} == {"nms", "inspect"}, shown(found)


def test_a_pipeline_whose_member_is_well_is_told_in_time(engine):
    """Nothing of it is the member's."""
    begin = 2 * HOUR
    fleet = pipeline(seconds=begin + 20 * MINUTE, own=between(begin, 9e9, 1))

    found = told(engine, fleet, FAST)

    assert [one.labels["model"] for one in found] == ["inspect"], shown(found)
    assert found[0].since - begin <= 120


def test_a_member_that_nobody_else_would_miss_does_not_hide_its_pipeline(engine):
    """The member serves many others and does not burn: the pipeline's page comes."""
    begin = 2 * HOUR
    fleet = pipeline(
        seconds=begin + 20 * MINUTE,
        own=between(begin, 9e9, 0.2),
        member=between(begin, 9e9, 0.002),
        members_qps=1000,
    )

    found = told(engine, fleet, FAST)

    assert [one.labels["model"] for one in found] == ["inspect"], shown(found)


def test_what_a_member_did_to_others_does_not_hide_its_pipeline(engine):
    """Its member failed twenty times as many other requests; then the pipeline fails by itself."""
    before, begin = 2 * HOUR, 2 * HOUR + 15 * MINUTE
    fleet = pipeline(
        seconds=begin + HOUR,
        own=between(begin, 9e9, 1),
        member=between(before, before + 5 * MINUTE, 0.5),
        members_qps=200,
    )

    found = told(engine, fleet, FAST, MEDIUM)

    assert [one.labels["model"] for one in found] == ["nms", "inspect"], shown(found)
    assert found[1].since - begin <= 300
    assert found[1].until is None


@pytest.mark.parametrize(
    ("qps", "share", "days"), [(10, 0.001, 4), (10, 0.003, 2), (1, 0.001, 4), (10, 0.006, 1), (40, 0.0144, 1)]
)
def test_errors_of_exactly_a_threshold_do_not_flap(engine, qps, share, days):
    """Chance carries the share over and under it, for many windows: a few starts of a tier, not hundreds."""
    fleet = one_model(seconds=days * DAY, qps=qps, raised=share)

    lived = live(engine, fleet, *TIERS)

    most = max(2, 5 * days / 4)
    assert {name: len(fired) for name, fired in lived.all_fired().items() if len(fired) > most} == {}


def test_chance_ends_no_alert_for_minutes(engine):
    """One request a second and few errors: the short window holds a handful of them, one more or less."""
    begun = {}
    for keeps in (False, True):
        fleet = one_model(seconds=24 * HOUR, qps=1, raised=0.003, seed=15)
        lived = live(engine, fleet, SLOW, groups=product_rules(fleet.scrape_seconds, keepFiring=keeps))
        begun[keeps] = len(lived.fired(SLOW))

    assert begun == {False: 4, True: 1}


@pytest.mark.parametrize("versions", [("1",), ("1", "2")])
def test_a_spent_budget_is_told_once(engine, versions):
    """Of a model and its versions, for the tighter subject."""
    bad = between(OLD, OLD + 15 * MINUTE, 0.5)
    fleet = one_model(seconds=OLD + 2 * HOUR, versions=versions, raised=bad)

    found = told(engine, fleet, EXHAUSTED)

    assert len(found) == 1, shown(found)
    assert OLD < found[0].since < OLD + 30 * MINUTE


def test_a_budget_is_not_spent_because_its_slo_comes_of_age(engine):
    """Errors of the second day spent it, and ended a day before that."""
    bad = between(26 * HOUR, 50 * HOUR, 0.01, otherwise=0.0002)
    fleet = one_model(seconds=OLD + 4 * HOUR, raised=bad)

    assert told(engine, fleet, EXHAUSTED) == []


def test_a_young_budget_is_not_spent(engine):
    """Of four hours a quarter of an hour spends it, of thirty days it does not."""
    fleet = one_model(seconds=8 * HOUR, raised=between(4 * HOUR, 4.25 * HOUR, 0.5))

    assert told(engine, fleet, EXHAUSTED) == []


def test_errors_now_and_then_are_few_messages(engine):
    """Ten bad minutes every three hours, for a day."""
    fleet = one_model(seconds=30 * HOUR, raised=every(3 * HOUR, 600, 0.3, first=6 * HOUR))

    found = told(engine, fleet)

    assert [one.labels["alertname"] for one in found if one.labels["alertname"] != FAST] == [], shown(found)
    assert len(found) <= 8


@pytest.mark.parametrize(("minutes", "share"), [(15, 0.5), (10, 1.0), (60, 0.1)])
def test_failed_requests_are_told_once_though_they_are_late_too(engine, minutes, share):
    """A failure is bad for the latency SLO as well: the alert about availability has reported it."""
    begin, end = OLD, OLD + minutes * MINUTE
    fleet = Fleet(seconds=end + 8 * HOUR, seed=1)
    fleet.serve(fleet.server(), qps=10, raised=between(begin, end, share))
    fleet.owns("nms", "1").promises("nms").promises_time("nms", "0.1")

    found = told(engine, fleet, *TIERS, EXHAUSTED)

    names = [(one.labels["alertname"], one.labels["slo"]) for one in found]
    assert names == [(FAST, "availability"), (EXHAUSTED, "availability")], shown(found)


def test_slow_requests_beside_failed_ones_are_told(engine):
    """One request in twenty fails, a third is too slow: two SLOs, two pages."""
    begin = 4 * HOUR
    fleet = Fleet(seconds=begin + HOUR, seed=1)
    fleet.serve(fleet.server(), qps=10, raised=between(begin, 9e9, 0.05), slow=between(begin, 9e9, 0.33))
    fleet.owns("nms", "1").promises("nms").promises_time("nms", "0.1")

    found = told(engine, fleet, FAST)

    assert {one.labels["slo"] for one in found} == {"availability", "latency"}, shown(found)


def test_a_members_spent_budget_is_told_of_the_member(engine):
    """Its pipeline has spent its own budget on the same requests."""
    begin, end = OLD, OLD + 20 * MINUTE
    bad = between(begin, end, 0.5)
    fleet = pipeline(seconds=end + HOUR, own=bad, member=bad)

    found = told(engine, fleet, EXHAUSTED)

    assert [one.labels["model"] for one in found] == ["nms"], shown(found)
