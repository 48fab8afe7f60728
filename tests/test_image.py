"""What files that are not Python say of the package: its version, and the modules that they import."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from tritonobs import __version__

ROOT = Path(__file__).parents[1]
SCRIPTS = [
    path
    for pattern in ("docker/*", "docker-compose.yml", "tools/*.sh", "docs/*.md", "*.md", "Makefile")
    for path in sorted(ROOT.glob(pattern))
    if path.is_file() and not path.is_symlink()
]
IMPORTED = [
    pytest.param(module, names, id=f"{path.relative_to(ROOT)}: {module}")
    for path in SCRIPTS
    for module, names in re.findall(r"\bfrom (tritonobs[\w.]*) import (\w+(?:, \w+)*)", path.read_text())
]
RUN = [
    pytest.param(module, id=f"{path.relative_to(ROOT)}: {module}")
    for path in SCRIPTS
    for module in re.findall(r"-m[ ,]+(tritonobs[\w.]*)", path.read_text())
]


def test_the_dockerfile_builds_this_version() -> None:
    """Without a build argument, too."""
    assert re.findall(r"^ARG VERSION=(.*)$", (ROOT / "docker/Dockerfile").read_text(), re.MULTILINE) == [
        __version__
    ]


def test_the_documentation_names_this_version() -> None:
    """What is copied from docs/kubernetes.md pulls what was built."""
    page = (ROOT / "docs/kubernetes.md").read_text()
    assert set(re.findall(r"/tritonobs:(\S+\d)", page)) == {__version__}


@pytest.mark.parametrize(("module", "names"), IMPORTED)
def test_what_scripts_import_is_there(module: str, names: str) -> None:
    """No type checker reads the Dockerfile's Python, nor that of scripts and documentation."""
    found = import_module(module)

    lost = [
        name for name in names.split(", ") if not hasattr(found, name) and not find_spec(f"{module}.{name}")
    ]
    assert lost == []


@pytest.mark.parametrize("module", RUN)
def test_what_scripts_run_is_there(module: str) -> None:
    """As `python -m` finds it."""
    assert find_spec(module)
