"""Alertmanager's matchers, as text it reads back exactly (0.25 and the UTF-8 reader of newer ones alike)."""

from __future__ import annotations

import re
from collections.abc import Iterable

# What RE2 gives a meaning to; everything else stands for itself.
_META = re.compile(r"([\\.+*?()|\[\]{}^$])")


def matcher(label: str, values: Iterable[str]) -> str:
    """`label` has one of the values, of any characters."""
    several = tuple(values)
    if len(several) == 1:
        return f"{label}={quoted(several[0])}"
    pattern = "|".join(_META.sub(r"\\\1", value) for value in several)
    return f"{label}=~{quoted(pattern)}"


def quoted(text: str) -> str:
    """In double quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
