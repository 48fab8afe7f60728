"""The numbers of a run of load, and the notes about each request while it happens.

One writer (the event loop), readers anywhere.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field


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
