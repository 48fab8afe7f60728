"""Runbooks and pages of checks, as the installation has them."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any, Final

from tritonobs import assets
from tritonobs.extensions.mcp.ask import Unanswered
from tritonobs.extensions.mcp.marking import plain

KINDS: Final = ("runbooks", "checks")
_NAME = re.compile(r"[A-Za-z_]{1,64}")
_INDEX: Final = "README"
_CHINESE: Final = "\n## 中文\n"
_MOST_NEAR: Final = 3


def manual(name: str, language: str = "en") -> dict[str, Any]:
    """A page by the name of its alert or check; without a name, the list of all.

    Raises:
        Unanswered: there is no such page; the text has those of similar names.
    """
    if not name:
        lines = [f"{kind}: {', '.join(names(kind))}" for kind in KINDS]
        return {"name": _INDEX, "kind": "list", "language": "en", "paragraphs": lines}
    for kind in KINDS:
        if name in names(kind):
            text = page(kind, name)
            english, _, chinese = text.partition(_CHINESE)
            title = english.partition("\n")[0]
            chosen, said = (
                (f"{title}\n\n{chinese}", "zh") if language == "zh" and chinese else (english, "en")
            )
            paragraphs = [plain_lines(one) for one in re.split(r"\n\s*\n", chosen.strip())]
            return {"name": name, "kind": kind, "language": said, "paragraphs": paragraphs}
    there = [one for kind in KINDS for one in names(kind)]
    near = difflib.get_close_matches(name, there, n=_MOST_NEAR, cutoff=0.4)
    hint = f"; there is {', '.join(near)}" if near else "; call it without a name for the list"
    raise Unanswered(f"there is no page {plain(name)!r}{hint}")


def names(kind: str) -> tuple[str, ...]:
    """All pages of `runbooks` or `checks`, in the order of the alphabet."""
    return tuple(sorted(path.stem for path in folder(kind).glob("*.md") if path.stem != _INDEX))


def page(kind: str, name: str) -> str:
    """A page in Markdown, both languages.

    Raises:
        Unanswered: no page has this name.
    """
    if not _NAME.fullmatch(name) or not (folder(kind) / f"{name}.md").is_file():
        raise Unanswered(f"there is no page {plain(name)!r} in {kind}")
    return (folder(kind) / f"{name}.md").read_text(encoding="utf-8")


def folder(kind: str) -> Path:
    """Where the pages are."""
    return assets.folder(kind)


def plain_lines(text: str) -> str:
    """A paragraph; its ends of lines stay."""
    return "\n".join(plain(line) for line in text.split("\n"))
