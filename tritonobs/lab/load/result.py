"""The numbers of a run of load."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a run is right now; `planned` is how many requests it will send unless it is stopped."""

    elapsed_seconds: float
    total_seconds: float
    planned: int
    sent: int
    ok: int
    errors: int

    @property
    def in_flight(self) -> int:
        """Requests that went out and have no answer yet."""
        return self.sent - self.ok - self.errors


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCount:
    """Failures of one kind, with the first message as an example."""

    kind: str
    count: int
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageCount:
    """What became of the requests that carried one kind of image."""

    kind: str
    sent: int
    ok: int
    errors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentiles:
    """A distribution in seconds; each is a value that occurred (nearest rank)."""

    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult:
    """One run. `sent` = `ok` + the counts of `errors`: a request without an answer in time is an error.

    Latencies are those of good answers: `latency_from_schedule` counts from when the request was due (what a
    user feels), `latency_from_send` from when it really went out. `lateness` is the difference, of all
    requests: when it is not small, this machine could not keep up and the rate was not what was asked for.
    None: no request.
    """

    model: str
    version: str
    started_at: float
    seconds: float
    stopped: bool
    planned: int
    sent: int
    ok: int
    achieved_qps: float
    errors: tuple[ErrorCount, ...]
    images: tuple[ImageCount, ...]
    latency_from_schedule: Percentiles | None
    latency_from_send: Percentiles | None
    lateness: Percentiles | None
    peak_in_flight: int
    sent_per_second: tuple[int, ...]

    @property
    def failed(self) -> int:
        """How many requests got no good answer."""
        return self.sent - self.ok


def percentiles(values: Sequence[float]) -> Percentiles | None:
    """The distribution of these seconds, or None for none."""
    if not values:
        return None
    ordered = sorted(values)

    def at(ratio: float) -> float:
        return ordered[max(0, math.ceil(ratio * len(ordered)) - 1)]

    return Percentiles(
        mean=math.fsum(ordered) / len(ordered),
        p50=at(0.5),
        p90=at(0.9),
        p95=at(0.95),
        p99=at(0.99),
        max=ordered[-1],
    )
