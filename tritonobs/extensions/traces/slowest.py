"""The slowest requests of every model in the last hour, with all their calls; as a receiver sends them."""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from pydantic import TypeAdapter

from tritonobs.extensions.traces.call import Call, Traced

KEPT = 20
_SLOTS: Final = ((5.0, 12, 5), (30.0, 10, KEPT), (300.0, 12, KEPT))
"""Seconds of a slot, how many slots are kept, and how many requests of each.

The short ones have the slowest of a moment, although others in the same minutes were slower.
"""
SPAN_SECONDS = math.prod(_SLOTS[-1][:2])
MOST_MODELS = 100
_MOST_CALLS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow:
    """A request, and the call of the model in it for which it is kept."""

    traced: Traced
    call: Call

    @property
    def seconds(self) -> float:
        """How long that call took."""
        return self.call.request.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a receiver answers: the models that it knows, and the slow requests that were asked for."""

    models: tuple[str, ...]
    requests: tuple[Slow, ...]


ANSWER: Final = TypeAdapter(Answer)
_Heap: TypeAlias = list[tuple[float, int, Slow]]
_Slots: TypeAlias = deque[tuple[float, _Heap]]


class Slowest:
    """Keeps the slowest calls of each model in each slot. Not for several threads at once."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._order = itertools.count()
        self._models: dict[str, tuple[_Slots, ...]] = {}

    def add(self, traced: Traced) -> None:
        """Keep the request for each model in it for which it is among the slowest of the moment."""
        calls = list(itertools.islice(traced.call.everything(), _MOST_CALLS + 1))
        if len(calls) > _MOST_CALLS:
            return
        now = self._clock()
        for call in calls:
            # The number decides between equal times, because requests have no order.
            item = (call.request.seconds, next(self._order), Slow(traced=traced, call=call))
            for (seconds, _, kept), slots in zip(_SLOTS, self._slots(call.model), strict=False):
                heap = _newest(slots, now // seconds * seconds)
                if len(heap) < kept:
                    heapq.heappush(heap, item)
                else:
                    heapq.heappushpop(heap, item)

    def of(self, model: str, since_seconds: float, until_seconds: float = 0.0) -> tuple[Slow, ...]:
        """The slowest calls of the model that ended between two moments, both before now, slowest first."""
        now = self._clock()
        start_ns, end_ns = (now - since_seconds) * 1e9, (now - until_seconds) * 1e9
        found = {
            item[1]: item
            for slots in self._models.get(model, ())
            for _, heap in slots
            for item in heap
            if start_ns <= item[2].call.request.end_ns
            and (until_seconds <= 0 or item[2].call.request.end_ns <= end_ns)
        }
        return tuple(slow for _, _, slow in heapq.nlargest(KEPT, found.values()))

    def models(self) -> tuple[str, ...]:
        """The models with requests in the last hour."""
        since = self._clock() - SPAN_SECONDS
        return tuple(sorted(model for model, (*_, slots) in self._models.items() if slots[-1][0] >= since))

    def _slots(self, model: str) -> tuple[_Slots, ...]:
        """The slots of a model; none where there are too many models."""
        if model not in self._models:
            if len(self._models) >= MOST_MODELS:
                self._forget_idle()
            if len(self._models) >= MOST_MODELS:
                return ()
            self._models[model] = tuple(deque(maxlen=most) for _, most, _ in _SLOTS)
        return self._models[model]

    def _forget_idle(self) -> None:
        there = set(self.models())
        self._models = {model: slots for model, slots in self._models.items() if model in there}


def _newest(slots: _Slots, began: float) -> _Heap:
    """The slot that began then, as the last one."""
    if not slots or slots[-1][0] != began:
        slots.append((began, []))
    return slots[-1][1]
