"""The series a model emits: names, labels, buckets. The emitter owns the names, `tritonobs.names` repeats."""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Final, Literal, get_args

STAGE_DURATION: Final = "tritonobs_stage_duration_seconds"
STAGE_SIZE: Final = "tritonobs_stage_size"
REQUESTS: Final = "tritonobs_requests_total"
STAGE_ERRORS: Final = "tritonobs_stage_errors_total"
STAGE_ITEMS: Final = "tritonobs_stage_items_total"
STAGE_INFO: Final = "tritonobs_stage_info"
HEARTBEAT: Final = "tritonobs_heartbeat_timestamp_seconds"
FLUSH_ERRORS: Final = "tritonobs_flush_errors_total"
FLUSH_SECONDS: Final = "tritonobs_flush_seconds_total"
FLUSH_DROPPED: Final = "tritonobs_flush_dropped_total"

FAMILIES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    STAGE_DURATION: ("Time in a stage in seconds, one observation per request.", ("stage",)),
    STAGE_SIZE: ("Size of the input of a stage, in the unit its kind names.", ("stage", "kind")),
    REQUESTS: ("Requests by the answer that the client got.", ("outcome",)),
    STAGE_ERRORS: (
        "Errors of a stage by reason; of input that it refused with outcome.",
        ("stage", "reason", "outcome"),
    ),
    STAGE_ITEMS: ("Things a stage worked on, by kind.", ("stage", "kind")),
    STAGE_INFO: ("1; path is how this worker records: compiled, or python (slower).", ("path",)),
    HEARTBEAT: ("Time of the worker's last metrics flush, in Unix time.", ()),
    FLUSH_ERRORS: ("Metric calls that failed; a family that failed is not used again.", ()),
    FLUSH_SECONDS: ("Time spent in metric calls, in seconds.", ()),
    FLUSH_DROPPED: ("Records not passed on: label_cap, invalid, queue_full or forked.", ("reason",)),
}
"""Every family: its help text and its labels besides `model`, `version` and `worker`."""

DISTRIBUTIONS: Final = frozenset({STAGE_DURATION, STAGE_SIZE})
Outcome = Literal["ok", "error", "invalid", "cancelled", "rejected"]
OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
INVALID: Final = "invalid"
"""The caller's fault, as HTTP's 400: of a request, and of the error of the stage that refused its input."""
FORKED: Final = "forked"
DROP_REASONS: Final = ("label_cap", "invalid", "queue_full", FORKED)

TOTAL: Final = "total"
"""The stage that is all of a request inside the model; its wait in Triton's queue comes before that."""
FIRST_TOKEN: Final = "first_token"  # noqa: S105 (the name of a stage, not a secret)
OUTPUT_TOKEN: Final = "output_token"  # noqa: S105 (likewise)
TOKENS_IN: Final = "tokens_in"
TOKENS_OUT: Final = "tokens_out"

_STEPS: Final = ("1", "1.25", "1.5", "2", "2.5", "3", "4", "5", "6.5", "7.5")
DEFAULT_BOUNDS_SECONDS: Final = (
    *(float(f"{step}e{decade}") for decade in range(-4, 1) for step in _STEPS),
    *(10.0, 12.5, 15.0, 20.0, 25.0, 30.0, 40.0, 60.0, 90.0, 120.0),
)
"""Ten a decade from 0.1 ms to 10 s, fewer up to two minutes.

P50, P95 and P99 of log-normal stages (sigma 0.3 to 1, medians 0.1 ms to 10 s) are within 10 % of the truth
(bench/bounds.py); steps of more than a third would not do.
"""
SIZE_BOUNDS: Final = {
    "megapixels": (0.1, 0.3, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0),
    "bytes": (1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7, 3e7, 1e8),
}
OTHER_SIZE_BOUNDS: Final = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 10000.0)

_SHORTEST_SECONDS: Final = 1e-6
_LONGEST_SECONDS: Final = 1e6
_MOST_BOUNDS: Final = 100


def parse_bounds(text: str) -> tuple[float, ...]:
    """Bucket bounds in seconds from `0.0005, 0.05, 0.25`.

    Raises:
        ValueError: not a list of 1 to 100 strictly increasing seconds between 0.000001 and 1000000.
    """
    try:
        bounds = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"{text!r} is not a list of seconds; write it like 0.0005, 0.05, 0.25") from None
    return checked_bounds(bounds, text)


def checked_bounds(bounds: tuple[float, ...], written: object) -> tuple[float, ...]:
    """The bounds, if they can be used; `written` is repeated in the error.

    Raises:
        ValueError: as `parse_bounds`.
    """
    # NaN is never between the two, so it is refused here.
    inside = all(_SHORTEST_SECONDS <= bound <= _LONGEST_SECONDS for bound in bounds)
    rising = all(low < high for low, high in itertools.pairwise(bounds))
    if not (inside and rising and 0 < len(bounds) <= _MOST_BOUNDS):
        raise ValueError(
            f"{written!r}: allowed are 1 to {_MOST_BOUNDS} strictly increasing seconds, 0.000001 to 1000000"
        )
    return bounds


def format_bound(bound: float) -> str:
    """The `le` of a bucket as Prometheus writes it, in the fewest digits: `0.07`, `1`, `5e-05`, `+Inf`."""
    if bound == float("inf"):
        return "+Inf"
    number = Decimal(repr(bound)).normalize()
    exponent = number.adjusted()
    if -5 < exponent < 6:  # noqa: PLR2004 (the limits of Go's shortest format, which Prometheus uses)
        return f"{number:f}"
    return f"{number.scaleb(-exponent):f}e{exponent:+03d}"


def format_bound_of_triton(bound: float) -> str:
    """The `le` as Triton's own histograms write it: in 16 digits, which may be one too many."""
    return f"{bound:.16g}"
