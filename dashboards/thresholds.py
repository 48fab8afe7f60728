"""Where alerts begin, drawn on the boards. The mixin's config decides; a test compares."""

from __future__ import annotations

from typing import Final

LIMIT_WARNING: Final = 0.8
QUEUE_SECONDS: Final = 0.1
BUSY: Final = 0.9
STAGE_BUDGET: Final = 0.8
SKEW: Final = 2.0
HOST_MEMORY: Final = 0.95
ACCELERATOR_MEMORY: Final = 0.97
ACCELERATOR_BUSY: Final = 0.95
