"""The extensions, and the one interface by which the heart uses them.

An extension is a folder in `tritonobs/extensions`. Its `__init__.py` holds `EXTENSION`, which names functions
as text (`module:name`), so that no module loads before it is used. To take an extension out, delete its
folder, its tests and its line in `NAMES`; where it brings rules or rows of boards, also
`rules/extensions/NAME`, its line in `extensions.libsonnet` there, `dashboards/extensions/NAME.py` and the
runbooks of its alerts. `tools/without.py` does it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

NAMES: Final[tuple[str, ...]] = (
    "discover",
    "history",
    "incidents",
    "kubernetes",
    "lab",
    "lint",
    "mcp",
    "nightingale",
    "picture",
    "traces",
    "triage",
)


HEADINGS: Final = ("Configure", "On call", "Practice")
"""The headings of --help, in its order."""
_UNDER: Final = (*HEADINGS, "limits")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command of the command line, by its place.

    `under` is a heading of --help (`Configure`, `On call`, `Practice`) or a command of the heart that has
    commands below it (`limits`). Below a heading, commands are listed by `order`.

    Raises:
        ValueError: `under` is anything else; such a command would not be in --help, nor found by its name.
    """

    under: str
    name: str
    help: str
    at: str
    order: int

    def __post_init__(self) -> None:
        """Refuse a place that no list of commands reads."""
        if self.under not in _UNDER:
            raise ValueError(
                f"command {self.name}: found under={self.under!r}; allowed are {', '.join(_UNDER)}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A value of `build --target`. Its function makes artifacts of a plan and the path of its fleet file."""

    name: str
    help: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """What an extension adds. Every field has a reader in the heart; an empty one adds nothing."""

    summary: str
    commands: tuple[Command, ...] = ()
    targets: tuple[Target, ...] = ()
    artifacts: str = ""
    """A function that gives more artifacts to the target `files`; its arguments are those of a target."""
    serve: str = ""
    """A function of the plan and the supervisor that gives a `tritonobs.serve.parts.Part`."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """What other parts may ask, by the name in `tritonobs.registry.QUESTIONS`."""
    extras: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Modules of others that it needs, by the extra of the package that installs them."""


QUESTIONS: Final = {
    "readings": "the readings of a file of `triage --save`, as timings and their seconds",
    "verdict": "what is wrong in a span of time, compared with one before",
    "follows": "whether a cause of one check may follow from a cause of another",
    "pictures": "panels of boards as SVG, of some models and a span of time",
    "slowest": "lines about the slowest traced requests to models",
    "running": "the stack that runs in this folder: addresses of its parts, and its fleet file",
    "driven": "what a replica does at rising rates of load",
}
"""What one extension may ask of another, or the heart of any. Without an answer, the asker goes without."""


@cache
def extensions() -> Mapping[str, Extension]:
    """Every extension by its name, in the order of `NAMES`."""
    return {name: importlib.import_module(f"tritonobs.extensions.{name}").EXTENSION for name in NAMES}


def resolved(at: str) -> Any:  # noqa: ANN401 (the caller knows what it asked for)
    """What `module:name` names."""
    module, _, name = at.partition(":")
    return getattr(importlib.import_module(module), name)


def answer(question: str) -> Any:  # noqa: ANN401 (the asker says what it expects)
    """The function that answers a question of `QUESTIONS`; None where no extension does."""
    assert question in QUESTIONS  # noqa: S101 (a slip of the caller)
    at = next((one.answers[question] for one in extensions().values() if question in one.answers), "")
    return resolved(at) if at else None


def commands(under: str) -> Iterator[Command]:
    """The commands below a heading of --help, or below a command of the heart."""
    for one in extensions().values():
        yield from (command for command in one.commands if command.under == under)
