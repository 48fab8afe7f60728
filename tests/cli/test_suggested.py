"""Every command that a message, a help text or a page suggests is one that the command line takes."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import click
import pytest

from tritonobs.cli import group

ROOT = Path(__file__).parent.parent.parent
HOLE = "FILLED_IN"
PROSE = ("tritonobs is ", "tritonobs fleet ")
"""How sentences and titles begin that suggest nothing."""
# What follows "run it with:" or "Example:", or stands in backticks or on a line of its own in a block.
SUGGESTED = re.compile(r"(?:: |`|^\$ |^    |^)(tritonobs [a-z][^`\n]*)", re.MULTILINE)
ENDS = re.compile(r" (?:&&|\|\|?|>>?|#) |;|  +| && |\)(?: |$)|[,.](?: |$)|…")


def _literals(path: Path) -> list[str]:
    """The texts of a module; what is filled in later is a word."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    filled = [node.values for node in nodes if isinstance(node, ast.JoinedStr)]
    parts = {id(part) for values in filled for part in values}
    found = [
        "".join(str(part.value) if isinstance(part, ast.Constant) else HOLE for part in values)
        for values in filled
    ]
    alone = (node for node in nodes if isinstance(node, ast.Constant) and id(node) not in parts)
    return found + [node.value for node in alone if isinstance(node.value, str)]


def _suggestions(text: str) -> set[str]:
    found = {ENDS.split(found)[0].strip() for found in SUGGESTED.findall(text)}
    return {one for one in found if not one.startswith(PROSE)}


def _blocks(text: str) -> str:
    """Only what is marked as code: prose may begin a sentence with the program's name."""
    fences = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
    return "\n".join([*fences, *(f"`{one}`" for one in re.findall(r"`(tritonobs [^`\n]+)`", text))])


def _everything() -> set[str]:
    sources = (text for path in (ROOT / "tritonobs").rglob("*.py") for text in _literals(path))
    pages = (
        path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    )
    found = {one for text in sources for one in _suggestions(text)}
    return found | {one for page in pages for one in _suggestions(_blocks(page))}


def _mistake(command: str) -> str:
    """What the command line has against it; values and files are not looked at."""
    try:
        words = shlex.split(command)[1:]
    except ValueError as error:
        return str(error)
    here: click.Command = group
    context = click.Context(group, info_name="tritonobs")
    while isinstance(here, click.Group) and words and not words[0].startswith("-"):
        below = here.get_command(context, words[0])
        if below is None:
            return f"there is no {words[0]}"
        here, context, words = below, click.Context(below, info_name=words[0], parent=context), words[1:]
    parser = here.make_parser(context)
    try:
        parser.parse_args([word for word in words if word not in {"...", "[...]"}])
    except click.UsageError as error:
        return error.format_message()
    return ""


FOUND = sorted(_everything())


def test_suggestions_are_found() -> None:
    """The search itself sees what it is for."""
    assert len(FOUND) > 40
    assert any(command.startswith("tritonobs limits set") for command in FOUND)


@pytest.mark.parametrize("command", FOUND)
def test_a_suggested_command_parses(command: str) -> None:
    """It names a command and options that there are."""
    assert _mistake(command) == ""


@pytest.mark.parametrize(
    ("command", "mistake"),
    [
        ("tritonobs trage", "there is no trage"),
        ("tritonobs limits fix", "there is no fix"),
        ("tritonobs up --detatch", "No such option"),
    ],
)
def test_a_wrong_suggestion_would_be_seen(command: str, mistake: str) -> None:
    """The check can fail."""
    assert mistake in _mistake(command)
