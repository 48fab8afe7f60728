"""A model gets more requests than its limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Fleet


def test_traffic_above_the_limit_is_the_cause(fleet: Fleet) -> None:
    """Whatever is slow then is slow because of it."""
    fleet.now.model("inspect", rate=120.0)
    fleet.now.wait("detector", 0.300)

    verdict = fleet.verdict()

    assert verdict.causes[0].check == "qps_limit"
    assert verdict.sentence == "inspect got 120 requests/s, its limit is 100 requests/s"
    assert "queue_saturation" in [cause.check for cause in verdict.following]


def test_a_short_peak_above_the_limit_is_a_cause(fleet: Fleet) -> None:
    """The mean is within; half a minute was not."""
    fleet.now.put("peak", 130.0, model="inspect", version="1")

    assert fleet.verdict().sentence == "inspect got 130 requests/s for a while, its limit is 100 requests/s"


def test_bursts_are_a_cause_though_no_average_shows_them(fleet: Fleet) -> None:
    """Half as much again between two scrapes, and by a number that chance does not give."""
    fleet.now.put("burst", 160.0, model="inspect", version="1")

    assert fleet.verdict().sentence == "inspect got 160 requests/s in bursts, its limit is 100 requests/s"


def test_a_few_requests_at_once_are_no_burst(fleet: Fleet) -> None:
    """A model that gets one in a while gets two at once now and then."""
    for window in (fleet.now, fleet.before):
        window.put("limits", 0.5, model="nms", version="")
        window.model("nms", rate=0.2)
    fleet.now.put("burst", 1.0, model="nms", version="1")

    assert "qps_limit" not in fleet.checks()


def test_a_limit_over_all_versions_counts_them_together(fleet: Fleet) -> None:
    """60 and 50 are 110, and each alone is within."""
    for version, rate in (("1", 60.0), ("2", 50.0)):
        fleet.now.model("inspect", rate=rate, version=version)
        fleet.before.model("inspect", rate=rate, version=version)

    assert fleet.checks() == ["qps_limit"]


def test_peaks_at_different_moments_are_not_one(fleet: Fleet) -> None:
    """A rollout: each version had 80/s for a while, and the model never more than 85/s."""
    for version in ("1", "2"):
        for window in (fleet.now, fleet.before):
            window.model("inspect", rate=40.0, version=version)
        fleet.now.put("peak", 80.0, model="inspect", version=version)
        fleet.now.put("burst", 80.0, model="inspect", version=version)
    fleet.now.put("peak", 85.0, model="inspect")
    fleet.now.put("burst", 90.0, model="inspect")

    assert "qps_limit" not in fleet.checks()


def test_the_peak_of_all_versions_is_a_cause(fleet: Fleet) -> None:
    """As Prometheus added them up, moment by moment."""
    for version in ("1", "2"):
        for window in (fleet.now, fleet.before):
            window.model("inspect", rate=40.0, version=version)
    fleet.now.put("peak", 130.0, model="inspect")

    assert fleet.verdict().sentence == "inspect got 130 requests/s for a while, its limit is 100 requests/s"


def test_traffic_at_the_limit_is_within_it(fleet: Fleet) -> None:
    """The limit is what is agreed."""
    for window in (fleet.now, fleet.before):
        window.model("inspect", rate=100.0)

    assert fleet.checks() == []


def test_a_limit_is_told_once(fleet: Fleet) -> None:
    """A version inherits its model's limit: one cause, that of the model; a narrower one is a cause too."""
    fleet.now.model("inspect", rate=120.0)
    fleet.now.put("limits", 100.0, model="inspect", version="1")
    assert [cause.place for cause in fleet.verdict().causes] == [("inspect", "")]

    fleet.now.put("limits", 60.0, model="inspect", version="1")
    assert [cause.place for cause in fleet.verdict().causes] == [("inspect", ""), ("inspect", "1")]


def test_the_fleet_has_a_limit_too(fleet: Fleet) -> None:
    """Only what clients ask counts: inspect calls the other three, which get 30 requests/s more."""
    for window in (fleet.now, fleet.before):
        window.put("limits", 12.0, model="", version="")

    assert "qps_limit" not in fleet.checks()

    fleet.now.model("nms", rate=15.0)

    assert fleet.verdict().sentence == "the fleet got 15 requests/s, its limit is 12 requests/s"
    fleet.model = "nms"
    assert "qps_limit" not in fleet.checks()


def test_what_was_not_measured_is_not_shown_as_none(fleet: Fleet) -> None:
    """Scrapes may be too rare for a burst."""
    for window in (fleet.now, fleet.before):
        window.answers.pop("peak", None)
    fleet.now.put("limits", 5.0, model="inspect", version="")

    (cause, *_) = fleet.verdict().causes

    assert [one.now for one in cause.evidence if one.what.startswith(("busiest", "between"))] == [None, None]
