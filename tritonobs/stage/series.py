"""The series a model emits: names, labels, buckets. The emitter owns the names, `tritonobs.names` repeats."""

from __future__ import annotations

import itertools
from typing import Final

STAGE_DURATION: Final = "tritonobs_stage_duration_seconds"
STAGE_SIZE: Final = "tritonobs_stage_size"
REQUESTS: Final = "tritonobs_requests_total"
STAGE_ERRORS: Final = "tritonobs_stage_errors_total"
STAGE_ITEMS: Final = "tritonobs_stage_items_total"
HEARTBEAT: Final = "tritonobs_heartbeat_timestamp_seconds"
FLUSH_ERRORS: Final = "tritonobs_flush_errors_total"
FLUSH_SECONDS: Final = "tritonobs_flush_seconds_total"
FLUSH_DROPPED: Final = "tritonobs_flush_dropped_total"

FAMILIES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    STAGE_DURATION: ("Time in a stage in seconds, one observation per request.", ("stage",)),
    STAGE_SIZE: ("Size of what a stage was given, in the unit its kind names.", ("stage", "kind")),
    REQUESTS: ("Requests by what the client was told.", ("outcome",)),
    STAGE_ERRORS: ("Errors of a stage by reason.", ("stage", "reason")),
    STAGE_ITEMS: ("Things a stage worked on, by kind.", ("stage", "kind")),
    HEARTBEAT: ("When this worker last handed over its numbers, in Unix time.", ()),
    FLUSH_ERRORS: ("Metric calls that failed; a family that failed is not used again.", ()),
    FLUSH_SECONDS: ("Time spent in metric calls, in seconds.", ()),
    FLUSH_DROPPED: ("Records not passed on: label_cap, invalid or queue_full.", ("reason",)),
}
"""Every family: its help text and its labels besides `model`, `version` and `worker`."""

DISTRIBUTIONS: Final = frozenset({STAGE_DURATION, STAGE_SIZE})
OUTCOMES: Final = ("ok", "error", "cancelled", "rejected")
DROP_REASONS: Final = ("label_cap", "invalid", "queue_full")

TOTAL: Final = "total"
"""The stage that is the whole request as the model saw it."""
FIRST_TOKEN: Final = "first_token"  # noqa: S105 (the name of a stage, not a secret)
OUTPUT_TOKEN: Final = "output_token"  # noqa: S105 (likewise)
TOKENS_IN: Final = "tokens_in"
TOKENS_OUT: Final = "tokens_out"

# fmt: off
DEFAULT_BOUNDS_SECONDS: Final = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
)
# fmt: on
SIZE_BOUNDS: Final = {
    "megapixels": (0.1, 0.3, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0),
    "bytes": (1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7, 3e7, 1e8),
}
OTHER_SIZE_BOUNDS: Final = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 10000.0)

_SHORTEST_SECONDS = 0.0001
_LONGEST_SECONDS = 1e6
_MOST_BOUNDS = 60


def parse_bounds(text: str) -> tuple[float, ...]:
    """Bucket bounds in seconds from `0.01, 0.05, 0.25`.

    Raises:
        ValueError: the text is no list of 1 to 60 strictly increasing seconds between 0.0001 and 1000000.
    """
    try:
        bounds = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"{text!r} is no list of seconds; write it like 0.01, 0.05, 0.25") from None
    inside = all(_SHORTEST_SECONDS <= bound <= _LONGEST_SECONDS for bound in bounds)
    if (
        not inside
        or len(bounds) > _MOST_BOUNDS
        or any(low >= high for low, high in itertools.pairwise(bounds))
    ):
        raise ValueError(
            f"{text!r}: allowed are up to {_MOST_BOUNDS} strictly increasing seconds, 0.0001 to 1000000"
        )
    return bounds


def format_bound(bound: float) -> str:
    """The `le` of a bucket, written as Triton's own histograms write it: `0.25`, `1`, `+Inf`."""
    return "+Inf" if bound == float("inf") else f"{bound:.16g}"
