"""The times of requests, decided before a run: no response delays a request. And the numbers of the run.

One writer of the notes (the event loop), readers anywhere.
"""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

Arrivals = Literal["even", "poisson"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """`seconds` at `qps`, or rising (falling) evenly from `qps` to `end_qps`."""

    qps: float
    seconds: float
    end_qps: float | None = None

    def __post_init__(self) -> None:
        last = self.qps if self.end_qps is None else self.end_qps
        if not (math.isfinite(self.qps) and math.isfinite(last) and min(self.qps, last) >= 0):
            raise ValueError(f"{self.qps!r} to {last!r} are not rates; requests per second are 0 or more")
        if not (math.isfinite(self.seconds) and self.seconds > 0):
            raise ValueError(f"{self.seconds!r} is not a duration; seconds are more than 0")

    @property
    def requests(self) -> float:
        """How many requests fall into it, on average; need not be whole."""
        return (self.qps + (self.qps if self.end_qps is None else self.end_qps)) / 2 * self.seconds

    def moment(self, requests: float) -> float:
        """The second, from the segment's start, at which this many requests have gone out."""
        if requests <= 0:
            return 0.0
        growth = ((self.qps if self.end_qps is None else self.end_qps) - self.qps) / self.seconds
        # The root of qps t + growth t² / 2 = requests, in the form that holds for growth 0 and for qps 0.
        return 2 * requests / (self.qps + math.sqrt(max(self.qps**2 + 2 * growth * requests, 0.0)))


def send_times(
    segments: Sequence[Segment], *, arrivals: Arrivals = "even", seed: int = 0
) -> tuple[float, ...]:
    """Seconds from the start at which each request goes out, ascending.

    `even` keeps the same distance between requests; `poisson` is what independent clients do. The same seed
    gives the same times.
    """
    times: list[float] = []
    marks = _marks(arrivals, seed)
    mark, began, before = next(marks), 0.0, 0.0
    for segment in segments:
        while mark < before + segment.requests - 1e-9:
            times.append(began + segment.moment(mark - before))
            mark = next(marks)
        began += segment.seconds
        before += segment.requests
    return tuple(times)


def _marks(arrivals: Arrivals, seed: int) -> Iterator[float]:
    """Where requests lie on the axis of expected requests."""
    if arrivals == "even":
        return (float(number) for number in count())
    return _sums(random.Random(seed))  # noqa: S311 (spacing of test traffic, no secret)


def _sums(source: random.Random) -> Iterator[float]:
    total = 0.0
    while True:
        total += source.expovariate(1.0)
        yield total


def total_seconds(segments: Iterable[Segment]) -> float:
    """How long the whole schedule takes."""
    return sum(segment.seconds for segment in segments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What a request got instead of an answer: `kind` groups, `text` is the whole message."""

    kind: str
    text: str


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
    """Results of the requests that carried one kind of image."""

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


@dataclass(slots=True, kw_only=True)
class Recorder:
    """The notes of one run. Times are seconds from `begin`."""

    planned: int
    total_seconds: float
    sent: int = 0
    ok: int = 0
    peak_in_flight: int = 0
    started_at: float = 0.0
    _origin: float | None = None
    _last_send: float = 0.0
    _lateness: list[float] = field(default_factory=list)
    _from_schedule: list[float] = field(default_factory=list)
    _from_send: list[float] = field(default_factory=list)
    _errors: Counter[str] = field(default_factory=Counter)
    _examples: dict[str, str] = field(default_factory=dict)
    _images: dict[str, Counter[str]] = field(default_factory=dict)
    _per_second: Counter[int] = field(default_factory=Counter)

    def begin(self, origin: float) -> None:
        """The run's second 0, on the clock `time.monotonic`."""
        self._origin = origin
        self.started_at = time.time() + origin - time.monotonic()

    def went_out(self, due: float, now: float, kind: str) -> None:
        """A request due at `due` was sent at `now`."""
        self.sent += 1
        self._last_send = now
        self._lateness.append(max(0.0, now - due))
        self._images.setdefault(kind, Counter())["sent"] += 1
        self._per_second[int(now)] += 1
        self.peak_in_flight = max(self.peak_in_flight, self.sent - self.ok - self._errors.total())

    def came_back(self, due: float, sent: float, now: float, kind: str, failure: Failure | None) -> None:
        """The request due at `due` and sent at `sent` was answered, or failed, at `now`."""
        if failure is None:
            self.ok += 1
            self._images[kind]["ok"] += 1
            self._from_schedule.append(now - due)
            self._from_send.append(now - sent)
        else:
            self._errors[failure.kind] += 1
            self._images[kind]["errors"] += 1
            self._examples.setdefault(failure.kind, failure.text)

    def progress(self) -> Progress:
        """Where the run is."""
        elapsed = 0.0 if self._origin is None else max(0.0, time.monotonic() - self._origin)
        return Progress(
            elapsed_seconds=elapsed,
            total_seconds=self.total_seconds,
            planned=self.planned,
            sent=self.sent,
            ok=self.ok,
            errors=self._errors.total(),
        )

    def result(self, *, model: str, version: str, seconds: float, stopped: bool) -> LoadResult:
        """The whole run, after its last answer; `seconds` is how long requests were sent."""
        return LoadResult(
            model=model,
            version=version,
            started_at=self.started_at,
            seconds=seconds,
            stopped=stopped,
            planned=self.planned,
            sent=self.sent,
            ok=self.ok,
            achieved_qps=self.sent / max(seconds, self._last_send) if self.sent else 0.0,
            errors=tuple(
                ErrorCount(kind=kind, count=count, example=self._examples[kind])
                for kind, count in self._errors.most_common()
            ),
            images=tuple(
                ImageCount(kind=kind, sent=counts["sent"], ok=counts["ok"], errors=counts["errors"])
                for kind, counts in sorted(self._images.items())
            ),
            latency_from_schedule=percentiles(self._from_schedule),
            latency_from_send=percentiles(self._from_send),
            lateness=percentiles(self._lateness),
            peak_in_flight=self.peak_in_flight,
            sent_per_second=tuple(
                self._per_second[second] for second in range(max(self._per_second, default=-1) + 1)
            ),
        )
