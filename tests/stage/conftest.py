"""A model's stages over a fake Triton, flushed as fast as a test can wait."""

from __future__ import annotations

import json
import time

import pytest

from tritonobs.stage import Stages
from tritonobs.testing.pb_utils import FakePbUtils

WAIT_SECONDS = 20.0


@pytest.fixture
def wait():
    """Wait until a condition holds, at most for a while; returns whether it does."""

    def until(condition):
        deadline = time.monotonic() + WAIT_SECONDS
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.001)
        return condition()

    return until


@pytest.fixture
def fake():
    """A Triton that must be alive, and have refused nothing, when the test ends."""
    server = FakePbUtils()
    yield server
    assert server.crashes == []
    assert server.refusals == []


@pytest.fixture
def make(monkeypatch):
    """Make stages over a fake Triton, flushed all the time, on a server scraped every `scrape_seconds`.

    `parameters` are those of the model's configuration.
    """
    made = []

    def stages(pb_utils, args=FakePbUtils.ARGS, *, scrape_seconds=0.0, parameters=None, **settings):
        monkeypatch.setenv("TRITONOBS_SCRAPE_INTERVAL_SECONDS", str(scrape_seconds))
        if parameters:
            values = {name: {"string_value": value} for name, value in parameters.items()}
            args = {**args, "model_config": json.dumps({"parameters": values})}
        made.append(Stages(args, pb_utils, **{"flush_interval_seconds": 0.001, **settings}))
        return made[-1]

    yield stages
    for one in made:
        one.finalize()
