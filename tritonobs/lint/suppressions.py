"""Comments that silence a check, with their reason: `# tritonobs: ignore=raw-counter because …`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tritonobs.lint.expression import Expression

_COMMENT = re.compile(
    r"#\s*tritonobs:\s*ignore(?P<file>-file)?=(?P<ids>[\w*-]+(?:,[\w*-]+)*)"
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
    if "tritonobs:" not in source.text:
        return ()
    first = text.place()[0]
    found = [*_in(text, first), *_in(expression.settings.get("described", ""), first)]
    # A file of JSON may be a single line, and has comments only within its texts.
    if not source.text.lstrip().startswith(("{", "[")):
        begin = min(expression.begin or first, first)
        while source.line(begin - 1).lstrip().startswith("#"):
            begin -= 1
        for number in range(begin, text.place(len(text))[0] + 1):
            found += _in(source.line(number), number)
    for one in _COMMENT.finditer(source.text):
        if one["file"]:
            found.append(_made(one, source.place(one.start())[0]))
    unlike = {(one.line, one.ids): one for one in found}
    return tuple(unlike.values())


def suppressed(name: str, silent: Iterable[Suppression]) -> bool:
    """Whether a check is silent; a comment without a reason silences nothing."""
    return any(one.reason and (name in one.ids or "*" in one.ids) for one in silent)


def _in(text: str, line: int) -> Iterator[Suppression]:
    return (_made(one, line) for one in _COMMENT.finditer(text) if not one["file"])


def _made(one: re.Match[str], line: int) -> Suppression:
    return Suppression(ids=frozenset(one["ids"].split(",")), reason=one["reason"].strip(" :-'\n"), line=line)
