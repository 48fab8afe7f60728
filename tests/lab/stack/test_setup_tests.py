"""The script that brings what some tests need never fails, and says what to do."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "tools" / "setup_tests.sh"
NEEDED = ("bash", "id", "sort", "timeout", "tail", "mktemp", "rm", "chmod")
REFUSES = '#!/bin/bash\n[ "$1" = update ] || echo "E: Unable to locate package" >&2\nexit 100\n'


@pytest.fixture(name="programs")
def _programs(tmp_path):
    """A folder with the few programs the script uses, and nothing that it brings."""
    for name in NEEDED:
        (tmp_path / name).symlink_to(shutil.which(name))
    return tmp_path


def said(programs):
    """The exit status, and what was said, of the script as it stands but for the folders it looks into."""
    text = SCRIPT.read_text().replace(":/usr/sbin:/sbin", "").replace("/usr/sbin/policy-rc.d", str(SCRIPT))
    done = subprocess.run(
        [programs / "bash", "-c", text],
        env={"PATH": str(programs), "TRITONOBS_TOOLS": str(programs)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def test_without_apt_it_names_the_packages(programs):
    """One line to run by hand."""
    status, text = said(programs)

    assert status == 0
    packages = "chromium debootstrap docker-compose docker.io fish zsh"
    assert f"apt-get install -y --no-install-recommends {packages}\n" in text


def test_what_apt_cannot_bring_is_said_and_fails_nothing(programs):
    """The package, and the end of apt's words (root); without root the line to run by hand."""
    apt = programs / "apt-get"
    apt.write_text(REFUSES)
    apt.chmod(0o755)
    status, text = said(programs)

    assert status == 0
    assert "docker.io could not be installed" in text or "install as root" in text


def test_what_is_there_is_not_installed_again(programs):
    """Nothing is said where nothing is missing."""
    for name in ("dockerd", "docker", "docker-compose", "debootstrap", "chromium", "zsh", "fish"):
        (programs / name).symlink_to(shutil.which("true"))
    (programs / "mcp" / "node_modules" / "node").mkdir(parents=True)

    assert said(programs) == (0, "")


def test_without_npm_it_says_what_that_is_for(programs):
    """The tests of agents."""
    status, text = said(programs)

    assert status == 0
    assert "missing for the tests of agents: npm\n" in text
