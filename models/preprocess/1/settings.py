"""What is decoded at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_DAMAGED = {"refuse": False, "decode": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The longest side in pixels, the longest file in bytes, and whether damaged JPEGs are decoded."""

    max_side: int = 4000
    max_bytes: int = 32_000_000
    decode_damaged: bool = False

    @classmethod
    def read(cls, parameters: Mapping[str, str]) -> Settings:
        """From the model's parameters in config.pbtxt; those it does not know belong to others.

        Raises:
            ValueError: `damaged_jpeg` is neither `refuse` nor `decode`.
        """
        damaged = parameters["damaged_jpeg"]
        if damaged not in _DAMAGED:
            raise ValueError(f"damaged_jpeg is {damaged!r}, allowed are: {', '.join(_DAMAGED)}")
        return cls(
            max_side=int(parameters["max_side"]),
            max_bytes=int(parameters["max_bytes"]),
            decode_damaged=_DAMAGED[damaged],
        )
