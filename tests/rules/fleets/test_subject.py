"""The arrays that stand for months of traffic say what the real engine says, alert by alert."""

import numpy as np
import pytest

from support.fleet_sim.fleet import Fleet
from support.fleet_sim.subject import ABOVE, NEAR, begun
from support.fleet_sim.uneven import correlated, gamma_minutes
from support.fleet_sim.world import live, product_rules

LOADS = {
    "minutes-8": (8, lambda limit: gamma_minutes(0.9 * limit, 0.3, 1)),
    "minutes-400": (400, lambda limit: gamma_minutes(limit, 0.2, 2)),
    "wandering-40": (40, lambda limit: correlated(limit, 0.2, 3)),
    "wandering-4000": (4000, lambda limit: correlated(0.9 * limit, 0.3, 4)),
}


@pytest.mark.parametrize("scrape", [5, 15])
def test_arrays_begin_the_alerts_that_prometheus_begins(engine, scrape):
    """Half a day around the limit, so that much fires."""
    fleet = Fleet(seconds=43_200, scrape_seconds=scrape, tick_seconds=5)
    server = fleet.server(phase_seconds=1)
    for model, (limit, qps) in LOADS.items():
        fleet.serve(server, model, qps=qps(limit), bounds=None)
        fleet.owns(model, "1").limits(model, limit)

    lived = live(engine, fleet, ABOVE, NEAR, phases=None)

    happened = {one.model: one.arrivals for one in fleet.truth.happened}
    for model, (limit, _) in LOADS.items():
        found = begun(product_rules(scrape), happened[model], limit, scrape_seconds=scrape)
        for alert, times in ((ABOVE, found.above), (NEAR, found.near)):
            expected = np.array([one.since for one in lived.fired(alert, model=model)])
            assert len(times) == len(expected)
            assert np.all(np.abs(times - expected) <= 2 * scrape)
    assert lived.fired(ABOVE) != []
