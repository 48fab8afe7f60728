"""A command with commands of its own, whose list is readable."""

from __future__ import annotations

import click


class Group(click.Group):
    """A group that shows the whole first sentence of each command: click cuts it off at the right margin."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, with lines that break where the terminal ends."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, command.get_short_help_str(limit=200)) for name, command in found if command]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
