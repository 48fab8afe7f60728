"""YAML text → `Source`. Every problem is a finding at its place; time and memory are bounded for any text.

Scalars stay the text their author wrote (only null is not): `99.9` is never a float, a version `1.10` stays
`1.10`, a team called `no` stays a name. What a field makes of its text is the schema's business.

Besides, one field of a text is changed and nothing else: comments, order, quotes and spaces stay. A library
that loads and dumps lays out the whole file again; a change of one number has to be a change of one line in
review.
So the new text is put in at the place the parser reports, and read back to prove it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, NoReturn

import yaml
from yaml import events
from yaml.error import Mark
from yaml.reader import ReaderError

from tritonobs.findings import (
    MOST_FINDINGS,
    Finding,
    Node,
    Place,
    Source,
    Step,
    dotted,
    more_findings,
    quoted,
)

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


class _Stopped(Exception):
    """The document is unreadable from here on."""


def read_document(text: str, file: str) -> Source:
    """The one document of `text`; `findings` says what is wrong with it as YAML.

    Raises:
        yaml.YAMLError: the text is not YAML; `syntax_finding` says where and why.
    """
    reader = _Reader(file, _Loader(text))
    root = reader.document() or Node(line=1, column=1)
    return Source(file=file, root=root, findings=reader.findings)


class _Reader:
    """One pass over the parser's events; depth and size are bounded, no alias is followed in a circle."""

    def __init__(self, file: str, loader: Any) -> None:  # noqa: ANN401 (PyYAML's two loaders share no type)
        self.file = file
        self.next = loader.get_event
        self.findings: list[Finding] = []
        self.anchors: dict[str, Node | None] = {}
        self.depth = self.values = self.unsaid = 0

    def document(self) -> Node | None:
        """The one document, or None where there is none that can be read."""
        self.next()
        start = self.next()
        if isinstance(start, events.StreamEndEvent):
            self.say(start, "the file is empty")
            return None
        try:
            root = self.node(self.next())
        except _Stopped:
            return None
        self.next()
        after = self.next()
        if isinstance(after, events.DocumentStartEvent):
            self.say(after, "a second document begins here; allowed is one document a file")
        return root

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


def set_field(text: str, path: Sequence[str], field: str, value: str) -> str:
    """The text with `field` of the mapping at `path` set to `value`, a YAML value on one line.

    The text must have been read without findings. The field may be missing, and so may the last mappings of
    `path`; their names are then written as they are.

    Raises:
        ValueError: more than this field would change, because an anchor or `<<` shares the place.
    """
    held = len(read_document(text, "").written(path))
    for step in reversed(path[held:]):
        field, value = step, f"{{{field}: {value}}}"
    path = path[:held]
    mapping, at = _find(text, path)
    # `m:` and `m: ~` hold no mapping yet.
    if not isinstance(mapping, yaml.MappingNode):
        changed = _put(text, at, mapping, f"{{{field}: {value}}}")
    elif written := [(name, node) for name, node in mapping.value if name.value == field]:
        changed = _put(text, _end(written[0][0]), written[0][1], value)
    else:
        changed = _added(text, mapping, f"{field}: {value}")
    return _proven(text, changed, (*path, field), read_document(value, "").value())


def append_entry(text: str, path: Sequence[str], field: str, value: str) -> str:
    """The text with `value`, a YAML value on one line, as the last entry of the list `field` of a mapping.

    Raises:
        ValueError: as for `set_field`.
    """
    mapping, _ = _find(text, path)
    entries = mapping.value if isinstance(mapping, yaml.MappingNode) else []
    written = [node for name, node in entries if name.value == field]
    if not written or not isinstance(written[0], yaml.SequenceNode):
        return set_field(text, path, field, f"[{value}]")
    before = read_document(text, "").value((*path, field))
    after = [*before, read_document(value, "").value()] if isinstance(before, list) else []
    entry = value if written[0].flow_style else f"- {value}"
    return _proven(text, _added(text, written[0], entry), (*path, field), after)


def _find(text: str, path: Sequence[str]) -> tuple[Any, int]:
    """The node at `path`, and where its key ends."""
    here: Any = yaml.compose(text, Loader=_Loader)
    at = 0
    for depth, step in enumerate(path):
        below = [(name, node) for name, node in here.value if name.value == step]
        # An alias gives the node of its anchor, which stands before this key.
        if not below or below[0][1].start_mark.index < _end(below[0][0]):
            shared = dotted(path[: depth + 1])
            raise ValueError(
                f"{shared} comes from an anchor elsewhere in the file; write it out to change it alone"
            )
        here, at = below[0][1], _end(below[0][0])
    return here, at


def _put(text: str, after: int, node: Any, value: str) -> str:  # noqa: ANN401 (PyYAML's nodes)
    """The text with the value in place of a node, which may be an empty one behind its key's colon."""
    start, end = int(node.start_mark.index), _end(node)
    if end <= start:
        start = end = text.index(":", after) + 1
        value = f" {value}"
    return text[:start] + value + text[end:]


def _added(text: str, collection: Any, entry: str) -> str:  # noqa: ANN401 (as above)
    """The text with one more entry at the end of a mapping or list, in its own style."""
    last = collection.value[-1] if collection.value else None
    end = _end(last[1] if isinstance(last, tuple) else last) if last else 0
    if isinstance(last, tuple):
        end = max(end, _end(last[0]))
    if collection.flow_style:
        at = end if last else int(collection.start_mark.index) + 1
        entry = f", {entry}" if last else entry
        return text[:at] + entry + text[at:]
    newline = "\r\n" if "\r\n" in text else "\n"
    line = " " * int(collection.start_mark.column) + entry
    # The text of a block (`|`) includes its newline, so `end` is the beginning of a line.
    if text[end - 1] == "\n":
        return text[:end] + line + newline + text[end:]
    # A comment behind the last value stays on its line.
    ending = text.find(newline, end)
    at = len(text) if ending < 0 else ending
    return text[:at] + newline + line + text[at:]


def _end(node: Any) -> int:  # noqa: ANN401 (as above)
    """Where a node's own text ends; a block's end mark lies behind the blank lines and comments after it."""
    if isinstance(node, yaml.ScalarNode) or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return max(_end(last[0]), _end(last[1])) if isinstance(last, tuple) else _end(last)


def _proven(before: str, after: str, path: Sequence[str], value: object) -> str:
    """`after`, read back: it says `value` at `path` and everything else as `before` did."""
    # Through JSON, because what an alias shares must not change along in the expectation.
    expected = json.loads(json.dumps(read_document(before, "").value()))
    here = expected
    for step in path[:-1]:
        here[step] = here[step] if here[step] is not None else {}
        here = here[step]
    here[path[-1]] = value
    try:
        source = read_document(after, "")
    except yaml.YAMLError:
        source = None
    if source is None or source.findings or source.value() != expected:
        raise ValueError(
            f"{dotted(path)} cannot be changed alone; an anchor or an unusual layout is in the way"
        )
    return after
