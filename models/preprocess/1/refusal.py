"""How bytes are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Literal

    Reason = Literal["empty_image", "unsupported_format", "corrupt_image", "too_large"]


class ImageRefused(Exception):
    """The bytes are not a usable image; `reason` is from a small fixed set and begins the text."""

    def __init__(self, reason: Reason, detail: str) -> None:
        self.reason = reason
        super().__init__(f"{reason}: {detail}")
