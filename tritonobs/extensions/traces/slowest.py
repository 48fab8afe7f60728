"""The slowest requests of every model in the last hour, with all their calls; as a receiver sends them."""

from __future__ import annotations

import heapq
import itertools
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pydantic import TypeAdapter

from tritonobs.extensions.traces.call import Call, Traced

KEPT = 20
_SLOT_SECONDS, _SLOTS = 300.0, 12
SPAN_SECONDS = _SLOT_SECONDS * _SLOTS
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


class Slowest:
    """Keeps the KEPT slowest calls of each model in each five minutes. Not for several threads at once."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._order = itertools.count()
        self._models: dict[str, deque[tuple[float, list[tuple[float, int, Slow]]]]] = {}

    def add(self, traced: Traced) -> None:
        """Keep the request for each model in it for which it is among the slowest of these five minutes."""
        calls = list(itertools.islice(traced.call.everything(), _MOST_CALLS + 1))
        if len(calls) > _MOST_CALLS:
            return
        slot = self._clock() // _SLOT_SECONDS * _SLOT_SECONDS
        for call in calls:
            heap = self._heap(call.model, slot)
            if heap is None:
                continue
            # The number decides between equal times, because requests have no order.
            item = (call.request.seconds, next(self._order), Slow(traced=traced, call=call))
            if len(heap) < KEPT:
                heapq.heappush(heap, item)
            else:
                heapq.heappushpop(heap, item)

    def of(self, model: str, since_seconds: float) -> tuple[Slow, ...]:
        """The slowest calls of the model that ended in the last `since_seconds`, slowest first."""
        end_ns = (self._clock() - since_seconds) * 1e9
        found = [
            item
            for _, heap in self._models.get(model, ())
            for item in heap
            if item[2].call.request.end_ns >= end_ns
        ]
        return tuple(slow for _, _, slow in heapq.nlargest(KEPT, found))

    def models(self) -> tuple[str, ...]:
        """The models with requests in the last hour."""
        since = self._clock() - SPAN_SECONDS
        return tuple(sorted(model for model, slots in self._models.items() if slots[-1][0] >= since))

    def _heap(self, model: str, slot: float) -> list[tuple[float, int, Slow]] | None:
        slots = self._models.get(model)
        if slots is None:
            if len(self._models) >= MOST_MODELS:
                self._forget_idle()
            if len(self._models) >= MOST_MODELS:
                return None
            slots = self._models[model] = deque(maxlen=_SLOTS)
        if not slots or slots[-1][0] != slot:
            slots.append((slot, []))
        return slots[-1][1]

    def _forget_idle(self) -> None:
        there = set(self.models())
        self._models = {model: slots for model, slots in self._models.items() if model in there}
