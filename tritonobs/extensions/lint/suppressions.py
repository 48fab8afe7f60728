"""Comments that silence a check, with their reason: `# tritonobs: ignore=raw-counter because …`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from tritonobs.extensions.lint.expression import Expression
from tritonobs.extensions.lint.located import Source

_COMMENT = re.compile(
    r"(?:#|//)\s*tritonobs:\s*ignore(?P<file>-file)?=(?P<ids>[\w*-]+(?:,[\w*-]+)*)"
    r"[ \t]*(?:because\b)?(?P<reason>[^\n\"\\]*)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppression:
    """Ids that are silent here, why, and the line of the comment."""

    ids: frozenset[str]
    reason: str
    line: int


def suppressions(expression: Expression) -> tuple[Suppression, ...]:
    """The comments that hold for an expression.

    They stand in it, beside it from the first line of its rule to its last, in the comment above the rule, in
    the description of its panel, or anywhere in the file as `ignore-file`.
    """
    text, source = expression.text, expression.text.source
    if not (everywhere := _of_file(source)):
        return ()
    first = text.place()[0]
    found = [*_in(text, first), *_in(expression.settings.get("described", ""), first)]
    found += [made for made, whole_file in everywhere if whole_file]
    # A file of JSON may be a single line, and has comments only within its texts.
    if source.made or not source.text.lstrip().startswith(("{", "[")):
        begin = min(expression.begin or first, first)
        while source.line(begin - 1).lstrip().startswith(("#", "//")):
            begin -= 1
        end = text.place(len(text))[0]
        found += [made for made, whole_file in everywhere if not whole_file and begin <= made.line <= end]
    unlike = {(one.line, one.ids): one for one in found}
    return tuple(unlike.values())


def suppressed(name: str, silent: Iterable[Suppression]) -> bool:
    """Whether a check is silenced; a comment without a reason silences nothing."""
    return any(one.reason and (name in one.ids or "*" in one.ids) for one in silent)


@lru_cache(maxsize=16)
def _of_file(source: Source) -> tuple[tuple[Suppression, bool], ...]:
    """Every comment of a file, with whether it holds for all of it."""
    if "tritonobs:" not in source.text:
        return ()
    return tuple(
        (_made(one, source.place(one.start())[0]), bool(one["file"]))
        for one in _COMMENT.finditer(source.text)
    )


def _in(text: str, line: int) -> Iterator[Suppression]:
    return (_made(one, line) for one in _COMMENT.finditer(text) if not one["file"])


def _made(one: re.Match[str], line: int) -> Suppression:
    return Suppression(ids=frozenset(one["ids"].split(",")), reason=one["reason"].strip(" :-'\n"), line=line)
