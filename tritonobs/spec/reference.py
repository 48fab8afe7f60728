"""The fleet file described by its own schema: JSON Schema for editors, Markdown for readers."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tritonobs.spec.kubernetes import KINDS
from tritonobs.spec.rules import Knob
from tritonobs.spec.schema import Spec
from tritonobs.spec.values import duration_field
from tritonobs.units import format_duration, format_percent

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """What the loader takes, as JSON Schema: with its short forms, and without the nulls it refuses."""
    schema = _without_nulls(Spec.model_json_schema())
    sections = schema["$defs"]
    sections["CallSpec"] = {
        "anyOf": [sections["CallSpec"]["properties"]["per_request"], sections["CallSpec"]]
    }
    sections["KindSpec"] = {"anyOf": [{"enum": list(KINDS)}, sections["KindSpec"]]}
    sections["SloSpec"] = {"anyOf": [{"const": "none"}, sections["SloSpec"]]}
    for holder in (schema["properties"]["models"], sections["ModelSpec"]["properties"]["versions"]):
        _allow_nothing(holder)
    return {"$schema": _DIALECT, "title": "tritonobs fleet file", **schema}


def markdown(mixin: Mapping[str, object]) -> str:
    """Every section of the file with its fields, what each means and what it is when left out.

    `mixin` are the values of the mixin's knobs, which hold for thresholds that are left out.
    """
    places: dict[type[BaseModel], list[str]] = {}
    for section, place in _places(Spec, ""):
        places.setdefault(section, []).append(place)
    return "\n".join(line for section, where in places.items() for line in _table(section, where, mixin))


def _without_nulls(value: Any) -> Any:  # noqa: ANN401 (any JSON)
    if isinstance(value, list):
        return [_without_nulls(one) for one in value]
    if not isinstance(value, dict):
        return value
    # A field may be called `title`; its schema is a mapping, and pydantic's own titles are texts.
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
        for below, suffix in _sections(info.annotation):
            yield from _places(below, f"{place}.{field}{suffix}" if place else f"{field}{suffix}")


def _table(section: type[BaseModel], places: list[str], mixin: Mapping[str, object]) -> Iterator[str]:
    yield f"### {', '.join(f'`{place}`' for place in places) if places[0] else 'The file as a whole'}\n"
    yield f"{' '.join((section.__doc__ or '').split())}\n"
    yield "| field | meaning | default |"
    yield "|---|---|---|"
    for field, info in section.model_fields.items():
        meaning = (info.description or "").replace("|", "&#124;")
        yield f"| `{info.alias or field}` | {meaning} | {_default(info, mixin)} |"
    yield ""


def _sections(annotation: Any) -> Iterator[tuple[type[BaseModel], str]]:  # noqa: ANN401 (any annotation)
    """The sections that an annotation leads to, and how the place of each is written: `.<name>` or `[]`."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if hasattr(annotation, "__metadata__"):
        yield from _sections(annotation.__origin__)
    elif origin in (Union, types.UnionType):
        for one in arguments:
            yield from _sections(one)
    elif origin in (dict, tuple):
        mark = ".<name>" if origin is dict else "[]"
        yield from ((section, f"{mark}{suffix}") for section, suffix in _sections(arguments[origin is dict]))
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, ""


def _default(info: FieldInfo, mixin: Mapping[str, object]) -> str:
    knob = next((one for one in info.metadata if isinstance(one, Knob)), None)
    if knob:
        return f"`{_knob(knob, mixin)}`"
    if info.is_required():
        return "**required**"
    value = info.get_default(call_default_factory=True)
    if value is None or value in ((), {}, "") or isinstance(value, BaseModel):
        return ""
    # Shares and seconds are both Decimals; only the validator tells them apart.
    if isinstance(value, Decimal) and any(
        getattr(one, "func", None) is duration_field for one in info.metadata
    ):
        return f"`{format_duration(value)}`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _knob(knob: Knob, mixin: Mapping[str, object]) -> str:
    value = mixin[knob.name]
    if isinstance(value, (int, float)) and knob.name.endswith("Seconds"):
        return format_duration(value)
    if isinstance(value, (int, float)) and knob.share:
        return format_percent(value)
    return str(value)
