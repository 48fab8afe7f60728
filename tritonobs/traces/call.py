"""A traced request: the call of a model, the calls that it made, and where the time of each went."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from tritonobs.plan.graph import ENSEMBLE_VERSION
from tritonobs.traces.span import Span

Phase = Literal["request", "queue", "input", "infer", "output"]
PHASES: Final[tuple[Phase, ...]] = ("request", "queue", "input", "infer", "output")
Outcome = Literal["ok", "error", "rejected", "uncomputed"]
_LONGEST_NS = 3600 * 10**9
"""What seems to take longer is a clock that was set."""
# Calls are read by recursion: a hostile tower of spans would exceed Python's limit.
_DEEPEST = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A piece of time, in Unix nanoseconds."""

    start_ns: int
    end_ns: int

    @property
    def seconds(self) -> float:
        """How long it is."""
        return (self.end_ns - self.start_ns) / 1e9

    @property
    def sound(self) -> bool:
        """Whether it can be true: a clock that is set between two events makes others."""
        return 0 <= self.end_ns - self.start_ns <= _LONGEST_NS


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request to one model; `calls` are those it made, in the order in which they began.

    `outcome` is `rejected` for a request that the queue refused, `error` where the span's status says so, and
    `uncomputed` for one that was answered without being computed: from the cache, or too late. Triton 24.10
    sets no status: a request whose model raised is `ok` to it.
    """

    trace_id: str
    model: str
    version: str
    phases: Mapping[Phase, Interval]
    outcome: Outcome
    calls: tuple[Call, ...] = ()

    @property
    def request(self) -> Interval:
        """From its arrival at the scheduler to its last response."""
        return self.phases["request"]

    @property
    def counted_version(self) -> str:
        """The version under which Triton counts it: every ensemble under 1."""
        # An ensemble computes nothing itself, so it has no queue phase; a BLS pipeline has one.
        ensemble = bool(self.calls) and "queue" not in self.phases
        return ENSEMBLE_VERSION if ensemble else self.version

    def everything(self) -> Iterator[Call]:
        """This call and all that it led to."""
        yield self
        for call in self.calls:
            yield from call.everything()


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """A request as a client sent it to `replica`.

    `asked_for` says that the client sent a `traceparent`: Triton traces every such request, regardless of its
    rate.
    """

    replica: str
    call: Call
    asked_for: bool


def make_call(span: Span, children: Mapping[str, Sequence[Span]], depth: int = 0) -> Call | None:
    """The call of a model's span; `children` are spans by the id of their parent.

    None for times that cannot be.
    """
    below = children.get(span.span_id, ())
    compute = next((each for each in below if not each.model and "COMPUTE_START" in each.events), None)
    made = [make_call(each, children, depth + 1) for each in below if each.model and depth < _DEEPEST]
    calls = tuple(sorted((call for call in made if call), key=lambda call: call.request.start_ns))
    phases = dict(_phases(span, compute))
    if not all(interval.sound for interval in phases.values()):
        return None
    return Call(
        trace_id=span.trace_id,
        model=span.model,
        version=span.version,
        phases=phases,
        outcome=_outcome(span, computed=compute is not None or bool(calls)),
        calls=calls,
    )


def _phases(span: Span, compute: Span | None) -> Iterator[tuple[Phase, Interval]]:
    at = span.events
    yield (
        "request",
        Interval(start_ns=at.get("REQUEST_START", span.start_ns), end_ns=at.get("REQUEST_END", span.end_ns)),
    )
    if compute is None:
        return
    inner = compute.events
    marks = [
        at.get("QUEUE_START"),
        *(inner.get(f"COMPUTE_{mark}") for mark in ("START", "INPUT_END", "OUTPUT_START", "END")),
    ]
    for phase, start, end in zip(PHASES[1:], marks, marks[1:], strict=False):
        if start is not None and end is not None:
            yield phase, Interval(start_ns=start, end_ns=end)


def _outcome(span: Span, *, computed: bool) -> Outcome:
    if span.failed:
        return "error"
    # Triton 24.10 sends no such event for what a full queue refused.
    if "REQUEST_END" not in span.events:
        return "rejected"
    return "ok" if computed else "uncomputed"
