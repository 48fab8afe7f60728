"""The soak, in short: every phase once, with a real Prometheus keeping the books."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

SOAK = Path(__file__).parents[3] / "bench" / "soak.py"


def test_a_short_soak_keeps_every_promise():
    """No crash, no error a kill does not explain, and per phase the sums that clients saw."""
    done = subprocess.run(
        [sys.executable, str(SOAK), "--short", "--json"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr + done.stdout
    phases = json.loads(done.stdout)["values"]["phases"]
    assert [phase["name"] for phase in phases if phase["kept"]] == [
        "steady",
        "reload in place",
        "unload, load",
        "instance count",
        "worker killed",
        "steady again",
    ]
    assert all(phase["lost"] == 0 for phase in phases if phase["name"] != "worker killed")
