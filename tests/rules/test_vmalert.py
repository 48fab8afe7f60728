"""A second rule engine takes the same rules."""

import subprocess

import pytest

from tritonobs.render.artifact import Artifact, write_artifacts, yaml_text
from tritonobs.render.rules import evaluate_mixin
from tritonobs.stack import binaries


def test_vmalert_accepts_every_rule(tmp_path):
    """Without keep_firing_for, which vmalert learned later, expressions and templates are valid MetricsQL."""
    vmalert = binaries.look("vmalert")
    if vmalert is None:
        pytest.skip("no vmalert here; Debian's package victoria-metrics has it")
    rules = evaluate_mixin({"keepFiring": False})
    written = write_artifacts(
        [Artifact(path=f"{name}.rules.yml", text=yaml_text(rules[name])) for name in rules], tmp_path
    )

    done = subprocess.run(
        [str(vmalert), "-dryRun", *(f"-rule={path}" for path in written)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
