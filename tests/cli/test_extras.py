"""What each extra brings: with `[cli]` alone every command shows its help, and says what it lacks."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tritonobs.cli import COMMANDS

if TYPE_CHECKING:
    from pathlib import Path

STACK = ("cv2", "gevent", "geventhttpclient", "numpy", "onnxruntime", "psutil", "pytriton", "tritonclient")
WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
sys.argv = ["tritonobs", *{arguments}]
from tritonobs.__main__ import main
main()
"""


def _run(
    absent: tuple[str, ...], *arguments: str, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    code = WITHOUT.format(absent=set(absent), arguments=arguments)
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder
    )


def test_every_command_shows_its_help_without_the_stack() -> None:
    """In one process, because a start of Python costs more."""
    loop = "from click.testing import CliRunner; from tritonobs.cli import group\n" + "".join(
        f"done = CliRunner().invoke(group, [{name!r}, '--help'])\n"
        f"print({name!r}, done.exit_code, done.exception)\n"
        for name in COMMANDS
    )
    code = WITHOUT.format(absent={*STACK, "matplotlib"}, arguments=()).replace(
        "from tritonobs.__main__ import main\nmain()", loop
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.stdout.splitlines() == [f"{name} 0 None" for name in COMMANDS], done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("load", "--duration", "1s"), id="load"),
        pytest.param(("up",), id="up"),
        pytest.param(("demo",), id="demo"),
    ],
)
def test_a_command_without_its_extra_says_which_brings_it(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """One sentence with the command that installs it, exit status 3, and nothing was begun."""
    done = _run(STACK, *arguments, folder=tmp_path)

    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("tritonobs: ")
    assert done.stderr.rstrip().endswith("pip install 'tritonobs[stack]'")
    assert list(tmp_path.iterdir()) == []


def test_the_bare_package_knows_its_version() -> None:
    """Inference images have no click; whoever looks still learns what is installed."""
    done = _run(("click",), "--version")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("tritonobs, version ")


@pytest.mark.parametrize("missing", [(), ("click",)])
def test_the_version_says_which_record_path_is_in_use_and_why(missing, monkeypatch) -> None:
    """Nobody can see from outside that requests are recorded in Python, five times as slow."""
    monkeypatch.setenv("TRITONOBS_PURE_PYTHON", "1")

    done = _run(missing, "--version")

    assert done.returncode == 0
    assert done.stdout.splitlines()[1:] == ["record path: Python, because TRITONOBS_PURE_PYTHON is set"]


def test_the_bare_package_says_which_extra_brings_the_command_line() -> None:
    """Exit status 3: something is missing."""
    done = _run(("click",), "validate", "fleet.yaml")

    assert (done.returncode, done.stderr) == (
        3,
        "tritonobs: the command line needs click: pip install 'tritonobs[cli]'\n",
    )
