"""An expression as people have it: its text and place, what it is for, and what surrounds it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal

from tritonobs.extensions.lint.located import Located
from tritonobs.extensions.lint.tree import MAX_CHARACTERS, Node, Unparsed, parse

_BEFORE, _NEAR = 500, 40
"""Characters before a variable that say what it means: a list of labels, and a single word."""
Use = Literal["alert", "record", "panel", "variable", "scaler", "hpa", "plain"]

_VARIABLE = re.compile(r"\$\{[^}]*\}|\$\w+|\[\[\w+(?::\w+)?\]\]")
_NAMES: Final = re.compile(r"\$\{?|\[\[|[:}\]].*")
_BEFORE_LABELS = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^()]*$")


@dataclass(frozen=True, kw_only=True)
class Expression:
    """One expression of a file.

    `name` is the alert, record, panel or scaler it stands in. `unit` is a panel's unit as Grafana calls it,
    `words` all text beside the expression (summary, description, title), `limits` what a scaler or the
    colours of a panel compare with, `settings` the other fields of a scaler. `begin` is the first line of
    what it is in.
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
