"""What a run reads: the settings of a project, and the files of the given paths.

Settings are `[tool.tritonobs.lint]` of pyproject.toml, or `.tritonobs-lint.yaml` beside it. Folders are
searched, and links out of them are not followed.
"""

from __future__ import annotations

import fnmatch
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

import yaml

from tritonobs.extensions.lint.catalogue import release
from tritonobs.extensions.lint.checks import CHECKS
from tritonobs.extensions.lint.linter import MARKUP, OWN
from tritonobs.files import read_text
from tritonobs.units import parse_duration

SUFFIXES: Final = frozenset((".yaml", ".yml", ".json", ".promql", ".rules", ".tpl", ".jsonnet", ".libsonnet"))
"""Of the files that are read in a folder, beside Markdown on request."""
_SKIPPED: Final = frozenset((".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox"))
_MOST: Final = 1024 * 1024
_YAML: Final = ".tritonobs-lint.yaml"
_KEYS: Final = ("triton-version", "scrape-interval", "select", "ignore", "exclude", "markdown")


class Misconfigured(ValueError):
    """A configuration that is not valid; the text names file and key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The values of a project, those of the command line over them."""

    triton_version: str = ""
    scrape_seconds: float = 15.0
    select: frozenset[str] = frozenset()
    ignore: frozenset[str] = frozenset()
    exclude: tuple[str, ...] = ()
    markdown: bool = False


def configuration(folder: Path) -> Configuration:
    """What the folder's files say; the YAML file takes precedence.

    Raises:
        FileUnusable: a file is there and cannot be read.
        Misconfigured: it has a key or a value that is not known.
    """
    own, project = folder / _YAML, folder / "pyproject.toml"
    if own.is_file():
        return _configuration(_yaml(own), own)
    if project.is_file():
        return _configuration(_toml(project), project)
    return Configuration()


def known_ids(names: Iterable[str]) -> frozenset[str]:
    """The names as ids of checks.

    Raises:
        ValueError: one of them is not an id.
    """
    given = frozenset(names)
    unknown = sorted(given.difference(CHECKS, OWN))
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not a check; allowed are {', '.join((*CHECKS, *OWN))}")
    return given


def _yaml(path: Path) -> object:
    try:
        return yaml.safe_load(read_text(path, most=_MOST)) or {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise Misconfigured(f"{path}: not YAML: {str(error).splitlines()[0]}") from None


def _toml(path: Path) -> object:
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415 (Python 3.10 has none)
    else:
        try:
            import tomli as tomllib  # noqa: PLC0415 (the same)
        except ModuleNotFoundError:
            # Nothing else of the file is of interest, and most projects have no such section.
            if "[tool.tritonobs.lint" in read_text(path, most=_MOST):
                raise Misconfigured(f"{path}: Python 3.10 reads it with tomli only; write {_YAML}") from None
            return {}
    try:
        held: dict[str, Any] = tomllib.loads(read_text(path, most=_MOST))
    except tomllib.TOMLDecodeError as error:
        raise Misconfigured(f"{path}: not TOML: {error}") from None
    tools = held.get("tool", {})
    ours = tools.get("tritonobs", {}) if isinstance(tools, dict) else {}
    return ours.get("lint", {}) if isinstance(ours, dict) else {}


def _configuration(held: object, path: Path) -> Configuration:
    if not isinstance(held, dict):
        raise Misconfigured(f"{path}: is not a mapping; allowed are {', '.join(_KEYS)}")
    unknown = sorted(str(key) for key in held if key not in _KEYS)
    if unknown:
        raise Misconfigured(f"{path}: {unknown[0]!r} is not known; allowed are {', '.join(_KEYS)}")
    try:
        return _values(held)
    except (TypeError, ValueError) as error:
        raise Misconfigured(f"{path}: {error}") from None


def _values(held: Mapping[str, Any]) -> Configuration:
    written = held.get("triton-version", "")
    version = str(written)
    try:
        _ = version and release(version)
    except ValueError as error:
        # 24.10 without quotes is the number 24.1.
        raise ValueError(f"{error}, in quotes" if isinstance(written, float) else str(error)) from None
    markdown = held.get("markdown", False)
    if not isinstance(markdown, bool):
        raise TypeError("markdown is true or false")
    return Configuration(
        triton_version=version,
        scrape_seconds=float(parse_duration(str(held.get("scrape-interval", "15s")))),
        select=known_ids(_texts(held, "select")),
        ignore=known_ids(_texts(held, "ignore")),
        exclude=_texts(held, "exclude"),
        markdown=markdown,
    )


def _texts(held: Mapping[str, Any], key: str) -> tuple[str, ...]:
    found = held.get(key, [])
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise TypeError(f"{key} is a list of texts")
    return tuple(found)


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
    wanted = SUFFIXES | MARKUP if markdown else SUFFIXES
    patterns, seen = tuple(exclude), set[str]()
    found = [_below(one, wanted, named=True) for one in whole]
    found += [_below(path, wanted) if path.is_dir() else iter([(path, True)]) for path in paths]
    for file, named in chain.from_iterable(found):
        real = os.path.realpath(file)
        if real in seen or any(fnmatch.fnmatch(str(file), pattern) for pattern in patterns):
            continue
        seen.add(real)
        yield file, named


def _below(folder: Path, wanted: frozenset[str], *, named: bool = False) -> Iterator[tuple[Path, bool]]:
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
            if not outside and file.exists():
                yield file, named
    # Read as if they were named, so that it is said why they cannot be.
    yield from ((Path(error.filename), True) for error in failed)
