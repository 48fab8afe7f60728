"""The fleet file described by its own schema: JSON Schema for editors, Markdown for readers."""

from __future__ import annotations

import types
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

from pydantic import BaseModel

from tritonobs.spec.schema import Spec
from tritonobs.spec.values import duration_field
from tritonobs.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic.fields import FieldInfo

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """What the loader takes, as JSON Schema: with its short forms, and without the nulls it refuses."""
    schema = _without_nulls(Spec.model_json_schema())
    sections = schema["$defs"]
    sections["CallSpec"] = {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, sections["CallSpec"]]}
    sections["SloSpec"] = {"anyOf": [{"const": "none"}, sections["SloSpec"]]}
    for holder in (schema["properties"]["models"], sections["ModelSpec"]["properties"]["versions"]):
        _allow_nothing(holder)
    return {"$schema": _DIALECT, "title": "tritonobs fleet file", **schema}


def markdown() -> str:
    """Every section of the file with its fields, what each means and what it is when left out."""
    places: dict[type[BaseModel], list[str]] = {}
    for section, place in _places(Spec, ""):
        places.setdefault(section, []).append(place)
    return "\n".join(line for section, where in places.items() for line in _table(section, where))


def _without_nulls(value: Any) -> Any:  # noqa: ANN401 (any JSON)
    if isinstance(value, list):
        return [_without_nulls(one) for one in value]
    if not isinstance(value, dict):
        return value
    made = {
        name: _without_nulls(one) for name, one in value.items() if name != "title" or isinstance(one, dict)
    }
    if "default" in made and made["default"] is None:
        del made["default"]
    choices = [one for one in made.get("anyOf", ()) if one != {"type": "null"}]
    if len(choices) == 1:
        del made["anyOf"]
        return {**choices[0], **made}
    return {**made, "anyOf": choices} if choices else made


def _allow_nothing(holder: dict[str, Any]) -> None:
    """A model or version may have nothing to say."""
    below = holder.get("patternProperties") or {"": holder["additionalProperties"]}
    holder.pop("propertyNames", None)
    for pattern, section in below.items():
        either = {"anyOf": [section, {"type": "null"}]}
        if pattern:
            below[pattern] = either
            holder["additionalProperties"] = False
        else:
            holder["additionalProperties"] = either


def _places(section: type[BaseModel], place: str) -> Iterator[tuple[type[BaseModel], str]]:
    """Every section with every place it may stand at, outer ones first."""
    yield section, place
    for field, info in section.model_fields.items():
        below, suffix = _section(info.annotation)
        if below:
            yield from _places(below, f"{place}.{field}{suffix}" if place else f"{field}{suffix}")


def _table(section: type[BaseModel], places: list[str]) -> Iterator[str]:
    yield f"### {', '.join(f'`{place}`' for place in places) if places[0] else 'The file as a whole'}\n"
    yield f"{' '.join((section.__doc__ or '').split())}\n"
    yield "| field | what it says | when left out |"
    yield "|---|---|---|"
    for field, info in section.model_fields.items():
        yield f"| `{field}` | {(info.description or '').replace('|', '&#124;')} | {_default(info)} |"
    yield ""


def _section(annotation: Any) -> tuple[type[BaseModel] | None, str]:  # noqa: ANN401 (any annotation)
    """The section that an annotation leads to, and how its place is written: `.<name>` or `[]`."""
    if hasattr(annotation, "__metadata__"):
        return _section(annotation.__origin__)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return next((found for one in arguments if (found := _section(one))[0]), (None, ""))
    if origin is dict:
        section, suffix = _section(arguments[1])
        return section, f".<name>{suffix}"
    if origin is tuple:
        section, suffix = _section(arguments[0])
        return section, f"[]{suffix}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, ""
    return None, ""


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "**required**"
    value = info.get_default(call_default_factory=True)
    if value is None or value in ((), {}, "") or isinstance(value, BaseModel):
        return ""
    if isinstance(value, Decimal) and any(
        getattr(one, "func", None) is duration_field for one in info.metadata
    ):
        return f"`{format_duration(value)}`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"
