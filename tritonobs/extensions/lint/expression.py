"""An expression as people have it: its text and place, what it is for, and what surrounds it.

A comment silences a check, with its reason: `# tritonobs: ignore=raw-counter because …`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Final, Literal

from tritonobs.extensions.lint.located import Located, Source
from tritonobs.extensions.lint.tree import MAX_CHARACTERS, Node, Unparsed, parse
from tritonobs.units import parse_duration

_BEFORE, _NEAR = 500, 40
"""Characters before a variable that say what it means: a list of labels, and a single word."""
Use = Literal["alert", "record", "panel", "variable", "scaler", "hpa", "plain"]

_STANDS_IN: Final = re.compile("v{2,}")
_VARIABLE = re.compile(r"\$\{[^}]*\}|\$\w+|\[\[\w+(?::\w+)?\]\]")
_NAMES: Final = re.compile(r"\$\{?|\[\[|[:}\]].*")
_BEFORE_LABELS = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^()]*$")
_COMMENT = re.compile(
    r"(?:#|//)\s*tritonobs:\s*ignore(?P<file>-file)?=(?P<ids>[\w*-]+(?:,[\w*-]+)*)"
    r"[ \t]*(?:because\b)?(?P<reason>[^\n\"\\]*)"
)


def seconds_of(written: str, otherwise: float = math.inf) -> float:
    """A duration of a rule or a group in seconds; `otherwise` where there is none."""
    try:
        return float(parse_duration(written))
    except ValueError:
        return otherwise


@dataclass(frozen=True, kw_only=True)
class Expression:
    """One expression of a file.

    `name` is the alert, record, panel or scaler it stands in. `unit` is a panel's unit as Grafana calls it,
    `words` all text beside the expression (summary, description, title), `limits` what a scaler or the
    colours of a panel compare with, `settings` the other fields of a scaler. `begin` is the first line of
    what it is in, if that is not its own.
    """

    text: Located
    use: Use
    name: str = ""
    unit: str = ""
    unit_text: Located | None = None
    words: str = ""
    limits: tuple[float, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    begin: int = 0
    grafana: bool = False

    @cached_property
    def plain(self) -> str:
        """The text with each variable of Grafana replaced by something of the same length."""
        # A longer one is not parsed.
        known = self.grafana and len(self.text) <= MAX_CHARACTERS
        return substituted(self.text) if known else str(self.text)

    @cached_property
    def tree(self) -> Node:
        """The tree.

        Raises:
            Unparsed: it does not parse with any value of its variables.
        """
        try:
            return parse(self.plain)
        except Unparsed as error:
            # A variable for a number, or for an operator, looks like a name.
            guesses = ("number", "operator") if self.grafana and self.plain != self.text else ()
            for instead in guesses:
                with suppress(Unparsed):
                    return parse(substituted(self.text, instead=instead))
            raise error from None


def substituted(text: str, *, instead: str = "") -> str:
    """The expression with Grafana's variables replaced, so that every character keeps its place.

    A variable becomes a text in quotes, a duration in brackets, and else a name, or a number or an operator
    if `instead` says so.
    """
    made: list[str] = []
    depth, at, quote, before = 0, 0, "", ""
    for found in _VARIABLE.finditer(text):
        between = text[at : found.start()]
        for character in between:
            quote = ("" if character == quote else quote) if quote else character * (character in "\"'`")
            if not quote:
                depth += (character == "[") - (character == "]")
        made.append(between)
        before, after = (before + between)[-_BEFORE:], text[found.end() : found.end() + _BEFORE]
        if quote:
            made.append("v" * len(found[0]))
        elif depth > 0 or re.search(r"\boffset\s*$", before[-_NEAR:]):
            made.append(_duration(found[0], after))
        else:
            made.append(_word(found[0], before, after, instead))
        before, at = before + made[-1], found.end()
    made.append(text[at:])
    return "".join(made)


def is_variable(label: str) -> bool:
    """Whether a label that is grouped by was a variable of Grafana, in an expression made plain."""
    return _STANDS_IN.fullmatch(label) is not None


def variable_at(text: str, start: int, end: int) -> str:
    """The name of the variable that stands between two places, or nothing."""
    found = _VARIABLE.search(text, start, end)
    return _NAMES.sub("", found[0]) if found else ""


def _duration(written: str, after: str) -> str:
    # A number before a unit, as in `[${__range_s}s]`.
    return "60".rjust(len(written), "0") if re.match(r"(ms|[smhdwy])\b", after) else "5m".ljust(len(written))


def _word(written: str, before: str, after: str, instead: str) -> str:
    width, name = len(written), _NAMES.sub("", written)
    # Part of a name, or a label that is grouped by.
    if re.match(r"[\w:]", before[-1:]) or re.match(r"[\w:]", after) or _BEFORE_LABELS.search(before):
        made = "v" * width
    elif re.match(r"\s*\(", after) and width >= len("sum"):
        made = "sum"
    elif instead == "number" or (name.startswith("__") and name.endswith(("_ms", "_s"))):
        made = "1"
    elif instead == "operator" and not re.match(r"\s*[{\[]", after):
        made = ">"
    else:
        made = "v" * width
    return made.ljust(width)


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
