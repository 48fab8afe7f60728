"""The architecture: layers, file sizes, lazy imports."""

import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parent.parent
CODE = sorted(
    path
    for folder in ("tritonobs", "models", "dashboards", "rules", "bench", "tools", "tests")
    for pattern in ("*.py", "*.libsonnet", "*.jsonnet")
    for path in (ROOT / folder).rglob(pattern)
)


def test_imports_only_point_down():
    """Every contract of pyproject.toml holds."""
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout


def test_no_file_is_longer_than_300_lines():
    """300 lines are the stop."""
    long = {str(path.relative_to(ROOT)): lines for path in CODE if (lines := _lines(path)) > 300}

    assert long == {}


def test_the_median_file_fits_on_two_screens():
    """Half of the files have at most 120 lines."""
    assert median(_lines(path) for path in CODE) <= 120


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("tritonobs.stage", ("numpy", "json.tool", "requests", "yaml", "click", "logging.config")),
        (
            "tritonobs.cli",
            ("rich", "requests", "pydantic", "grafanalib", "_gojsonnet", "starlette", "tritonclient"),
        ),
    ],
)
def test_importing_stays_light(module, heavy):
    """What is loaded late stays unloaded: `--help` and inference images pay nothing for it."""
    code = f"import sys, {module}; print(*[name for name in {heavy!r} if name in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == []


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())
