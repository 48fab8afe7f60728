"""A model's stages over a fake Triton, flushed as fast as a test can wait."""

from __future__ import annotations

import functools
import importlib.util
import json
import time
from pathlib import Path

import pytest

import tritonobs.stage.record
from tritonobs.stage import Stages
from tritonobs.stage.cells import Cells
from tritonobs.testing import FakePbUtils

WAIT_SECONDS = 20.0


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """The compiled record path, as a module."""
    path = Path(__file__).parents[2] / "tools" / "compile_record.py"
    builder = _module("compile_record", path)
    library = builder.compile_record(tmp_path_factory.mktemp("compiled"))
    if library is None:
        pytest.skip("no C compiler and headers of Python here; on Debian: apt-get install gcc python3-dev")
    return _module("tritonobs.stage._record", library)


def _module(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=["python", "compiled"])
def recorder(request, monkeypatch):
    """The type that records, which stages made after this use."""
    module = request.getfixturevalue("compiled") if request.param == "compiled" else tritonobs.stage.record
    monkeypatch.setattr("tritonobs.stage.stages.Cells", functools.partial(Cells, recorder=module.Recorder))
    return module.Recorder


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

    stages.made = made
    yield stages
    for one in made:
        one.finalize()
