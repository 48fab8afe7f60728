"""Burn alerts of every tier fire when theory says, and are over no later than in 0.5.0 (D9)."""

import pytest

from support.fleet_sim.detection import IN_0_5_0, TIERS, Incident, detect, evaluation_seconds, theory
from support.fleet_sim.world import product_rules

HOUR, DAY = 3600, 86_400


@pytest.mark.parametrize(("share", "hours"), [(1.0, 4), (0.01, 11)])
def test_every_tier_fires_when_theory_says(engine, share, hours):
    """Two evaluations after the long window is over the threshold, and after 2 minutes of a total outage."""
    groups = product_rules(30)
    every = evaluation_seconds(groups)

    seen = detect(
        engine, Incident(share=share, before=3.1 * DAY, seconds=hours * HOUR, scrape_seconds=30), groups
    )

    assert set(seen) == set(TIERS)
    paged = False
    for name, tier in TIERS.items():
        expected, before, found = theory(tier, share), IN_0_5_0[share][name], seen[name]
        # A page adds nothing to one that is out.
        if expected.detected is None or (paged and tier.severity == "critical" and found.detected is None):
            assert found.detected is None
            continue
        paged = paged or tier.severity == "critical"
        assert 0.95 * expected.detected <= found.detected <= expected.detected + 2 * every[name]
        assert found.reset <= before.reset + every[name]
    if share == 1:
        assert seen["fast"].detected <= 120
