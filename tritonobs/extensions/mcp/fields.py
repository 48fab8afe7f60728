"""The fields of every answer in Markdown, made of the schemas that the tools publish."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, Union, get_args, get_origin

from pydantic import BaseModel

from tritonobs.extensions.mcp import schemas
from tritonobs.extensions.mcp.server import Changes, data_of
from tritonobs.extensions.mcp.tools import OFFERED

_WORDS: Final = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "yes or no",
    datetime: "text, RFC 3339",
}
_INTRODUCTION: Final = """\
# Answers

The fields of what [the tools for agents](agents.md) answer, and of `--format json` of the command of the same
data. Every tool publishes them as JSON Schema, too. `form` in an answer names the tool and the version of the
fields, which is {version} now. A field that has nothing to say is left out. Durations are seconds, rates are
a second, times are Unix seconds in UTC, where a field does not say otherwise.
"""


def markdown() -> str:
    """The page, `docs/answers.md`."""
    return "\n".join(_page())


def _page() -> Iterator[str]:
    yield _INTRODUCTION.format(version=schemas.VERSION)
    yield "## Every answer\n"
    yield from _table(schemas.Answer[Any], without="data")
    told: list[type[BaseModel]] = [schemas.Unread, schemas.Next]
    for shared in told:
        yield from _part(shared)
    for name in (*OFFERED, "set_limit"):
        call = getattr(Changes, name)
        data = data_of(call)
        first = (call.__doc__ or "").splitlines()[0]
        yield f"\n## {name}\n\n{first} `data` is {_type(data)}."
        for model in _models(data):
            if model not in told:
                told.append(model)
                yield from _part(model)


def _part(model: type[BaseModel]) -> Iterator[str]:
    yield f"\n### {model.__name__}\n\n{' '.join((model.__doc__ or '').split())}\n"
    yield from _table(model)


def _table(model: type[BaseModel], without: str = "") -> Iterator[str]:
    yield "| field | type | what it is |\n|---|---|---|"
    for name, field in model.model_fields.items():
        if name != without:
            description = (field.description or "").replace("|", "\\|")
            yield f"| `{name}` | {_type(field.annotation)} | {description} |"


def _type(kind: Any) -> str:  # noqa: ANN401 (any annotation)
    """In words; a part is named as its heading is."""
    origin, inner = get_origin(kind), get_args(kind)
    if inspect.isclass(kind) and issubclass(kind, BaseModel):
        return f"[{kind.__name__}](#{kind.__name__.lower()})"
    if origin is tuple:
        if Ellipsis in inner:
            return f"list of {_type(inner[0])}"
        return f"pair of {' and '.join(map(_type, inner))}"
    if origin is dict:
        return f"{_type(inner[1])} by name"
    if origin in (Union, types.UnionType):
        return " or ".join(_type(one) for one in inner if one is not type(None))
    return _WORDS.get(kind, "anything")


def _models(kind: Any) -> list[type[BaseModel]]:  # noqa: ANN401 (any annotation)
    """Every part that a type holds, the outer ones first."""
    seen: list[type[BaseModel]] = []
    waiting = [kind]
    while waiting:
        one = waiting.pop(0)
        if inspect.isclass(one) and issubclass(one, BaseModel):
            if one not in seen:
                seen.append(one)
                waiting += [field.annotation for field in one.model_fields.values()]
        else:
            waiting += [inner for inner in get_args(one) if inner is not Ellipsis]
    return seen
