"""What the tests of simulated fleets share: one Prometheus."""

import pytest

from support.fleet_sim.engine import Engine
from tritonobs import programs


@pytest.fixture(scope="session")
def engine(tmp_path_factory):
    """A Prometheus that computes rules over worlds; each world has a time of its own in it."""
    with Engine(programs.find("prometheus"), tmp_path_factory.mktemp("engine")) as running:
        yield running
