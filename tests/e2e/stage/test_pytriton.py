"""A function bound with PyTriton runs where Triton takes no metrics: it serves, and the log says so."""

import subprocess
import sys
from pathlib import Path

import pytest

from tritonobs.extensions.lab.stack.services import triton_environment
from tritonobs.programs import free_ports

pytestmark = pytest.mark.e2e

SERVE = Path(__file__).parent / "pytriton" / "serve.py"


def test_stages_of_a_bound_function_serve_and_say_why_nothing_is_shown(tmp_path):
    """The answer is right, Triton counts the request, no series of ours, one message that names PyTriton."""
    done = subprocess.run(
        [sys.executable, str(SERVE), *map(str, free_ports(3))],
        env=triton_environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    said = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr[-2000:]
    assert "answer [42.0]" in said
    assert "page []" in said
    assert """counted ['nv_inference_request_success{model="twice",version="1"} 1']""" in said
    told = [line for line in done.stderr.splitlines() if line.startswith("tritonobs.stage: ")]
    assert len(told) == 1
    assert "this process does not belong to Triton's Python backend" in told[0]
    assert "PyTriton" in told[0]
    assert "23.05" not in told[0]
