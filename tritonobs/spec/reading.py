"""YAML text → `Source`. Every problem is a finding at its place; time and memory are bounded for any text.

Scalars stay the text their author wrote (only null is not): `99.9` is never a float, a version `1.10` stays
`1.10`, a team called `no` stays a name. What a field makes of its text is the schema's business.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NoReturn

import yaml
from yaml import events
from yaml.error import Mark
from yaml.reader import ReaderError

from tritonobs.findings import MOST_FINDINGS, Finding, Place, more_findings
from tritonobs.spec.source import Node, Source, Step
from tritonobs.spec.words import quoted

# The libyaml loader is ten times faster; a PyYAML built without it still works.
_Loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
# Each level is a call within a call: a hundred thousand brackets would end Python's stack.
MAX_DEPTH: Final = 64
NESTED: Final = f"more than {MAX_DEPTH} levels of nesting"
MAX_VALUES: Final = 200_000
"""Ten thousand models with twenty values each; a process that reads them stays below 300 MB."""
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_TAGS = frozenset(
    (None, "!", *(f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "map", "seq")))
)

_HINTS = {
    "mapping values are not allowed": "a text that contains a colon and a space needs quotes",
    "cannot start any token": "indent with spaces, not tabs; a text that begins with @, ` or % needs quotes",
    "could not find expected ':'": "every line of a mapping is `name: value`",
    "did not find expected key": "the lines of one mapping begin in the same column",
    "unexpected end of stream": "a quote is not closed",
    "expected ',' or": "a bracket is not closed",
}


class _Stopped(Exception):  # noqa: N818 (a finding was written down, and reading on makes no sense)
    """The document is unreadable from here on."""


def read_document(text: str, file: str) -> Source:
    """The one document of `text`; `findings` says what is wrong with it as YAML.

    Raises:
        yaml.YAMLError: the text is not YAML; `syntax_finding` says where and why.
    """
    reader = _Reader(file, _Loader(text))
    first = next(reader.documents(), None)
    if first is None:
        return Source(file=file, root=Node(line=1, column=1), findings=reader.findings)
    after = reader.next()
    if isinstance(after, events.DocumentStartEvent):
        reader.say(after, "a second document begins here; allowed is one document a file")
    return first


class _Reader:
    """One pass over the parser's events; depth and size are bounded, no alias is followed in a circle."""

    def __init__(self, file: str, loader: Any) -> None:  # noqa: ANN401 (PyYAML's two loaders share no type)
        self.file = file
        self.next = loader.get_event
        self.findings: list[Finding] = []
        self.anchors: dict[str, Node | None] = {}
        self.depth = self.values = self.unsaid = 0

    def documents(self) -> Iterator[Source]:
        """One document after the other, each with the findings so far; ends where one cannot be read."""
        self.next()
        start = self.next()
        if isinstance(start, events.StreamEndEvent):
            self.say(start, "the file is empty")
        while not isinstance(start, events.StreamEndEvent):
            self.anchors.clear()
            try:
                root = self.node(self.next())
            except _Stopped:
                return
            self.next()
            yield Source(file=self.file, root=root, findings=self.findings)
            start = self.next()

    def node(self, event: events.Event) -> Node:
        """The value that `event` begins, with everything below it."""
        if isinstance(event, events.AliasEvent):
            return self.alias(event)
        self.count(event, 1)
        line, column = _place(event)
        node = Node(line=line, column=column)
        tag, anchor = getattr(event, "tag", None), getattr(event, "anchor", None)
        if tag not in _TAGS:
            self.say(event, f"found the tag {quoted(tag or '')}; allowed are plain values without tags")
        if anchor:
            # No node yet: an alias of it that stands inside it is a circle.
            self.anchors[anchor] = None
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.stop(event, NESTED)
        if isinstance(event, events.ScalarEvent):
            # libyaml says "" for a plain scalar, PyYAML's own parser None.
            plain = event.style in (None, "")
            node.value = None if plain and event.value in _NULLS else event.value
        elif isinstance(event, events.SequenceStartEvent):
            self.sequence(node)
        else:
            self.mapping(node)
        self.depth -= 1
        if anchor:
            self.anchors[anchor] = node
        return node

    def sequence(self, node: Node) -> None:
        """The entries of a list."""
        node.value, node.children = [], {}
        while not isinstance(event := self.next(), events.SequenceEndEvent):
            below = self.node(event)
            node.children[len(node.value)] = below
            node.value.append(below.value)
            node.size += below.size

    def mapping(self, node: Node) -> None:
        """The entries of a mapping; entries merged with `<<` yield to those written out."""
        node.value, node.children, node.key_places = {}, {}, {}
        merged: list[Node] = []
        while not isinstance(event := self.next(), events.MappingEndEvent):
            key = self.key(event)
            below = self.node(self.next())
            # A quoted `<<` is a name like any other.
            if key == "<<" and getattr(event, "style", None) in (None, ""):
                merged += self.merged(event, below)
            elif key is not None:
                self.entry(node, event, key, below)
        # After all entries, because `<<` may stand before a field that wins over it.
        for other in merged:
            for step, below in other.children.items():
                if step not in node.children:
                    node.key_places[step] = other.key_places[step]
                    self.put(node, step, below)

    def key(self, event: events.Event) -> str | None:
        """The text of a key, or None after saying that it is none."""
        if isinstance(event, events.ScalarEvent):
            return str(event.value)
        found = self.node(event)
        if isinstance(found.value, str):
            return found.value
        self.say(event, "found a list or a mapping as a name; allowed is text")
        return None

    def entry(self, node: Node, event: events.Event, key: str, below: Node) -> None:
        """One written entry; a name written twice keeps its first value and is a finding."""
        if key in node.children:
            line, column = node.key_places[key]
            self.say(event, f"{quoted(key)} is written twice; first at line {line}, column {column}")
            return
        node.key_places[key] = _place(event)
        self.put(node, key, below)

    def put(self, node: Node, step: Step, below: Node) -> None:
        """Add an entry to a mapping."""
        node.children[step] = below
        node.value[step] = below.value
        node.size += below.size

    def merged(self, event: events.Event, below: Node) -> list[Node]:
        """The mappings that `<<` brings in, most important first."""
        parts = list(below.children.values()) if isinstance(below.value, list) else [below]
        if all(isinstance(part.value, dict) for part in parts):
            return parts
        self.say(event, "`<<` merges what is not a mapping; allowed are aliases of mappings")
        return []

    def alias(self, event: events.AliasEvent) -> Node:
        """What the anchor of that name holds."""
        name = str(event.anchor)
        if name not in self.anchors:
            self.stop(event, f"the alias *{name} has no anchor &{name} before it")
        node = self.anchors[name]
        if node is None:
            self.stop(event, f"the alias *{name} stands inside its own anchor")
        self.count(event, node.size)
        return node

    def count(self, event: events.Event, more: int) -> None:
        """Give up on a document whose values are too many, each alias written out."""
        self.values += more
        if self.values > MAX_VALUES:
            self.stop(event, f"more than {MAX_VALUES} values with every alias written out")

    def say(self, event: events.Event, message: str) -> None:
        """Write a finding down and go on; of very many only their number."""
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(self.finding(event, message))
            return
        self.unsaid += 1
        first = self.findings[-1].place if self.unsaid > 1 else self.finding(event, message).place
        self.findings[MOST_FINDINGS:] = [more_findings(first, self.unsaid)]

    def stop(self, event: events.Event, message: str) -> NoReturn:
        """Write a finding down and give up on the document."""
        self.findings.append(self.finding(event, message))
        raise _Stopped

    def finding(self, event: events.Event, message: str) -> Finding:
        """The message at the place of the event."""
        line, column = _place(event)
        return Finding(place=Place(file=self.file, line=line, column=column), path="", message=message)


