"""The one shape of "something is wrong": where, what, how bad, and what to write or do instead."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Severity(enum.IntEnum):
    """How bad a finding is; later means worse."""

    INFO = 0
    WARNING = 1
    ERROR = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where in which file; lines and columns count from 1, 0 means the file as a whole."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """`fleet.yaml:12:5`, the form editors and terminals can follow."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing wrong.

    `path` is the field (`models.inspect.qps_limit`), `message` says what was found and what is allowed, and
    `hint` what to write instead, or nothing.
    """

    place: Place
    path: str
    message: str
    hint: str = ""
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        """One line: place, field, message, hint."""
        field = f"{self.path}: " if self.path else ""
        return f"{self.place}: {field}{self.message}" + (f" ({self.hint})" if self.hint else "")
