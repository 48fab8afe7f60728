"""`Stages`: what a model holds, one per model instance."""

from __future__ import annotations

import atexit
import logging
import os
from typing import TYPE_CHECKING

from tritonobs.stage import series
from tritonobs.stage.cells import Cells
from tritonobs.stage.flush import Flusher
from tritonobs.stage.series import REQUESTS, STAGE_DURATION, STAGE_ERRORS, STAGE_ITEMS, STAGE_SIZE
from tritonobs.stage.settings import read_settings
from tritonobs.stage.timers import Answer, Function, Timer, Unsure, timed
from tritonobs.stage.trace import RequestLog, trace_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_GIVE_UP_SECONDS = 5.0
_MOST_IN_A_BATCH = 1_000_000
_log = logging.getLogger("tritonobs.stage")


class Stages:
    """Stage metrics of one model instance, made in `initialize` from its `args` and Triton's `pb_utils`.

    Every method may be called from any thread, costs about a microsecond and never raises: what cannot be
    recorded is counted in `tritonobs_flush_dropped_total`, its first example logged. A thread hands the
    numbers to Triton every `flush_interval_seconds`. At most `max_label_sets` label sets are kept.

    A batch charges each of its requests the whole batch, as Triton's own `compute_*` durations do: the time a
    request spent, not its share of the work.
    """

    def __init__(
        self,
        args: Mapping[str, str],
        pb_utils: object,
        *,
        flush_interval_seconds: float = 1.0,
        max_label_sets: int = 100,
    ) -> None:
        settings = read_settings(args)
        self.worker = settings.identity["worker"]
        self._cells = Cells(settings.bounds_seconds, max_label_sets)
        self._count, self._distribute = self._cells.count, self._cells.distribute
        self._cells.declare((REQUESTS, outcome) for outcome in series.OUTCOMES)
        self._cells.declare((series.FLUSH_DROPPED, reason) for reason in series.DROP_REASONS)
        self._cells.declare([(STAGE_DURATION, series.TOTAL), (series.FLUSH_ERRORS,), (series.FLUSH_SECONDS,)])
        self._process = os.getpid()
        self._finalize_seconds = settings.scrape_seconds + _GIVE_UP_SECONDS
        self._flusher = Flusher(
            pb_utils,
            settings.identity,
            self._cells,
            sink=settings.sink,
            interval_seconds=flush_interval_seconds,
            scrape_seconds=settings.scrape_seconds,
        )
        # Only `initialize` is told a model instance; anywhere else, a metric call would hang Triton for ever.
        if settings.model_instance:
            atexit.register(self._flusher.abandon)
            self._flusher.start()
        else:
            _log.warning("args name no model_instance_name: stage metrics are off outside of initialize")

    def time(self, stage: str) -> Timer:
        """A `with` block that is one observation of a stage, also when it raises."""
        return Timer(self._cells, stage, 1)

    def batch(self, stage: str, n: int) -> Timer:
        """A `with` block that works on `n` requests at once: `n` observations, each of the whole block."""
        if type(n) is not int or not 0 <= n <= _MOST_IN_A_BATCH:
            return Unsure(self._cells, stage, n)
        return Timer(self._cells, stage, n)

    def timed(self, stage: str) -> Callable[[Function], Function]:
        """A decorator: each call is one observation of a stage; of a coroutine, until its result."""

        def decorate(function: Function) -> Function:
            return timed(self._cells, stage, function)

        return decorate

    def observe(self, stage: str, seconds: float, n: int = 1) -> None:
        """Record `n` observations of `seconds` each."""
        self._distribute((STAGE_DURATION, stage), seconds, n)

    def size(self, stage: str, kind: str, value: float, n: int = 1) -> None:
        """Record how large what came in was, in the unit `kind` names: `megapixels`, `bytes`, `boxes`."""
        self._distribute((STAGE_SIZE, stage, kind), value, n)

    def items(self, stage: str, kind: str, n: float = 1) -> None:
        """Count things worked on: images, boxes before and after suppression, tokens."""
        self._count((STAGE_ITEMS, stage, kind), n)

    def error(self, stage: str, reason: str, n: float = 1) -> None:
        """Count an error under a reason from a small fixed set; never put a message or an id in there."""
        self._count((STAGE_ERRORS, stage, reason), n)

    def outcome(self, outcome: str, n: float = 1) -> None:
        """Count `n` requests by what their clients were told: `ok`, `error`, `cancelled` or `rejected`."""
        self._count((REQUESTS, outcome), n)

    def answer(self, tokens_in: int = 0) -> Answer:
        """A `with` block that generates an answer; call `token()` on it for each token that comes out."""
        return Answer(self._cells, tokens_in)

    def trace_id(self, request: object) -> str | None:
        """The trace id of a traced request, None of one that is not."""
        return trace_id(request)

    def log(self, request: object, logger: logging.Logger = _log) -> RequestLog:
        """A logger whose lines carry the trace id of a traced request."""
        return RequestLog(logger, trace_id(request))

    def finalize(self) -> None:
        """Hand over what is left, wait until it was scraped, release the series; for the model's `finalize`.

        Waits at most for one scrape after the last change (TRITONOBS_SCRAPE_INTERVAL_SECONDS, or 5 s, and a
        quarter more or a second), and 5 s more for a Triton that does not answer.
        """
        if os.getpid() != self._process:
            return  # a child of a fork has no flusher and no Triton to talk to
        if self._flusher.stop(self._finalize_seconds):
            atexit.unregister(self._flusher.abandon)
        else:
            _log.warning("worker %s: Triton did not take the last metrics in time", self.worker)
