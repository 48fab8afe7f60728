"""The wheel is enough: installed anywhere, working from any folder."""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tritonobs.stack.binaries import tools_folder

ROOT = Path(__file__).parent.parent


@pytest.fixture(name="wheel", scope="module")
def _wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT], check=True, capture_output=True
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def _environment(folder: Path, requirement: str) -> Path:
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement]
    subprocess.run(pip, check=True, capture_output=True, text=True)
    return python


def test_the_bare_wheel_brings_no_dependency(wheel, tmp_path):
    """An inference image gets the stage instrumentation and nothing else."""
    python = _environment(tmp_path / "bare", str(wheel))

    done = subprocess.run(
        [python, "-m", "pip", "list", "--format=freeze", "--exclude", "pip", "--exclude", "setuptools"],
        check=True,
        capture_output=True,
        text=True,
    )
    subprocess.run([python, "-c", "import tritonobs.stage"], check=True, cwd=tmp_path)
    said = subprocess.run([python, "-m", "tritonobs", "--help"], check=False, capture_output=True, text=True)

    assert [line.split("==")[0].split(" ")[0] for line in done.stdout.splitlines()] == ["tritonobs"]
    assert said.returncode != 0
    assert "pip install 'tritonobs[cli]'" in said.stderr


def test_the_wheel_builds_a_fleet_in_an_empty_folder(wheel, tmp_path):
    """Rules, dashboards, models and examples travel inside it."""
    python = _environment(tmp_path / "cli", f"{wheel}[cli]")
    work = tmp_path / "empty"
    work.mkdir()
    (work / "fleet.yaml").write_bytes((ROOT / "examples" / "fleet.yaml").read_bytes())

    done = subprocess.run(
        [python, "-m", "tritonobs", "build", "fleet.yaml", "-o", "out"],
        check=False,
        capture_output=True,
        text=True,
        cwd=work,
        env={**os.environ, "TRITONOBS_TOOLS": str(tools_folder()), "PYTHONPATH": ""},
    )

    assert done.returncode == 0, done.stderr
    assert (work / "out" / "prometheus" / "prometheus.yml").exists()
    assert list((work / "out" / "prometheus" / "rules").glob("*.rules.yml"))


def test_the_wheel_carries_the_models(wheel):
    """The model repository is complete: configuration, code and the detector's network."""
    names = zipfile.ZipFile(wheel).namelist()

    for model in ("preprocess", "detector", "nms", "inspect", "inspect_ensemble"):
        assert f"tritonobs/_data/models/{model}/config.pbtxt" in names
    assert "tritonobs/_data/models/detector/1/model.onnx" in names
