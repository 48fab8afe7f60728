"""The image's version where it is written down."""

from __future__ import annotations

import re
from pathlib import Path

from tritonobs import __version__

ROOT = Path(__file__).parents[1]


def test_the_dockerfile_builds_this_version() -> None:
    """Without a build argument, too."""
    assert re.findall(r"^ARG VERSION=(.*)$", (ROOT / "docker/Dockerfile").read_text(), re.MULTILINE) == [
        __version__
    ]


def test_the_documentation_names_this_version() -> None:
    """What is copied from docs/kubernetes.md pulls what was built."""
    page = (ROOT / "docs/kubernetes.md").read_text()
    assert set(re.findall(r"/tritonobs:(\S+\d)", page)) == {__version__}
