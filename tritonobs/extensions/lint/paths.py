"""The files of the given paths: folders are searched, links out of them are not followed."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

SUFFIXES: Final = frozenset((".yaml", ".yml", ".json", ".promql", ".rules", ".tpl", ".jsonnet", ".libsonnet"))
"""Of the files that are read in a folder, beside Markdown on request."""
_MARKUP: Final = frozenset((".md", ".markdown"))
_SKIPPED: Final = frozenset((".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox"))


def files_of(
    paths: Iterable[Path],
    *,
    whole: Iterable[Path] = (),
    exclude: Iterable[str] = (),
    markdown: bool = False,
) -> Iterator[tuple[Path, bool]]:
    """Each file once, with whether it was named itself. Folders are searched in the order of names.

    Files of the folders `whole` count as named: each should be readable, also without a word of Triton.
    """
    wanted = SUFFIXES | _MARKUP if markdown else SUFFIXES
    patterns, seen = tuple(exclude), set[str]()
    folders: list[Iterable[tuple[Path, bool]]] = [
        ((file, True) for file, _ in _below(one, wanted)) for one in whole
    ]
    folders += (_below(path, wanted) if path.is_dir() else ((path, True),) for path in paths)
    for found in folders:
        for file, named in found:
            if any(fnmatch.fnmatch(str(file), pattern) for pattern in patterns):
                continue
            real = os.path.realpath(file)
            if real not in seen:
                seen.add(real)
                yield file, named


def _below(folder: Path, wanted: frozenset[str]) -> Iterator[tuple[Path, bool]]:
    root = Path(os.path.realpath(folder))
    # os.walk does not follow links to folders, so a circle of links does no harm.
    failed: list[OSError] = []
    for at, folders, names in os.walk(folder, onerror=failed.append):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(names):
            file = Path(at) / name
            if file.suffix.lower() not in wanted:
                continue
            outside = file.is_symlink() and not Path(os.path.realpath(file)).is_relative_to(root)
            if outside or not file.exists():
                continue
            yield file, False
    # Read as if they were named, so that it is said why they cannot be.
    yield from ((Path(error.filename), True) for error in failed)
