"""Where rules/, dashboards/, models/ and examples/ are: beside the package, or inside it in the wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """The folder called `name` (`rules`, `dashboards`, `models`, `examples`, `runbooks`, `checks`).

    Raises:
        FileNotFoundError: the installation is damaged.
    """
    for candidate in (
        _PACKAGE / "_data" / name,
        _PACKAGE.parent / name,
        _PACKAGE.parent / "docs" / name,
    ):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"tritonobs is installed without its {name} folder; install it again")


def package_parent() -> Path:
    """The folder that has to be on `PYTHONPATH` for `import tritonobs` to work in another program."""
    return _PACKAGE.parent
