"""A traced request: the call of a model, the calls that it made, and where the time of each went.

Requests are made of spans as Triton's OpenTelemetry mode sends them. A server sends the spans of one request
in several batches: they wait for its last.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from tritonobs.plan.graph import ENSEMBLE_VERSION

Phase = Literal["request", "queue", "input", "infer", "output"]
PHASES: Final[tuple[Phase, ...]] = ("request", "queue", "input", "infer", "output")
Outcome = Literal["ok", "error", "rejected", "uncomputed"]
_LONGEST_NS = 3600 * 10**9
"""A longer duration means that a clock was set."""
# Calls are read by recursion: a hostile tower of spans would exceed Python's limit.
_DEEPEST = 50

_ROOT = "InferRequest"
MOST_WAITING = 50_000
"""Spans that wait for the end of their request; beyond that the oldest traces are dropped."""
WAIT_SECONDS = 120.0
"""A server sends the end of a request up to 5 s late; after this time the end was lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One span; times are Unix nanoseconds, ids lower-case hex, `parent_id` is "" without one.

    `events` holds the first time of each name: Triton repeats only the sending of responses, and sends events
    in no order.
    """

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start_ns: int
    end_ns: int
    events: Mapping[str, int]
    model: str = ""
    version: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The spans of one server; `replica` is what its resource attributes call it, "" where they do not."""

    replica: str
    spans: tuple[Span, ...]


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
        """Whether it is possible: a clock that is set between two events gives impossible ones."""
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

    None for impossible times.
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


class Assembler:
    """Gives requests out once their outermost span has come: a server sends it last.

    `lost` counts spans that were dropped, by reason: `incomplete` requests whose end did not come, a `clock`
    that was set while a request ran.
    """

    def __init__(
        self, *, most_waiting: int = MOST_WAITING, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.lost: Counter[str] = Counter()
        self._most = most_waiting
        self._clock = clock
        self._waiting: OrderedDict[str, _Trace] = OrderedDict()
        self._count = 0

    def add(self, batch: Batch) -> tuple[Traced, ...]:
        """The requests that are complete with this batch."""
        ended: list[Span] = []
        now = self._clock()
        for span in batch.spans:
            trace = self._waiting.get(span.trace_id)
            if trace is None:
                trace = self._waiting[span.trace_id] = _Trace(began=now)
            if trace.add(span):
                self._count += 1
                if span.name == _ROOT and not span.model:
                    ended.append(span)
        # After the loop: a batch may hold the end of a request before its other spans.
        found = tuple(traced for root in ended for traced in self._whole(batch.replica, root))
        self._give_up(now)
        return found

    def _whole(self, replica: str, root: Span) -> Iterator[Traced]:
        trace = self._waiting.get(root.trace_id)
        own = trace.take(root) if trace else {}
        self._count -= sum(map(len, own.values())) + 1
        # Several requests of one client may share a trace.
        if trace and not trace.ids:
            del self._waiting[root.trace_id]
        for span in own.get(root.span_id, ()):
            if not span.model:
                continue
            call = make_call(span, own)
            if call is None:
                self.lost["clock"] += sum(map(len, own.values())) + 1
            else:
                # Triton's outermost span has a parent only where the client sent a `traceparent`.
                yield Traced(replica=replica, call=call, asked_for=bool(root.parent_id))

    def _give_up(self, now: float) -> None:
        while self._waiting:
            trace = next(iter(self._waiting.values()))
            if self._count <= self._most and now - trace.began <= WAIT_SECONDS:
                return
            self._waiting.popitem(last=False)
            self._count -= len(trace.ids)
            self.lost["incomplete"] += len(trace.ids)


@dataclass(slots=True, kw_only=True)
class _Trace:
    """The spans of a trace that wait, by the id of their parent; each is read once."""

    began: float
    ids: set[str] = field(default_factory=set)
    children: dict[str, list[Span]] = field(default_factory=dict)

    def add(self, span: Span) -> bool:
        """Whether it was not there yet."""
        if span.span_id in self.ids:
            return False
        self.ids.add(span.span_id)
        if span.name != _ROOT or span.model:
            self.children.setdefault(span.parent_id, []).append(span)
        return True

    def take(self, root: Span) -> dict[str, list[Span]]:
        """All that lies below a span, by the id of its parent; the trace has them no more."""
        self.ids.discard(root.span_id)
        taken: dict[str, list[Span]] = {}
        todo = [root.span_id]
        # A loop, because hostile spans may nest deeper than Python recurses; `pop` ends circles of parents.
        while todo:
            below = self.children.pop(parent := todo.pop(), None)
            if below:
                taken[parent] = below
                todo += [span.span_id for span in below]
                self.ids.difference_update(span.span_id for span in below)
        return taken
