"""The example fleet rendered, in full view: a change of what is built shows in the review of the change.

Boards are not kept twice: they stand in dashboards/generated, with a test of their own.
`TRITONOBS_GOLDEN=write pytest tests/render/test_golden.py` writes the files.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

from tritonobs.plan.build import build_plan
from tritonobs.render.artifact import write_artifacts
from tritonobs.render.everything import render_fleet
from tritonobs.spec.load import load_fleet

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"


def test_the_example_renders_as_committed() -> None:
    """Byte for byte, no file more and no file less."""
    plan = build_plan(load_fleet(ROOT / "examples" / "fleet.yaml"), Path("/etc/tritonobs"))
    artifacts = [
        artifact
        for artifact in render_fleet(replace(plan, limits_source="rules"))
        if not artifact.path.startswith("grafana/dashboards/boards/")
    ]
    if os.environ.get("TRITONOBS_GOLDEN") == "write":
        shutil.rmtree(GOLDEN, ignore_errors=True)
        write_artifacts(artifacts, GOLDEN)

    committed = {
        path.relative_to(GOLDEN).as_posix(): path.read_text() for path in GOLDEN.rglob("*") if path.is_file()
    }
    made = {artifact.path: artifact.text for artifact in artifacts}
    other = sorted(path for path in {**made, **committed} if made.get(path) != committed.get(path))
    assert other == [], "TRITONOBS_GOLDEN=write pytest -q tests/render/test_golden.py writes tests/golden"
