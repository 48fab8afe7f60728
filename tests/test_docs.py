"""The documentation keeps up with the program."""

import re
from pathlib import Path

import click
import pytest

from tritonobs import cli

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def _commands(group, path=()):
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            yield from _commands(command, (*path, name))
        else:
            yield pytest.param(command, id=" ".join((*path, name)))


@pytest.mark.parametrize("command", list(_commands(cli.group)))
def test_every_command_says_what_it_does_and_shows_an_example(command):
    """Help text, a help text per option, and a line to copy."""
    assert command.help
    assert re.search(r"Example: tritonobs \w+", command.epilog or "")
    assert [
        param.name for param in command.params if isinstance(param, click.Option) and not param.help
    ] == []


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_is_in_the_readme(name):
    """The README's table of commands is whole."""
    assert f"`tritonobs {name}" in README


def test_every_link_in_the_docs_leads_somewhere():
    """Relative links of README and docs/ name files that exist."""
    dead = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
        for target in re.findall(r"\]\((?!https?://|#|mailto:)([^)#\s{]+)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]

    assert dead == []
