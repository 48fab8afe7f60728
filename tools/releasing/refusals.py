"""Why no release may be made of a checkout: everything that is wrong with it, each with file and line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from forge import forge
from releasing.checkout import git, listed
from releasing.notes import UNRELEASED, sections
from tritonobs.findings import Finding, Place

VERSION_FILE: Final = "tritonobs/__init__.py"
SAID_ALSO: Final = {
    "docker/Dockerfile": re.compile(r"^ARG VERSION=(\S*)$", re.MULTILINE),
    "docs/kubernetes.md": re.compile(r"/tritonobs:(\d[\w.+-]*)"),
    "tests/e2e/kubernetes/test_page.py": re.compile(r"/tritonobs:(\d[\w.+-]*)"),
}
"""Where the version stands beside `VERSION_FILE`."""
_VERSION = re.compile(r'^__version__ = "(.*)"$', re.MULTILINE)
_ALLOWED = re.compile(r"\d+\.\d+\.\d+")
_CHANGELOG = "CHANGELOG.md"
_LINKING: Final = ("*.md", "*.py", "*.toml", "*.yml", "*.yaml", "docker/Dockerfile*", ":(exclude)tests")
# A host, an owner, and the name of the repository, which is the same on every forge.
_TO_A_FORGE = r"(?:https://|jb install )((?:[\w-]+\.)+[a-z]+/[\w.-]+/%s)(?![\w.-])"


def version_of(root: Path) -> str:
    """The version that the checkout says, or "" where it says none."""
    found = _VERSION.search(_text(root / VERSION_FILE))
    return found[1] if found else ""


def refusals(root: Path, tag: str = "") -> list[Finding]:
    """All that is wrong with a checkout; nothing if it may be released.

    `tag` is the tag that the release is made for, or "".

    Raises:
        CannotRelease: git is not here, or `root` is not a checkout.
    """
    return [
        *_versions(root, tag),
        *_changelog(root, version_of(root)),
        *strange_links(root),
        *_uncommitted(root),
    ]


def _versions(root: Path, tag: str) -> Iterator[Finding]:
    text = _text(root / VERSION_FILE)
    found = _VERSION.search(text)
    if not found:
        yield _finding(VERSION_FILE, 0, "says no version", 'write __version__ = "1.2.3"')
        return
    version, line = found[1], _line(text, found.start())
    if not _ALLOWED.fullmatch(version):
        yield _finding(
            VERSION_FILE, line, f"says version {version}", "allowed are three numbers, as in 1.2.3"
        )
    if tag and tag != f"v{version}":
        yield _finding(VERSION_FILE, line, f"says version {version}, and the tag is {tag}", f"tag v{version}")
    for file, pattern in SAID_ALSO.items():
        text = _text(root / file)
        said = list(pattern.finditer(text))
        if not said:
            yield _finding(file, 0, "says no version", f"write {version}")
        for one in said:
            if one[1] != version:
                place = _line(text, one.start(1))
                yield _finding(file, place, f"says version {one[1]}", f"{VERSION_FILE} says {version}")


def _changelog(root: Path, version: str) -> Iterator[Finding]:
    found = sections(_text(root / _CHANGELOG))
    coming, section = found.get(UNRELEASED), found.get(version)
    if coming and coming.text:
        yield _finding(_CHANGELOG, coming.line, "[Unreleased] has entries", "move them below the version")
    heading = f"## [{version}] - YYYY-MM-DD"
    if section is None:
        yield _finding(_CHANGELOG, 0, f"has no entry for {version}", f"write {heading}")
    elif not section.date:
        yield _finding(_CHANGELOG, section.line, f"[{version}] has no date", f"write {heading}")
    elif not section.text:
        yield _finding(_CHANGELOG, section.line, f"[{version}] is empty", "write what changed")


def strange_links(root: Path) -> Iterator[Finding]:
    """Links to the repository that lead to another forge than the one in pyproject.toml.

    Raises:
        CannotRelease: git is not here, or `root` is not a checkout.
    """
    bare = forge(root).removeprefix("https://")
    link = re.compile(_TO_A_FORGE % re.escape(bare.rpartition("/")[2]))
    for file in listed(root, *_LINKING):
        text = _text(root / file)
        for found in link.finditer(text):
            if found[1] != bare:
                place = _line(text, found.start())
                yield _finding(file, place, f"links to {found[1]}", f"forge in pyproject.toml is {bare}")


def _uncommitted(root: Path) -> Iterator[Finding]:
    for entry in git(root, "status", "--porcelain", "-z", "--no-renames").split("\0"):
        if entry:
            yield _finding(entry[3:], 0, "is not committed", "commit it, or remove it")


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _finding(file: str, line: int, message: str, hint: str) -> Finding:
    place = Place(file=file, line=line, column=1)
    return Finding(place=place, path="", message=message, hint=hint)
