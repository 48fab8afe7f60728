"""`Stages`: what a model holds, one per model instance.

Behind those of one model instance is its worker: its numbers, and its flusher. Log lines can carry the trace
of a request.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import re
import threading
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, Final

from tritonobs.stage import series
from tritonobs.stage.cells import COMPILED, Cells, asked_for_python, record_path
from tritonobs.stage.flush import Flusher
from tritonobs.stage.record import Answer, Request, Timer
from tritonobs.stage.series import (
    INVALID,
    REQUESTS,
    STAGE_DURATION,
    STAGE_ERRORS,
    STAGE_SIZE,
    Outcome,
)
from tritonobs.stage.settings import Settings, read_settings

_log = logging.getLogger("tritonobs.stage")


class Stages:
    """Stage metrics of one model instance, made in `initialize` from its `args` and Triton's `pb_utils`.

    Every method may be called from any thread, costs about a microsecond and never raises: what cannot be
    recorded is counted in `tritonobs_flush_dropped_total`, its first example logged. A thread hands the
    numbers to Triton every `flush_interval_seconds`, or else every half scrape interval, 0.5 to 5 seconds
    (1 second at most with the sink `histogram`).
    At most `max_label_sets` label sets are kept. `latency_buckets` are upper bounds in seconds; the model's
    parameter of that name takes precedence. Of one model instance there is one: more share its numbers.

    A batch charges each of its requests the whole batch, as Triton's own `compute_*` durations do: the time a
    request spent, not its share of the work.

    Raises:
        ValueError: `latency_buckets` is not a list of 1 to 100 strictly increasing seconds.
    """

    time: Callable[[str], Timer]
    """`time(stage)`: a `with` block, also one that raises, or the calls of the function it decorates, is one
    observation of a stage; of a coroutine until its result, of a generator until its end. `as timer` gives
    `timer.seconds`. It runs from when it was made: `timer.end()`, in any thread, ends it without a block.
    """
    batch: Callable[[str, int], Timer]
    """`batch(stage, n)`: the same for `n` requests at once, `n` observations, each of the whole block."""
    request: Callable[..., Request]
    """`request(n=1)`: a `with` block that answers `n` requests: `n` observations of `total`, and an outcome
    for each. The outcome is `ok`, `invalid` if the block raises `InvalidInput`, `error` if it raises anything
    else; `request.outcome` names others. Without a block `request.end()` ends it, in any thread.
    """
    items: Callable[..., None]
    """`items(stage, kind, n=1)`: things worked on: images, boxes before and after suppression, tokens."""

    def __init__(
        self,
        args: Mapping[str, str],
        pb_utils: object,
        *,
        latency_buckets: Sequence[float] | None = None,
        flush_interval_seconds: float | None = None,
        max_label_sets: int = 100,
    ) -> None:
        settings = read_settings(args, latency_buckets, flush_interval_seconds)
        self._worker = shared_worker(pb_utils, settings, max_label_sets)
        self.worker = self._worker.name
        self._record = self._worker.cells.record
        # No methods of this class: just after Triton woke this process, each call costs cache misses.
        self.time = self.batch = self._record.time
        self.request = self._record.request
        self.items = self._record.items

    def observe(self, stage: str, seconds: float, n: int = 1) -> None:
        """Record `n` observations of `seconds` each."""
        self._record.distribute(stage if isinstance(stage, str) else (STAGE_DURATION, stage), seconds, n)

    def size(self, stage: str, kind: str, value: float, n: int = 1) -> None:
        """Record how large what came in was, in the unit `kind` names: `megapixels`, `bytes`, `boxes`."""
        self._record.distribute((STAGE_SIZE, stage, kind), value, n)

    def error(self, stage: str, reason: str, n: float = 1) -> None:
        """Count an error under a reason from a small fixed set; never put a message or an id in there."""
        self._record.count((STAGE_ERRORS, stage, reason), n)

    def invalid(self, stage: str, reason: str, n: float = 1) -> None:
        """Count input that a stage refused, the caller's fault, with a reason like those of `error`.

        The outcome of its request is set by `request.outcome("invalid")`.
        """
        self._record.count((STAGE_ERRORS, stage, reason, INVALID), n)

    def outcome(self, outcome: Outcome, n: float = 1) -> None:
        """Count `n` requests by the answer of their clients; `request` does it itself.

        A request that Triton's response cache answers never comes here: it has no outcome and no `total`.
        """
        self._record.count((REQUESTS, outcome), n)

    def answer(self, tokens_in: int = 0) -> Answer:
        """An answer that is generated from now on; call `token()` on it for each token that comes out."""
        return Answer(self._record, tokens_in)

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
        self._worker.finalize()


_GIVE_UP_SECONDS: Final = 5.0


class Worker:
    """One model instance of this process; its series carry its `name`.

    `shared_worker` finds the one that a model instance has already: numbers of two would be added up.
    """

    def __init__(self, pb_utils: object, settings: Settings, max_label_sets: int) -> None:
        self.name = settings.identity["worker"]
        self.pb_utils = pb_utils
        self.settings = settings
        self.cells = Cells(settings.bounds_seconds, max_label_sets)
        self.cells.declare((series.REQUESTS, outcome) for outcome in series.OUTCOMES)
        self.cells.declare([series.TOTAL, (series.FLUSH_ERRORS,), (series.FLUSH_SECONDS,)])
        self._process = os.getpid()
        self.flusher = Flusher(
            pb_utils,
            settings.identity,
            self.cells,
            sink=settings.sink,
            interval_seconds=settings.flush_interval_seconds,
            scrape_seconds=settings.scrape_seconds,
        )
        # Only `initialize` is given a model instance; elsewhere, a metric call would hang Triton forever.
        if settings.model_instance:
            atexit.register(self.flusher.abandon)
            self.flusher.start()
        else:
            _log.warning("args name no model_instance_name: stage metrics are off outside of initialize")

    def serves(self, pb_utils: object, settings: Settings) -> bool:
        """Whether this is the worker of that model instance."""
        own = (self.settings.model, self.settings.version, self.settings.model_instance)
        return self.pb_utils is pb_utils and own == (
            settings.model,
            settings.version,
            settings.model_instance,
        )

    def finalize(self) -> None:
        """Hand over what is left, wait until it was scraped, release the series."""
        if os.getpid() != self._process:
            return  # a child of a fork has no flusher and no Triton to talk to
        # Before the wait for a scrape: stages that are made meanwhile must not share a worker that ends.
        with _lock:
            if self in _workers:
                _workers.remove(self)
        if self.flusher.stop(self.settings.scrape_seconds + _GIVE_UP_SECONDS):
            # Else every ended flusher stays in memory until the process ends.
            atexit.unregister(self.flusher.abandon)
        else:
            _log.warning("worker %s: Triton did not accept the last metrics in time", self.name)


_workers: list[Worker] = []
_lock = threading.Lock()


def shared_worker(pb_utils: object, settings: Settings, max_label_sets: int) -> Worker:
    """The worker of a model instance, made if it has none that is not finalized."""
    with _lock:
        for worker in _workers:
            if settings.model_instance and worker.serves(pb_utils, settings):
                _log.warning(
                    "model %s has stages in this process already: the new ones share numbers, settings and "
                    "finalize with them; record each request and stage in one place",
                    settings.model,
                )
                return worker
        if not _workers:
            # It does not show from outside that requests are recorded in Python, at five times the cost.
            _log.log(
                logging.INFO if COMPILED or asked_for_python() else logging.WARNING,
                "record path: %s",
                record_path(),
            )
        worker = Worker(pb_utils, settings, max_label_sets)
        if settings.model_instance:
            _workers.append(worker)
        return worker


def workers_of(pb_utils: object) -> list[Worker]:
    """The workers that flush to this Triton and are not finalized."""
    with _lock:
        return [worker for worker in _workers if worker.pb_utils is pb_utils]


_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


def trace_id(request: object) -> str | None:
    """The W3C trace id (32 hex digits) of a traced request; None for another, and on an old Triton."""
    try:
        trace: Any = request
        context = trace.trace().get_context()
        match = _TRACEPARENT.fullmatch(json.loads(context)["traceparent"]) if context else None
    except Exception:  # noqa: BLE001 (a log line's ornament never fails a request)
        return None
    return match[1] if match else None


class RequestLog(logging.LoggerAdapter):  # type: ignore[type-arg] # not generic before Python 3.11
    """Log lines of one request: its trace id in front if there is one, and as `trace_id` for formatters."""

    def __init__(self, logger: logging.Logger, traced: str | None) -> None:
        super().__init__(logger, {"trace_id": traced or ""})
        self._prefix = f"trace_id={traced} " if traced else ""

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:  # noqa: ANN401 (as logging declares it)
        """As logging asks of an adapter."""
        # Merged: an adapter of logging replaces the `extra` of the call.
        kwargs["extra"] = {**(self.extra or {}), **(kwargs.get("extra") or {})}
        return f"{self._prefix}{msg}", kwargs