def _place(event: events.Event) -> tuple[int, int]:
    """Line and column, counted from 1."""
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (0, 0)


def syntax_finding(error: yaml.YAMLError, text: str, file: str) -> Finding:
    """The parser's complaint at its place, with a hint for the usual causes."""
    if isinstance(error, ReaderError):
        return Finding(
            place=_offset(text, error.position, file), path="", message=f"not YAML: {error.reason}"
        )
    problem = str(getattr(error, "problem", None) or error)
    context = getattr(error, "context", None)
    mark: Mark | None = getattr(error, "problem_mark", None)
    place = Place(file=file, line=mark.line + 1, column=mark.column + 1) if mark else Place(file=file)
    if "maximum nesting depth" in problem:
        # libyaml 0.2.6 looks ahead, and refuses a thousand levels before our reader has counted the 65th.
        return Finding(place=place, path="", message=NESTED)
    begun: Mark | None = getattr(error, "context_mark", None)
    apart = context and begun and mark and begun.line != mark.line
    since = f", {context} that begins in line {begun.line + 1}" if begun and apart else ""
    hint = next((hint for part, hint in _HINTS.items() if part in problem), "")
    return Finding(place=place, path="", message=f"not YAML: {problem}{since}", hint=hint)


def decode(data: bytes, file: str) -> tuple[str, list[Finding]]:
    """The UTF-8 text of a file, or a finding at the first byte that is none."""
    try:
        # Without `-sig` a byte order mark, which some editors write, would be part of the first name.
        return data.decode("utf-8-sig"), []
    except UnicodeDecodeError as error:
        place = _offset(data[: error.start].decode("utf-8-sig"), -1, file)
        return "", [
            Finding(place=place, path="", message=f"byte 0x{data[error.start]:02x} is not UTF-8 text")
        ]


def _offset(text: str, position: int, file: str) -> Place:
    before = text if position < 0 else text[:position]
    return Place(file=file, line=before.count("\n") + 1, column=len(before) - (before.rfind("\n") + 1) + 1)
