"""docs/commands.md holds every command and option, as `--help` prints them."""

from __future__ import annotations

import inspect
import os
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from tritonobs.cli import GROUPS, group

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
WRITES = "TRITONOBS_GOLDEN=write pytest -q tests/cli/test_commands_page.py"
MARK = f"<!-- From here on made by: {WRITES} -->\n"
WIDTH = 120


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False)


def _options(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    """Names and help of each option that `--help` shows, as cells of a table."""
    for option in command.params:
        record = option.get_help_record(context)
        if isinstance(option, click.Option) and record is not None:
            names, meaning = (" ".join(text.replace("|", "\\|").split()) for text in record)
            yield names, meaning


def _section(path: tuple[str, ...], command: click.Command) -> Iterator[str]:
    """One command: what it does, how it is called, its options; then the commands below it."""
    words = " ".join(("tritonobs", *path))
    context = click.Context(command, info_name=words)
    yield f"### {words}\n"
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        yield f"{_wrapped(paragraph)}\n"
    example = (command.epilog or "").removeprefix("Example: ")
    yield f"```console\n$ {example}\n```\n"
    below = getattr(command, "commands", {})
    if not below:
        yield f"Usage: `{' '.join((words, *command.collect_usage_pieces(context)))}`\n"
    rows = [f"| `{names}` | {meaning} |" for names, meaning in _options(command, context)]
    if rows:
        yield "\n".join(("| option | meaning |", "|---|---|", *rows)) + "\n"
    for name in sorted(below):
        yield from _section((*path, name), below[name])


def _commands() -> str:
    """The part of the page below the mark."""
    context = click.Context(group, info_name="tritonobs")
    parts: list[str] = []
    for heading, names in GROUPS.items():
        if not names:
            continue
        parts.append(f"## {heading}\n")
        for name in names:
            command = group.get_command(context, name)
            assert command is not None
            parts.extend(_section((name,), command))
    return "\n".join(parts)


def test_the_page_holds_the_commands_as_they_are() -> None:
    """`TRITONOBS_GOLDEN=write` writes the sections below the mark from the help texts."""
    kept = PAGE.read_text(encoding="utf-8").split(MARK)[0]
    whole = f"{kept}{MARK}\n{_commands()}"
    if os.environ.get("TRITONOBS_GOLDEN") == "write":
        PAGE.write_text(whole, encoding="utf-8")

    assert PAGE.read_text(encoding="utf-8") == whole, f"{WRITES} writes docs/commands.md"


@pytest.mark.parametrize(
    "line",
    [
        "### tritonobs limits set",
        "| `--who TEXT` | The author, for the log. [default: USER@HOST] |",
        "| `-v, --verbose` | Log successes too. |",
    ],
)
def test_a_line_of_each_kind_is_in_the_sections(line: str) -> None:
    """A command of a group, an option with a default, an option with two names."""
    assert f"\n{line}\n" in _commands()
