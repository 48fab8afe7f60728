"""The base of every section of the fleet file, also of those that a chat brings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from typing_extensions import Self  # pydantic brings it

from tritonobs.findings import NOTHING

# How much there may be of each thing. A file beyond it is a mistake or an attack, and checking it would take
# too long.
MOST_MODELS: Final = 20_000
MOST_REPLICAS: Final = 10_000
MOST_ENTRIES: Final = 1_000
"""Of every other list or mapping."""
MOST_SLOS: Final = 100
MOST_BOUNDS: Final = 60
"""Of a histogram; `tritonobs.stage` takes no more."""

Language = Literal["en", "zh"]


def _usable_path(path: Path) -> Path:
    if "\0" in str(path):
        raise ValueError("found a NUL in the path of a file")
    return path


File = Annotated[
    Path, AfterValidator(_usable_path), Field(description="A file; relative paths count from the fleet file.")
]
ReceiverName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
"""Part of an address and of receivers' names: plain letters, digits, `-` and `_`."""


def _several(value: object) -> object:
    return [value] if isinstance(value, (str, int, float, bool)) else value


_TEXT = {"type": ["string", "number", "boolean"]}
Texts = Annotated[
    tuple[str, ...],
    BeforeValidator(_several),
    Field(min_length=1, max_length=MOST_ENTRIES),
    WithJsonSchema(
        {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": MOST_ENTRIES}]}
    ),
]
"""One text or a list of them."""
LabelName = Annotated[str, Field(pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*$")]
Match = Annotated[dict[LabelName, Texts], Field(max_length=MOST_ENTRIES)]
"""Labels, each with the values it may have."""


def optional_list(description: str) -> Any:  # noqa: ANN401 (as pydantic's own `Field`)
    """A field for a list that may be left out."""
    return Field(default=(), max_length=MOST_ENTRIES, description=description)


@dataclass(slots=True)
class Mistakes:
    """How many were found so far in a document; each costs kilobytes until it is reported."""

    found: int = 0
    most: int = 2_000


class Section(BaseModel):
    """A mapping of the fleet file: unknown fields are refused, values never change after reading."""

    # Commands that read no fleet file need no validators, which take a third of their start.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @model_validator(mode="wrap")
    @classmethod
    def _bounded_number_of_mistakes(
        cls, value: object, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        """After very many mistakes the rest of the document is not checked."""
        mistakes = info.context
        if isinstance(mistakes, Mistakes) and mistakes.found > mistakes.most:
            # Unchecked, which does no harm: the file is refused anyway, for the mistakes found so far.
            return cls.model_construct()
        try:
            return handler(value)
        except ValidationError as error:
            if isinstance(mistakes, Mistakes):
                mistakes.found += error.error_count()
            raise

    @field_validator("*", mode="before")
    @classmethod
    def _forgotten_is_not_left_out(cls, value: object) -> object:
        """A field whose value was forgotten must not quietly mean "no limit" or "no receiver"."""
        return NOTHING if value is None else value
