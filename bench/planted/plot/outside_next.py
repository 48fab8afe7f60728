"""The next twenty outside of `Stages` blocks: written after the checks had changed for the first twenty."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planted.scene import Scene

SCENES: tuple[Scene, ...] = ()
