"""Spans become requests.

A server sends the spans of one request in several batches: they wait for its last.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tritonobs.traces.call import Traced, make_call
from tritonobs.traces.span import Batch, Span

_ROOT = "InferRequest"
MOST_WAITING = 50_000
"""Spans that wait for the end of their request; of more, the oldest traces are given up."""
WAIT_SECONDS = 120.0
"""A request ends, and its server sends the end 5 s later; longer than this, and the end was lost."""


class Assembler:
    """Gives requests out once their outermost span has come: a server sends it last.

    `lost` counts spans by why nothing became of them: `incomplete` requests whose end did not come, a `clock`
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
        """The requests that are whole with this batch."""
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
