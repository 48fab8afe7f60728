"""What the schema refuses → findings: where, what was found, what is allowed, the nearest valid word."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

from pydantic import BaseModel

from tritonobs.findings import Finding
from tritonobs.spec.replicas import DISCOVERY, LIST
from tritonobs.spec.source import Source, Step
from tritonobs.spec.words import found, listed

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

_SECRETS = ("webhook", "secret", "token", "password", "credential")
# pydantic's mark of an error about a key: its place is the key's, not that of the value.
_KEY = "[key]"
_MARKS = frozenset((_KEY, LIST, DISCOVERY))
_SIZES = {
    "too_short": "is empty; allowed is at least one entry",
    "too_long": "has more than {most} entries, the most that is allowed",
    "string_too_short": 'found ""; allowed is a name',
    "string_too_long": "found {found}; allowed are at most {most} characters",
}
_ALLOWED = {
    "string_type": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "path_type": "the path of a file",
}


_ALERTMANAGER = "write it into your own alertmanager.yml, and name that file in notify.alertmanager_file"
# Fields of the release before, and what to write now.
_MOVED: dict[tuple[Step, ...], str] = {
    ("notify", "email"): _ALERTMANAGER,
    ("notify", "mail_server"): _ALERTMANAGER,
    ("notify", "wecom"): _ALERTMANAGER,
    ("notify", "mute_times"): _ALERTMANAGER,
    ("notify", "timing"): _ALERTMANAGER,
    ("notify", "alertmanager_version"): "leave it out; nothing depends on it any more",
    ("notify", "routes", "mute"): _ALERTMANAGER,
    ("notify", "routes", "go_on"): "write continue",
    ("openslo",): "write the SLOs under models or defaults",
}
_RENAMED: dict[Step, str] = {
    "latency_bounds": "write latency_buckets",
    "target": "write threshold",
    "promised": "write none in place of the SLO",
}


def schema_finding(error: ErrorDetails, source: Source, schema: type[BaseModel]) -> Finding:
    """One of pydantic's errors in our words, at its place in the file."""
    path = tuple(step for step in error["loc"] if step not in _MARKS)
    kind, value = error["type"], error["input"]
    if kind == "extra_forbidden":
        allowed = tuple(_fields(schema, path[:-1]))
        moved = _MOVED.get(_without_positions(path)) or _RENAMED.get(path[-1])
        hint = moved or source.guess(str(path[-1]), allowed)
        return source.finding(path, f"unknown field; allowed are {listed(allowed)}", hint=hint, key=True)
    if kind == "missing":
        description = _description(schema, path)
        return source.finding(path, "is missing", hint=description, key=True)
    written = source.written(path)
    if kind == "literal_error":
        words = _words(error)
        message = f"found {_shown(path, value)}; allowed {'are' if len(words) > 1 else 'is'} {listed(words)}"
        return source.finding(written, message, hint=source.guess(str(value), words))
    return source.finding(written, _message(error, path, schema), key=_KEY in error["loc"])


def _without_positions(path: Sequence[Step]) -> tuple[Step, ...]:
    return tuple(step for step in path if not isinstance(step, int))


def _message(error: ErrorDetails, path: Sequence[Step], schema: type[BaseModel]) -> str:
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        fields = _fields(schema, path)
        allowed = f"a mapping with {listed(fields)}" if fields else "a mapping"
        return f"found {_shown(path, value)}; allowed is {allowed}"
    if kind in _SIZES:
        return _SIZES[kind].format(most=context.get("max_length"), found=_shown(path, value))
    if kind in _ALLOWED:
        return f"found {_shown(path, value)}; allowed is {_ALLOWED[kind]}"
    if kind == "string_pattern_mismatch":
        return f"found {_shown(path, value)}; allowed is text that matches {context['pattern']}"
    return f"found {_shown(path, value)}; {error['msg'].removeprefix('Input ')}"


def _shown(path: Sequence[Step], value: object) -> str:
    """The value as found, unless the field's name says that it may be a secret."""
    name = str(path[-1]).lower() if path else ""
    secret = isinstance(value, str) and any(word in name or word in value.lower() for word in _SECRETS)
    return "a text (not shown, it may be a secret)" if secret else found(value)


def _words(error: ErrorDetails) -> list[str]:
    # pydantic's error holds the allowed words only as one text: `'a', 'b' or 'c'`.
    expected = str(error.get("ctx", {}).get("expected", ""))
    return [word.strip("' ") for word in expected.replace(" or ", ", ").split(", ")]


def _fields(schema: type[BaseModel], path: Sequence[Step]) -> list[str]:
    """The fields allowed in the mapping at `path`."""
    at = _type_at(schema, path)
    return list(_named(at)) if isinstance(at, type) and issubclass(at, BaseModel) else []


def _named(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a model by the names their authors write."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _description(schema: type[BaseModel], path: Sequence[Step]) -> str:
    parent = _type_at(schema, path[:-1])
    field = (
        _named(parent).get(str(path[-1]))
        if isinstance(parent, type) and issubclass(parent, BaseModel)
        else None
    )
    return ((field.description if field else "") or "").rstrip(".")


def _type_at(schema: Any, path: Sequence[Step]) -> Any:  # noqa: ANN401 (an annotation can be any value)
    """The annotation of the value at `path`."""
    at = _bare(schema)
    for position, step in enumerate(path):
        if isinstance(at, type) and issubclass(at, BaseModel):
            field = _named(at).get(str(step))
            positions = position + 1 < len(path) and isinstance(path[position + 1], int)
            at = _bare(field.annotation, positions=positions) if field else None
        elif get_origin(at) in (dict, tuple, list):
            at = _bare(get_args(at)[1 if get_origin(at) is dict else 0])
        else:
            return None
    return at


def _bare(annotation: Any, *, positions: bool = False) -> Any:  # noqa: ANN401 (as above)
    """Without `Annotated[…]` and `| None`; of a list or a mapping the list, if `positions` follow."""
    while True:
        if hasattr(annotation, "__metadata__"):
            annotation = annotation.__origin__
        elif get_origin(annotation) in (Union, types.UnionType):
            parts = [part for part in get_args(annotation) if part is not types.NoneType]
            annotation = parts[0] if positions else parts[-1]
        else:
            return annotation
