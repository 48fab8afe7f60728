"""What all tests share: where programs are, how much is fuzzed, and that no secret is left behind."""

import os
import signal
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from support.leaks import leaks
from support.needs import lacks

pytest_plugins = ["support.alerts"]

os.environ.setdefault("TRITONOBS_TOOLS", str(Path(__file__).parent.parent / ".tools"))
# Where Python keeps no bytecode, each of some thousand processes compiles 440 modules: a second of CPU.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The same 500 examples in every run, other ones each night (`make fuzz`); none takes as long as the deadline.
_FUZZ = settings(
    deadline=timedelta(seconds=60),
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
)
settings.register_profile("ci", _FUZZ, max_examples=500, derandomize=True, database=None)
settings.register_profile("nightly", _FUZZ, max_examples=10_000, print_blob=True)
settings.load_profile("ci")


def pytest_collection_modifyitems(config, items):
    """In a tree without some extension (tools/without.py) its tests are left out."""
    gone = [item for item in items if lacks(item)]
    if gone:
        config.hook.pytest_deselected(items=gone)
        items[:] = [item for item in items if item not in set(gone)]


@pytest.fixture(name="in_front")
def _in_front():
    """As a shell starts a command in front: what runs in the background, or by `nohup`, ignores signals."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session", autouse=True)
def _nothing_secret_is_left_behind(tmp_path_factory):
    """After the last test: no log, state folder or artifact of the whole run holds a secret."""
    yield
    found = leaks(tmp_path_factory.getbasetemp())
    assert found == [], f"secrets stand in {', '.join(map(str, found))}"
