"""What a test needs of extensions: a test of a command goes with the extension that brings the command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tritonobs import registry

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

BROUGHT: Final = {
    **dict.fromkeys(("demo", "down", "drill", "load", "status", "tools", "up"), "lab"),
    **dict.fromkeys(("limits backtest", "limits suggest"), "history"),
    "discover": "discover",
    "incidents": "incidents",
    "lint": "lint",
    "mcp": "mcp",
    "snapshot": "picture",
    "traces": "traces",
    "triage": "triage",
}
"""The extension of each command that the heart has not."""
_PARAMETERS: Final = ("command", "arguments")
"""What tests call the words of a command line."""


def lacks(item: pytest.Item) -> bool:
    """Whether an extension is gone that the test needs, by its mark or by the command that it is about."""
    needed = {str(name) for mark in item.iter_markers("needs") for name in mark.args}
    parameters = getattr(item, "callspec", None)
    for name in _PARAMETERS if parameters else ():
        words = parameters.params.get(name, ())
        needed |= extensions_of(words if isinstance(words, tuple) else ())
    return not needed <= {*registry.NAMES}


def extensions_of(words: Sequence[object]) -> set[str]:
    """The extensions that bring the command of a command line."""
    begun = {" ".join(map(str, words[:length])) for length in (1, 2)}
    return {BROUGHT[one] for one in begun if one in BROUGHT}
