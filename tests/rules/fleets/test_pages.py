"""When budgets burn people are told in time, once, and never for what is over."""

import pytest

from support.fleet_sim.curves import between, every
from support.fleet_sim.fleet import Fleet
from support.fleet_sim.world import live

FAST, MEDIUM = "TritonErrorBudgetBurnFast", "TritonErrorBudgetBurnMedium"
PAGES = (FAST, MEDIUM)
HOUR, MINUTE = 3600, 60
EVALUATION = 30


def pages(engine, fleet):
    """Every page that was sent, in the order of time."""
    lived = live(engine, fleet, *PAGES)
    assert lived.failures == {}
    return sorted((one for name in PAGES for one in lived.fired(name)), key=lambda one: one.since)


def model(*, seconds, raised, qps=10, seed=1, **options):
    """A model with one version on one server, promised 99.9 %."""
    fleet = Fleet(seconds=seconds, seed=seed)
    fleet.serve(fleet.server(), qps=qps, raised=raised, bounds=None, **options)
    return fleet.owns("nms", "1").promises("nms")


@pytest.mark.parametrize(
    ("share", "within_seconds"), [(1.0, 120), (0.5, 104 + 2 * EVALUATION), (0.1, 518 + 2 * EVALUATION)]
)
def test_an_outage_is_told_in_time(engine, share, within_seconds):
    """By the fast tier within two evaluations of the theory, and not long after it is over."""
    lasting = within_seconds + 4 * MINUTE
    fleet = model(seconds=HOUR + lasting + 10 * MINUTE, raised=between(HOUR, HOUR + lasting, share))

    told = pages(engine, fleet)

    assert [one.labels["alertname"] for one in told] == [FAST]
    assert told[0].since - HOUR <= within_seconds
    assert told[0].until - HOUR - lasting <= 5 * MINUTE + 3 * EVALUATION


def test_errors_now_and_then_are_one_message(engine):
    """Errors one minute in ten for six hours: not a page each time."""
    fleet = model(seconds=7 * HOUR, raised=every(600, 60, 1.0, first=HOUR))

    assert 1 <= len(pages(engine, fleet)) <= 2


def test_a_burn_does_not_begin_after_the_last_request(engine):
    """Good requests leave the windows and bad ones stay; nobody is woken for that."""
    end = 2 * HOUR
    fleet = model(
        seconds=3 * HOUR, qps=between(HOUR, end, 10), raised=between(end - 44, end, 1.0), steady=True
    )

    assert pages(engine, fleet) == []


def test_one_error_of_a_quiet_model_is_no_page(engine):
    """A request every 100 s, one of which fails."""
    fleet = model(seconds=3 * HOUR, qps=0.01, raised=between(HOUR, HOUR + 100, 1.0), steady=True)

    assert pages(engine, fleet) == []


def test_a_quiet_model_that_always_fails_is_told_once(engine):
    """A request every 100 s, all of which fail: between two of them the page stays."""
    fleet = model(seconds=3 * HOUR, qps=0.01, raised=between(HOUR, 9e9, 1.0), steady=True)

    told = pages(engine, fleet)

    assert len(told) == 1
    assert told[0].until is None


def two_versions(first, second, *, versions=("1", "2")):
    """Two versions that share the traffic; both and the model are promised 99.9 %."""
    fleet = Fleet(seconds=HOUR + 20 * MINUTE, seed=3)
    server = fleet.server()
    fleet.serve(server, version="1", qps=8, raised=between(HOUR, 9e9, first), bounds=None)
    fleet.serve(server, version="2", qps=2, raised=between(HOUR, 9e9, second), bounds=None)
    fleet.owns("nms", "1", "2").promises("nms")
    for version in versions:
        fleet.promises("nms", version=version)
    return fleet


def test_one_bad_version_is_one_page(engine):
    """The version burns faster than its model: it is named, its model is not."""
    told = pages(engine, two_versions(0, 1.0))

    assert [(one.labels["alertname"], one.labels["version"]) for one in told] == [(FAST, "2")]


def test_two_bad_versions_are_their_models_page(engine):
    """What hits all versions is about the model."""
    told = pages(engine, two_versions(0.5, 0.5))

    assert [(one.labels["alertname"], one.labels.get("version", "")) for one in told] == [(FAST, "")]


def test_the_only_version_of_a_model_is_one_page(engine):
    """Model and version say the same, once."""
    fleet = model(seconds=HOUR + 20 * MINUTE, raised=between(HOUR, 9e9, 0.5)).promises("nms", version="1")

    assert len(pages(engine, fleet)) == 1


def test_a_lost_scrape_pages_nobody(engine):
    """Errors at half of what is allowed, a server of three lost now and then: no dip, no spike, no page."""
    fleet = Fleet(seconds=3 * HOUR, seed=5)
    for name in ("triton-1", "triton-2", "triton-3"):
        server = fleet.server(name, lost=0.1, silent=[(HOUR, HOUR + 300), (2 * HOUR, 2 * HOUR + 80)])
        fleet.serve(server, qps=5, raised=0.0005, bounds=None)
    fleet.owns("nms", "1").promises("nms")

    assert pages(engine, fleet) == []


@pytest.mark.parametrize(("second", "said"), [((0.02, 0.3), [("nms", "latency")]), ((0.02, 0.25), [])])
def test_other_bounds_are_said_and_page_nobody(engine, second, said):
    """A version whose workers lack the threshold's bound is no slow one; with the bound nothing is said."""
    fleet = Fleet(seconds=35 * MINUTE, seed=6)
    server = fleet.server()
    fleet.serve(server, version="1", qps=5)
    fleet.serve(server, version="2", qps=5, bounds=second)
    fleet.owns("nms", "1", "2").promises_time("nms", "0.25")

    lived = live(engine, fleet, *PAGES, "TritonSliMissing")

    assert [one for name in PAGES for one in lived.fired(name)] == []
    told = lived.fired("TritonSliMissing")
    assert [(one.labels["model"], one.labels["slo"]) for one in told] == said


def test_slow_requests_burn_a_latency_budget(engine):
    """A fifth of the requests is slow: one page, about latency."""
    fleet = Fleet(seconds=HOUR + 20 * MINUTE, seed=7)
    fleet.serve(fleet.server(), qps=10, slow=between(HOUR, 9e9, 0.2))
    fleet.owns("nms", "1").promises_time("nms", "0.25", objective=0.999)

    told = pages(engine, fleet)

    assert [one.labels["slo"] for one in told] == ["latency"]
    assert told[0].since - HOUR <= 259 + 2 * EVALUATION
