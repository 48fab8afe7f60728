"""Texts of alerts, which are templates of Prometheus, as Nightingale fills them.

Its functions have the names of Prometheus' and differ: `printf` takes one value and leaves a text with digits
in it as it is, values of alerts are texts, and `humanize…` take nothing but text. One wrong call, and the
whole text becomes an error. `pkg/tplx` has them.
"""

from __future__ import annotations

import re

from tritonobs.errors import RenderFailed

_TEXT = r'"(?:[^"\\]|\\.)*"'
_ACTION = re.compile(rf"\{{\{{((?:{_TEXT}|[^\"}}]|\}}(?!\}}))*)\}}\}}")
_FILLED = re.compile(rf"printf ({_TEXT})((?: \(print \$labels\.\w+\))+)")
_LABEL = re.compile(r"\$labels\.\w+")
_OF_NUMBER = re.compile(r"(?<![\w.\"$])(\d+(?:\.\d+)?) \| (humanize\w*)")
_OF_VALUE = re.compile(r"(?<![$\w])value \| (humanize\w*)")
_MOMENT = re.compile(r"\bhumanizeTimestamp\b")


def translated(text: str) -> str:
    """The text with every action in Nightingale's words; what is shown is the same.

    Raises:
        RenderFailed: a format that no label can be put into.
    """
    return _ACTION.sub(lambda found: f"{{{{{_action(found[1])}}}}}", text)


def _action(action: str) -> str:
    action = _FILLED.sub(lambda found: _filled(found[1], _LABEL.findall(found[2])), action)
    action = _OF_NUMBER.sub(r'"\1" | \2', action)
    action = _MOMENT.sub("toTime", action)
    return _OF_VALUE.sub(r"value | toString | \1", action)


def _filled(form: str, labels: list[str]) -> str:
    """A text with labels in it, each in quotes: JSON quotes a text as PromQL reads it."""
    parts = form[1:-1].split("%q")
    if len(parts) != len(labels) + 1 or "%" in "".join(parts):
        raise RenderFailed(f"Nightingale cannot fill {form} with {len(labels)} labels")
    words = [f'"{parts[0]}"']
    for label, part in zip(labels, parts[1:], strict=True):
        words += [f"(jsonMarshal {label})", f'"{part}"']
    return f"print {' '.join(words)}"
