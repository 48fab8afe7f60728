"""The documentation keeps up with the program."""

import re
from functools import cache
from pathlib import Path

import click
import pytest

from tritonobs import cli
from tritonobs.spec.reference import json_schema

ROOT = Path(__file__).parent.parent
READMES = [ROOT / "README.md", ROOT / "README.zh.md"]
DOCS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
HAN = "[\u4e00-\u9fff]"


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


@pytest.mark.parametrize("readme", READMES, ids=lambda path: path.name)
def test_every_command_is_in_the_readme(readme):
    """The table of commands is whole, in English and in Chinese."""
    text = readme.read_text(encoding="utf-8")

    assert [name for name in cli.COMMANDS if f"`tritonobs {name}`" not in text] == []


def test_every_link_in_the_docs_leads_somewhere():
    """Relative links of the pages beside the package and of docs/ name files that exist."""
    dead = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in DOCS
        for target in re.findall(r"\]\((?!https?://|#|mailto:)([^)#\s{]+)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]

    assert dead == []


def test_every_page_is_in_the_table_of_contents():
    """A page that docs/index.md does not name is a page that no reader finds."""
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"}

    assert sorted(page for page in pages if f"({page}" not in index) == []


@cache
def _schema():
    return json_schema()


def _fields(node):
    """The fields that the JSON Schema allows at this place, with what it says of each."""
    if "$ref" in node:
        return _fields(_schema()["$defs"][node["$ref"].rpartition("/")[2]])
    found = dict(node.get("properties", {}))
    inside = [node[name] for name in ("items", "additionalProperties") if isinstance(node.get(name), dict)]
    for each in (*node.get("anyOf", ()), *node.get("oneOf", ()), *inside):
        found |= _fields(each)
    return found


def _unknown_fields(text):
    """Fields of the fleet file that the text names and that do not exist."""
    for name in re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)`", text):
        steps = name.split(".")
        # prometheus.yml and fleet.yaml are files.
        if steps[0] not in _fields(_schema()) or steps[-1] in ("jsonl", "yaml", "yml"):
            continue
        node = _schema()
        for step in steps:
            node = _fields(node).get(step)
            if node is None:
                yield name
                break


def test_every_field_that_the_docs_name_exists():
    """Of the fleet file, as people write it; the CHANGELOG names what is gone, too."""
    assert [
        f"{page.relative_to(ROOT)}: {name}"
        for page in DOCS
        if page.name != "CHANGELOG.md"
        for name in _unknown_fields(page.read_text(encoding="utf-8"))
    ] == []


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("`notify.timing`", ["notify.timing"]),
        ("`notify.auth`, `kubernetes.objects.board_labels`", []),
        ("`kubernetes.objects.no_such_field`", ["kubernetes.objects.no_such_field"]),
        ("`prometheus.yml`, `docker.io`", []),
    ],
)
def test_a_field_that_does_not_exist_is_found(text, unknown):
    """Fields of sections in sections, too; a file is not a field."""
    assert list(_unknown_fields(text)) == unknown


def _words_to_avoid():
    rows = re.findall(
        r"^\| ([^|]+) \| [^|]+ \|$", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    return [word.strip() for row in rows if row not in ("instead of", "---") for word in row.split(",")]


def _help(group, path=("tritonobs",)):
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        yield " ".join((*path, name)), command.get_help(click.Context(command, info_name=name))
        if isinstance(command, click.Group):
            yield from _help(command, (*path, name))


# Everything that people read: documents, and the text of the program, its rules and its boards.
TEXTS = {
    ROOT: "*.md",
    ROOT / "docs": "**/*.md",
    ROOT / "tritonobs": "**/*",
    ROOT / "rules": "**/*",
    ROOT / "dashboards": "**/*.py",
    ROOT / "models": "**/*",
    ROOT / "examples": "**/*",
    ROOT / "docker": "**/*",
}
SUFFIXES = {".c", ".html", ".jsonnet", ".libsonnet", ".md", ".pbtxt", ".py", ".sh", ".yaml", ".yml", ""}
# The table itself, and what was written before it.
LEFT_OUT = {"CONTRIBUTING.md", "CHANGELOG.md"}
# The name of a receiver, which users' configuration has.
NAMES_THAT_STAY = {("tritonobs/plan/notify.py", "nobody")}


def _prose(text):
    """The text in one line: without the marks of comments, and with adjacent string literals joined."""
    text = re.sub(r"^[ \t]*(?:#|//|\*)[ \t]?", "", text, flags=re.MULTILINE)
    return " ".join(re.sub(r"""(["'])\s*\n\s*f?\1""", "", text).split())


def _pattern(word):
    """`is no …` is an inverted sentence with any word; "there is no …" and "is no longer" are not."""
    if not word.endswith(" …"):
        return rf"\b{re.escape(word)}\b"
    return rf"(?<!\bthere )\b{re.escape(word.removesuffix(' …'))} (?!longer\b|more\b|one\b)\w+"


def _avoided(where, text, words):
    prose = _prose(text).lower()
    return [
        f"{where}: {word}"
        for word in words
        if (where, word) not in NAMES_THAT_STAY
        # The pattern alone would take seconds for all texts.
        if word.removesuffix("…") in prose and re.search(_pattern(word), prose)
    ]


def test_texts_for_people_avoid_the_words_that_contributing_replaces():
    """Documents, help texts, messages, comments, rules and boards."""
    paths = [
        path
        for folder, pattern in TEXTS.items()
        for path in folder.glob(pattern)
        if path.suffix in SUFFIXES and path.is_file() and path.name not in LEFT_OUT
    ]
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}
    texts |= dict(_help(cli.group))
    words = _words_to_avoid()

    assert {"README.md", "rules/config.libsonnet", "dashboards/panels.py", "tritonobs top"} <= texts.keys()
    assert [found for where, text in texts.items() for found in _avoided(where, text, words)] == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("It is held against the last hour.\n", id="a document"),
        pytest.param("    # A limit is held\n    # against the last hour.\n", id="a comment of two lines"),
        pytest.param("  // A limit is held\n  // against the last hour.\n", id="a comment of a rule"),
        pytest.param('help="A limit is held "\n    "against the last hour."', id="a text of two literals"),
        pytest.param('"""It is Held\n    against the last hour."""', id="a docstring"),
    ],
)
def test_a_word_to_avoid_is_found(text):
    """In each form of text; what only looks like it is not."""
    assert _avoided("here", text, _words_to_avoid()) == ["here: held against"]
    assert _avoided("here", text.replace("against", "up"), _words_to_avoid()) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("A queue that drains is no overload.", ["here: is no …"], id="turned round"),
        pytest.param("It is no longer there.", [], id="no longer"),
        pytest.param("Where there is no queue, nothing waits.", [], id="there is no"),
    ],
)
def test_a_sentence_that_is_turned_round_is_found(text, found):
    """`…` in the table is any word."""
    assert _avoided("here", text, _words_to_avoid()) == found


def test_chinese_has_full_width_punctuation():
    """No half-width mark stands beside a Chinese character, in documents, rules and messages."""
    files = [*DOCS, *(ROOT / "rules").rglob("*.libsonnet"), *(ROOT / "tritonobs").rglob("*.py")]
    half = re.compile(rf"{HAN}[,;:?!()]|[,;:?!()]{HAN}|{HAN}`[,;:]|[,;:]`(?={HAN})")

    assert [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in files
        for found in half.finditer(path.read_text(encoding="utf-8"))
    ] == []


PAGES = [
    *ROOT.glob("*.md"),
    *(page for page in (ROOT / "docs").rglob("*.md")),
]


def test_every_program_the_docs_name_exists():
    """A promise whose test was moved or taken out is no promise any more."""
    missing = [
        f"{page.relative_to(ROOT)}: {named}"
        for page in PAGES
        if page.name != "CHANGELOG.md"
        for named in re.findall(
            r"\b(?:tests|bench|tools|tritonobs)/[\w/]+\.(?:py|sh)\b", page.read_text("utf-8")
        )
        if not (ROOT / named).is_file()
    ]

    assert missing == []


def test_every_promise_about_security_names_its_test():
    """Each row of a table with a column for it, and each point of a list."""
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    tables = re.findall(r"^\|.*\| test \|\n\|[-| ]+\|\n((?:\|.*\n)+)", page, re.MULTILINE)
    rows = [row for table in tables for row in table.splitlines()]
    points = re.findall(r"^- (?:.*\n)(?:  .*\n)*", page.partition("## Alert labels")[2], re.MULTILINE)

    assert (len(tables), len(points)) == (3, 4)
    assert [one for one in (*rows, *points) if "`tests/" not in one] == []


