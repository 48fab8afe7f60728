"""`--help` of every command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest

from tritonobs.cli import COMMANDS, group

if TYPE_CHECKING:
    from collections.abc import Iterator


def _commands() -> Iterator[tuple[str, click.Command, click.Context]]:
    # click keeps the option of --help that it makes for the first context: the one that a user gets.
    outer = click.Context(group, info_name="tritonobs", terminal_width=80, **group.context_settings)
    for name in COMMANDS:
        command = group.get_command(outer, name)
        assert command is not None
        inner = click.Context(command, outer, name, terminal_width=80)
        yield name, command, inner
        for below, child in getattr(command, "commands", {}).items():
            yield f"{name} {below}", child, click.Context(child, inner, below, terminal_width=80)


@pytest.mark.parametrize(
    ("command", "context"),
    [pytest.param(command, context, id=name) for name, command, context in _commands()],
)
def test_help_is_whole_and_has_an_example(command: click.Command, context: click.Context) -> None:
    """At 80 columns: one line to copy, and no sentence that is cut off."""
    text = command.get_help(context)

    assert f"Example: {context.command_path}" in text
    assert [
        line for line in text.splitlines() if line.endswith("...") and not line.startswith("Usage:")
    ] == []
    assert max(map(len, text.splitlines())) <= 80
