"""The notes of a release, cut from the changelog."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from forge import absolute

UNRELEASED: Final = "Unreleased"
_HEADING = re.compile(r"^## \[([^\]]+)\](?: - (\d{4}-\d{2}-\d{2}))?[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What the changelog says of one version: the line of its heading, its date or "", and its text."""

    line: int
    date: str
    text: str


def sections(changelog: str) -> dict[str, Section]:
    """The sections by version, in their order; `Unreleased` is one of them."""
    headings = list(_HEADING.finditer(changelog))
    ends = [*(heading.start() for heading in headings), len(changelog)][1:]
    return {
        heading[1]: Section(
            line=changelog.count("\n", 0, heading.start()) + 1,
            date=heading[2] or "",
            text=changelog[heading.end() : end].strip(),
        )
        for heading, end in zip(headings, ends, strict=True)
    }


def notes(changelog: str, version: str, forge: str) -> str:
    """What changed in `version`, in Markdown; links lead to the files as they were when it was tagged.

    Raises:
        KeyError: the changelog has no such version.
    """
    section = sections(changelog)[version]
    return f"# tritonobs {version}\n\n{absolute(section.text, forge, ref=f'v{version}')}\n"
