"""What every part of the fleet file is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from tritonobs.spec.words import NOTHING

Language = Literal["en", "zh"]
File = Annotated[Path, Field(description="A file; relative paths count from the fleet file.")]
ReceiverName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
"""Part of an address and of receivers' names: plain letters, digits, `-` and `_`."""


def _several(value: object) -> object:
    return [value] if isinstance(value, (str, int, float, bool)) else value


Texts = Annotated[tuple[str, ...], BeforeValidator(_several), Field(min_length=1)]
"""One text or a list of them."""
LabelName = Annotated[str, Field(pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*$")]
Match = dict[LabelName, Texts]
"""Labels, each with the values it may have."""


class Section(BaseModel):
    """A mapping of the fleet file: unknown fields are refused, values never change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _forgotten_is_not_left_out(cls, value: object) -> object:
        """A field whose value was forgotten must not quietly mean "no limit" or "nobody"."""
        return NOTHING if value is None else value
