"""`Stages`: what a model holds, one per model instance."""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING

from tritonobs.stage.handles import Answer
from tritonobs.stage.series import INVALID, REQUESTS, STAGE_DURATION, STAGE_ERRORS, STAGE_ITEMS, STAGE_SIZE
from tritonobs.stage.settings import read_settings
from tritonobs.stage.trace import RequestLog, trace_id
from tritonobs.stage.worker import shared_worker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tritonobs.stage.handles import Request
    from tritonobs.stage.record import Timer
    from tritonobs.stage.series import Outcome

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

    def timed(self, stage: str) -> Callable[[Callable[..., object]], Callable[..., object]]:
        """The old name of `time` as a decorator, until 0.7."""
        warnings.warn("stages.timed(stage) is now stages.time(stage)", DeprecationWarning, stacklevel=2)
        return self.time(stage)

    def observe(self, stage: str, seconds: float, n: int = 1) -> None:
        """Record `n` observations of `seconds` each."""
        self._record.distribute(stage if isinstance(stage, str) else (STAGE_DURATION, stage), seconds, n)

    def size(self, stage: str, kind: str, value: float, n: int = 1) -> None:
        """Record how large what came in was, in the unit `kind` names: `megapixels`, `bytes`, `boxes`."""
        self._record.distribute((STAGE_SIZE, stage, kind), value, n)

    def items(self, stage: str, kind: str, n: float = 1) -> None:
        """Count things worked on: images, boxes before and after suppression, tokens."""
        self._record.count((STAGE_ITEMS, stage, kind), n)

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
