"""A small checkout that may be released: what the refusals read, committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from releasing.checkout import git

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILES = {
    "tritonobs/__init__.py": '"""Small."""\n\n__version__ = "1.2.3"\n',
    "docker/Dockerfile": "FROM scratch\nARG VERSION=1.2.3\n",
    "docs/kubernetes.md": "image: registry.example.org/tritonobs:1.2.3\n\n$ docker push r/tritonobs:1.2.3\n",
    "tests/e2e/kubernetes/test_page.py": 'assert image == "registry.example.org/tritonobs:1.2.3"\n',
    "CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-01-31\n\n### Added\n\n- A thing.\n",
    "pyproject.toml": '[tool.hatch.metadata.hooks.custom]\nforge = "https://git.example.org/team/tritonobs"\n',
}


@pytest.fixture(name="commit")
def _commit() -> Callable[[Path], None]:
    """Commits everything in a folder, by an author that no configuration has to name."""

    def commit(root: Path) -> None:
        git(root, "add", "--all")
        who = ("-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
        git(root, *who, "commit", "--quiet", "--message", "all")

    return commit


@pytest.fixture(name="checkout")
def _checkout(tmp_path: Path, commit: Callable[[Path], None]) -> Path:
    """A repository with nothing wrong."""
    root = tmp_path / "checkout"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git(root, "init", "--quiet")
    commit(root)
    return root