ABBREVIATIONS = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|fig)\.(?=\s+[^A-Z])")


def _sentences(entry):
    """How many sentences the text of an entry has: code, addresses, numbers and abbreviations end none."""
    text = re.sub(r"^```.*?^```$", "code", entry, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = ABBREVIATIONS.sub("abbreviation", text)
    return len(re.findall(r"[.!?][)\]\"\u201d*]*(?=\s|$)", text.strip()))


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        pytest.param("It is one, at 0.5.0 and 4.1 of 21.6 s.\n", 1, id="numbers with dots"),
        pytest.param("Small counts, e.g. three, i.e. few, are one etc. and no more.", 1, id="abbreviations"),
        pytest.param("`a. b. c` and [a page](../a. b.md) are names.", 1, id="code and addresses"),
        pytest.param("One (in brackets). vmalert is two! Is this three?\nFour.", 4, id="marks"),
        pytest.param('It says "stop." Then it stops.\n\nA paragraph. `code` is one.', 4, id="quotes"),
    ],
)
def test_sentences_are_counted(text, sentences):
    """What the next test counts."""
    assert _sentences(text) == sentences


def test_a_decision_has_at_most_three_sentences():
    """What its page promises: what was decided, why, and what would change it."""
    page = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
    entries = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n)+)", page, re.MULTILINE))

    assert len(entries) == page.count("\n## ")
    assert [title for title, entry in entries.items() if not 1 <= _sentences(entry) <= 3] == []
