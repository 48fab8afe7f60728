"""Far fewer requests arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Fleet


def test_traffic_that_stops_is_a_cause(fleet: Fleet) -> None:
    """The fleet is well, and nobody asks it."""
    for model in ("inspect", "preprocess", "detector", "nms"):
        fleet.now.model(model, rate=0.0)

    (cause,) = fleet.verdict().causes

    assert (cause.check, cause.confidence) == ("upstream_drop", 0.8)
    assert cause.sentence.startswith("inspect version 1 gets 0 requests/s, was 10")


def test_traffic_that_moved_to_another_version_did_not_drop(fleet: Fleet) -> None:
    """A rollout is no outage."""
    fleet.now.model("inspect", rate=0.0)
    fleet.now.model("inspect", rate=10.0, version="2")

    assert "upstream_drop" not in fleet.checks()


def test_half_the_traffic_is_within_a_days_rhythm(fleet: Fleet) -> None:
    """Five instead of ten."""
    for model in ("inspect", "preprocess", "detector", "nms"):
        fleet.now.model(model, rate=5.0)

    assert fleet.checks() == []
