"""The command line, run as a user runs it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., subprocess.CompletedProcess[str]]

FLEET = """\
fleet: inspection
replicas:
  - {name: triton-1, url: "http://127.0.0.1:8000"}
defaults:
  slos:
    availability: {objective: 99.9%}
    latency: {objective: 99%, target: 500ms}
models:
  inspect:
    pipeline: bls
    calls: {preprocess: 1, detector: 1}
    qps_limit: 8
  preprocess: {}
  detector: {versions: {"1": {qps_limit: 40}}}
notify:
  dingtalk:
    oncall: {webhook_env: DINGTALK_WEBHOOK}
"""


@pytest.fixture
def fleet_file(tmp_path: Path) -> Path:
    """A small fleet, alone in its folder."""
    path = tmp_path / "fleet.yaml"
    path.write_text(FLEET)
    return path


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """`tritonobs` with these arguments, in the folder of the fleet file; nothing is asked, nothing raised."""

    def start(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "tritonobs", *arguments],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    return start
