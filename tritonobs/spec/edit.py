"""Change one field of a YAML text and nothing else: comments, order, quotes and spaces stay.

A library that loads and dumps lays out the whole file again; a change of one number has to be a change of one
line in review. So the new text is put in at the place the parser reports, and read back to prove it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import yaml

from tritonobs.spec.reading import read_document
from tritonobs.spec.words import dotted

_Loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def set_field(text: str, path: Sequence[str], field: str, value: str) -> str:
    """The text with `field` of the mapping at `path` set to `value`, a YAML value on one line.

    The text must have been read without findings. The field may be missing, and so may the last mappings of
    `path`; their names are then written as they are.

    Raises:
        ValueError: more than this field would change, because an anchor or `<<` shares the place.
    """
    held = _held(read_document(text, "").value(), path)
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


def _held(document: object, path: Sequence[str]) -> int:
    """How many steps of `path` the document has."""
    for depth, step in enumerate(path):
        if not isinstance(document, dict) or step not in document:
            return depth
        document = document[step]
    return len(path)


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
