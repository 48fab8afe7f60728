"""Requests on their way through a simulated server."""

from __future__ import annotations

import bisect
import math
from typing import TYPE_CHECKING

from planted.model import Instances
from tritonobs import names
from tritonobs.stage.series import DEFAULT_BOUNDS_SECONDS

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from planted.model import Key, Labels, Model, Process, Replica, State

SIGMA = 0.3
_BOUNDS = DEFAULT_BOUNDS_SECONDS
_CACHED_SECONDS = 0.0002


class Requests:
    """Requests of a fleet; `Fleet` has the time."""

    now: float
    random: random.Random
    models: dict[str, Model]

    def at(self, time: float, act: Callable[[], None]) -> None:
        """Do something then."""
        raise NotImplementedError

    @staticmethod
    def _id(model: Model) -> str:
        return f"{model.name}/{model.version}"

    def _resume(self, process: Process, sent: list[object]) -> None:
        try:
            asked = process.send(sent[0])  # type: ignore[arg-type] # a generator of unknown values
        except StopIteration:
            return
        if isinstance(asked, Instances):
            asked.waiting.append((process, sent))
            if asked.free:
                self._grant(asked)
        elif math.isfinite(asked):
            self.at(self.now + asked, lambda: self._resume(process, [None]))

    def _grant(self, pool: Instances) -> None:
        process, _ = pool.waiting.popleft()
        # Idle instances take turns.
        number = pool.free.pop(0)
        self.at(self.now, lambda: self._resume(process, [number]))

    def _release(self, pool: Instances, number: int) -> None:
        pool.free.append(number)
        if pool.waiting:
            self._grant(pool)

    def _serve(self, replica: Replica, model: Model) -> Process:  # noqa: C901, PLR0911, PLR0912, PLR0915 (one request from end to end, in one piece)
        labels = (("model", model.name), ("version", model.version))
        state = replica.states[self._id(model)]
        cells, began = replica.cells, self.now
        if state.gone:
            yield 0.0002
            return False
        if model.cached and self.random.random() < model.cached:
            yield _CACHED_SECONDS
            self._count(cells, names.TRITON_CACHE_HITS, labels)
            self._count(cells, names.TRITON_SUCCESS, labels)
            self._count(cells, names.TRITON_REQUEST_US, labels, _CACHED_SECONDS * 1e6)
            return True
        if model.cached:
            self._count(cells, names.TRITON_CACHE_MISSES, labels)
        if model.ensemble:
            return (yield from self._ensemble(replica, model, labels, began))
        pool = replica.pools[self._id(model)]
        self._count(cells, names.TRITON_PENDING, labels)
        if state.delay:
            yield state.delay
        number = yield pool
        self._count(cells, names.TRITON_PENDING, labels, -1)
        started = self.now
        if started - began > state.timeout:
            self._release(pool, number)
            self._fail(cells, labels, "REJECTED")
            return False
        if number in pool.frozen:
            yield math.inf
        if number in pool.dead:
            yield 0.0005
            self._release(pool, number)
            self._fail(cells, labels, "BACKEND")
            return False
        worker = replica.workers.get((self._id(model), number), ("", 0.0))[0]
        own = (*labels, ("worker", worker))
        tail = state.tail[1] if self.random.random() < state.tail[0] else 1.0
        cold = 12.0 if state.cold > 0 else 1.0
        state.cold -= 1
        good: bool | None = True
        fails = self.random.random() < state.fails
        refused = bool(state.invalid) and self.random.random() < state.invalid
        if state.before:
            yield state.before * state.everything
        # A share of 0 asks for no chance: scenes without such a fault stay as they were.
        if state.raises_before and self.random.random() < state.raises_before:
            yield 0.0003
            self._release(pool, number)
            self._fail(cells, labels, "BACKEND")
            return False
        entered = self.now
        for stage, part in model.parts.items():
            stage_began = self.now
            if isinstance(part, str):
                good = yield from self._serve(replica, self.models[part])
                extra = state.added.get(stage, 0.0)
                if extra:
                    yield extra
            else:
                yield self._takes(replica, state, model, own, stage, part) * tail * cold
            self._observe(replica, model, own, stage, self.now - stage_began)
            if fails and (state.reason[0] in {"", stage}):
                good = False
            if refused and (state.reason[0] in {"", stage}):
                good = None
            if not good:
                break
        yield state.added.get("", 0.0) + 0.0003 * state.everything
        self._observe(replica, model, own, "total", self.now - entered)
        if state.after:
            yield state.after * state.everything
        if pool is replica.pools[self._id(model)]:
            self._release(pool, number)
        if model.staged:
            outcome = "ok" if good else "invalid" if good is None else "error"
            self._count(cells, names.REQUESTS, (*own, ("outcome", outcome)))
            if not good and state.reason[0]:
                at = (*own, ("reason", state.reason[1]), ("stage", state.reason[0]))
                at = (*at, ("outcome", "invalid")) if good is None else at
                self._count(cells, names.STAGE_ERRORS, at)
        if state.raises_after and self.random.random() < state.raises_after:
            self._fail(cells, labels, "BACKEND")
            return False
        if not good and state.raises and fails:
            self._fail(cells, labels, "BACKEND")
            return False
        self._succeed(cells, labels, began, started)
        return good

    def _takes(  # noqa: PLR0917 (all of them are one moment of one request)
        self, replica: Replica, state: State, model: Model, own: Labels, stage: str, part: float
    ) -> float:
        seconds = part * self.random.lognormvariate(-SIGMA * SIGMA / 2, SIGMA)
        seconds *= state.slower.get(stage, 1.0) * state.everything
        for (sized, kind), usual in model.sizes.items():
            if sized == stage:
                share, times = state.sizes.get((sized, kind), (0.0, 1.0))
                grown = times if self.random.random() < share else 1.0
                seconds *= grown
                size = usual * grown * self.random.uniform(0.8, 1.2)
                at = (*own, ("kind", kind), ("stage", stage))
                self._count(replica.cells, f"{names.STAGE_SIZE}_sum", at, size)
                self._count(replica.cells, f"{names.STAGE_SIZE}_count", at)
        return seconds + state.added.get(stage, 0.0)

    def _ensemble(self, replica: Replica, model: Model, labels: Labels, began: float) -> Process:
        for part in model.parts.values():
            assert isinstance(part, str)
            if not (yield from self._serve(replica, self.models[part])):
                self._fail(replica.cells, labels, "OTHER", 2)
                return False
        yield 0.0002
        self._succeed(replica.cells, labels, began, began)
        return True

    def _succeed(self, cells: dict[Key, float], labels: Labels, began: float, started: float) -> None:
        for name, value in (
            (names.TRITON_SUCCESS, 1.0),
            (names.TRITON_INFERENCES, 1.0),
            (names.TRITON_EXECUTIONS, 1.0),
            (names.TRITON_REQUEST_US, (self.now - began) * 1e6),
            (names.TRITON_QUEUE_US, (started - began) * 1e6),
            (names.TRITON_COMPUTE_INFER_US, (self.now - started) * 1e6),
        ):
            self._count(cells, name, labels, value)

    def _fail(self, cells: dict[Key, float], labels: Labels, reason: str, times: int = 1) -> None:
        self._count(cells, names.TRITON_FAILURE, (*labels, ("reason", reason)), times)

    @staticmethod
    def _count(cells: dict[Key, float], name: str, labels: Labels, value: float = 1.0) -> None:
        key = (name, labels)
        # What was unloaded meanwhile counts no more.
        if key in cells or name.startswith("tritonobs"):
            cells[key] = cells.get(key, 0.0) + value

    @staticmethod
    def _observe(replica: Replica, model: Model, own: Labels, stage: str, seconds: float) -> None:
        if not model.staged or own[-1][1] not in replica.beats:
            return
        at = (*own, ("stage", stage))
        counts = replica.histograms.get(at)
        if counts is None:
            counts = replica.histograms[at] = [0] * (len(_BOUNDS) + 1)
        counts[bisect.bisect_left(_BOUNDS, seconds)] += 1
        key = (f"{names.STAGE_DURATION}_sum", at)
        replica.cells[key] = replica.cells.get(key, 0.0) + seconds
