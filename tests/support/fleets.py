"""Fleet files of many models, as large fleets have them, and fleet files made into objects of a cluster."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_HEAD = """\
fleet: big
limits_source: rules
replicas: {kubernetes: {selector: app=triton, namespace: models}}
kubernetes: {watch: false, objects: {labels: {release: kps}}}
defaults:
  slos: {availability: {objective: 99.9%}, latency: {objective: 99%, threshold: 100ms, stage: total}}
models:
"""


def many_models(number: int) -> str:
    """Of each five models one is a pipeline of two others; each has two versions."""
    lines = []
    for place in range(number):
        calls = ""
        if place % 5 == 0 and place + 2 < number:
            calls = f"pipeline: bls, calls: {{{_name(place + 1)}: 1, {_name(place + 2)}: 2}}, "
        limit = 50 if calls else 200
        lines.append(
            f"  {_name(place)}: {{{calls}qps_limit: {limit}, team: team{place % 7}, "
            'versions: {"1": {}, "2": {qps_limit: 20}}}\n'
        )
    return _HEAD + "".join(lines)


def _name(place: int) -> str:
    return f"model-{place:05d}"


def build_objects(folder: Path, text: str) -> Path:
    """The folder `kubernetes` of a build."""
    folder.mkdir(exist_ok=True)
    (folder / "fleet.yaml").write_text(text)
    command = [sys.executable, "-m", "tritonobs", "build", str(folder / "fleet.yaml")]
    done = subprocess.run(
        [*command, "-o", str(folder), "--target", "kubernetes"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return folder / "kubernetes"
