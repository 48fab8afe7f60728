"""A model gets many more requests than before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.clients.prometheus import Series

if TYPE_CHECKING:
    from conftest import Fleet


def test_more_traffic_that_is_served_worse_is_the_cause(fleet: Fleet) -> None:
    """Four times the requests, and the detector's queue grows: the queue follows from the traffic."""
    fleet.now.model("inspect", rate=40.0)
    fleet.now.stage("inspect", "total", 0.150, rate=40.0)
    fleet.now.stage("inspect", "detector", 0.125, rate=40.0)
    fleet.now.wait("detector", 0.100)
    fleet.now.stage("inspect", "detector", 0.125, rate=40.0)
    fleet.now.stage("inspect", "total", 0.150, rate=40.0)

    verdict = fleet.verdict()

    assert verdict.causes[0].check == "traffic_surge"
    assert "queue_saturation" in [cause.check for cause in verdict.following]


def test_more_traffic_that_is_served_well_is_good_news(fleet: Fleet) -> None:
    """That is what the fleet is for."""
    fleet.now.model("inspect", rate=40.0)

    assert fleet.checks() == []


def test_a_rush_that_comes_every_few_minutes_is_no_surge(fleet: Fleet) -> None:
    """Three of ten parts of the baseline had as much."""
    fleet.now.model("inspect", rate=40.0)
    fleet.now.stage("inspect", "total", 0.150, rate=40.0)
    points = tuple((60.0 * at, 42.0 if at % 3 == 0 else 2.0) for at in range(10))
    fleet.usual["requests"] = (Series(labels={"model": "inspect", "version": "1"}, points=points),)

    assert "traffic_surge" not in fleet.checks()


def _more_and_failing(fleet: Fleet, reason: str) -> None:
    fleet.now.model("inspect", rate=40.0)
    fleet.now.outcome("inspect", ok=30.0, error=10.0)
    labels = {"version": "1", "reason": reason}
    fleet.now.put("stage_errors", 10.0, model="preprocess", stage="decode", **labels)
    fleet.now.put("stage_errors", 10.0, model="inspect", stage="preprocess", **labels)


def test_images_are_not_corrupt_because_there_are_more(fleet: Fleet) -> None:
    """No request takes longer, and what fails is input that cannot be used: traffic is no cause."""
    _more_and_failing(fleet, "corrupt_image")

    assert fleet.checks() == ["error_surge"]


def test_more_traffic_that_fails_more_often_is_served_worse(fleet: Fleet) -> None:
    """What is worse is shown: errors, where no request takes longer."""
    _more_and_failing(fleet, "timeout")

    verdict = fleet.verdict()

    (surge,) = [one for one in (*verdict.causes, *verdict.following) if one.check == "traffic_surge"]
    assert surge.sentence == "inspect version 1 gets 40 requests/s, was 10, and more of them fail"
    assert [one.what for one in surge.evidence] == ["requests", "error ratio of inspect"]


def test_requests_that_fail_are_traffic_too(fleet: Fleet) -> None:
    """Three times the requests; the model answers as many as before, and raises in the rest."""
    for replica in ("a:8002", "b:8002"):
        labels = {"model": "inspect", "version": "1", "instance": replica}
        fleet.now.put("failures", 10.0, **labels, reason="BACKEND")

    found = {cause.check: cause.sentence for cause in fleet.verdict().causes}

    assert "inspect version 1 gets 30 requests/s, was 10" in found["traffic_surge"]
