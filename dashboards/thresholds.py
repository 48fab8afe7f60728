"""Where alerts begin, drawn on the boards: knobs of the mixin by their name there, which has the numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Threshold:
    """Replaced by a number when the board is built."""

    knob: str


LIMIT_WARNING: Final = Threshold("limitWarningRatio")
QUEUE_SECONDS: Final = Threshold("queueSeconds")
BUSY: Final = Threshold("busyRatio")
STAGE_BUDGET: Final = Threshold("stageBudgetRatio")
SKEW: Final = Threshold("skewRatio")
KV_CACHE: Final = Threshold("kvCacheRatio")
HOST_MEMORY: Final = Threshold("hostMemoryRatio")
ACCELERATOR_MEMORY: Final = Threshold("acceleratorMemoryRatio")
ACCELERATOR_BUSY: Final = Threshold("acceleratorBusyRatio")


def numbered(value: Any, knobs: Mapping[str, Any]) -> Any:  # noqa: ANN401 (any JSON with thresholds in it)
    """The value with the number of every threshold in it."""
    if isinstance(value, Threshold):
        return float(knobs[value.knob])
    if isinstance(value, dict):
        return {key: numbered(below, knobs) for key, below in value.items()}
    if isinstance(value, (list, tuple)):
        return [numbered(below, knobs) for below in value]
    return value
