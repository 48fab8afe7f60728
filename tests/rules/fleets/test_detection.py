"""A burn is reported by the fastest tier that theory allows, in its time, and ends no later than in 0.5.0."""

import pytest

from support.fleet_sim.detection import IN_0_5_0, TIERS, Incident, detect, theory
from support.fleet_sim.world import product_rules

HOUR, DAY = 3600, 86_400


@pytest.mark.parametrize(
    ("share", "hours", "tier"),
    [
        (1.0, 4, "fast"),
        (0.02, 3, "fast"),
        (0.01, 11, "medium"),
        (0.005, 17, "slow"),
        (0.002, 40, "long"),
    ],
)
def test_the_fastest_tier_that_can_reports_in_time(engine, share, hours, tier):
    """Two evaluations after its long window is over the threshold, and no other tier reports it."""
    groups = product_rules(30)

    seen = detect(
        engine, Incident(share=share, before=3.1 * DAY, seconds=hours * HOUR, scrape_seconds=30), groups
    )

    assert {name for name, one in seen.items() if one.detected is not None} == {tier}
    # The windows of the slower tiers are evaluated every 2 minutes, their burns every minute.
    turn = 30 if tier == "fast" else 120
    expected, found = theory(TIERS[tier], share), seen[tier]
    assert 0.95 * expected.detected <= found.detected <= expected.detected + 2 * turn
    if share in IN_0_5_0:
        assert found.reset <= IN_0_5_0[share][tier].reset + 2 * turn
    if share == 1:
        assert found.detected <= 120
