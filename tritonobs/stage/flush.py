"""The one thread that talks to Triton: flushes what grew, never in a way that can crash Triton."""

from __future__ import annotations

import dis
import logging
import math
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from time import perf_counter
from types import FrameType
from typing import Any, Final

from tritonobs.stage import series
from tritonobs.stage.cells import PATH, Cells
from tritonobs.stage.record import Key, Numbers

_OBSERVES_PER_FLUSH: Final = 5_000  # about 0.1 ms each
_OBSERVES_WAITING: Final = 20_000
_LOOK_SECONDS: Final = 0.02
_BACKEND: Final = "c_python_backend_utils"  # what Triton's Python backend adds to its own processes
_TOO_OLD: Final = "this Triton has no metrics for models, which 23.05 and newer have"
_ELSEWHERE: Final = (
    "this process does not belong to Triton's Python backend, and Triton accepts metrics of models only from "
    "its processes (a function bound with PyTriton runs in a process of its own; see docs/instrument.md)"
)
_log = logging.getLogger("tritonobs.stage")


class _Series:
    """One label set as Triton knows it: its metrics in the order of a flush, and how far each was raised."""

    __slots__ = ("born", "metrics", "name", "passed")

    def __init__(self, name: str, born: float, metrics: list[Any], numbers: int) -> None:
        self.name = name
        self.born = born
        self.metrics = metrics
        self.passed = [0.0] * numbers


class Flusher(threading.Thread):
    """Hands over what `cells` gained, every `interval_seconds`, until `stop`.

    It begins when the `initialize` that made it has returned: metrics of one that fails would stay forever.
    A label set starts at 0 and is raised `scrape_seconds` later, so Prometheus sees the step. After its last
    change the thread waits as long for one more scrape, then releases its families; no other process has any.
    """

    def __init__(
        self,
        pb_utils: object,
        identity: Mapping[str, str],
        cells: Cells,
        *,
        sink: str,
        interval_seconds: float,
        scrape_seconds: float,
    ) -> None:
        # A daemon: a model that forgets `finalize` must not keep its process from ending.
        super().__init__(name="tritonobs-flusher", daemon=True)
        self._pb_utils = pb_utils
        self._identity = dict(identity)
        self._cells = cells
        self._as_histogram = sink == "histogram"
        self._interval_seconds = interval_seconds
        self._scrape_seconds = scrape_seconds
        self._loading = Loading()
        self._abandoned = False
        self._stopping = False
        self._wake = threading.Event()
        self._asked: deque[threading.Event] = deque()
        self._families: dict[str, Any] = {}
        self._series: dict[Key, _Series] = {}
        self._broken: set[str] = set()
        self._told: set[str] = set()
        self._heartbeat: Any = None
        self._info: Any = None
        self._beat = 0.0
        self._changed = 0.0

    def stop(self, timeout_seconds: float) -> bool:
        """Flush for the last time and release; False when that took too long and was abandoned."""
        self._stopping = True
        self._wake.set()
        if self.is_alive():
            self.join(timeout_seconds)
        return not self.is_alive()

    def flush(self) -> None:
        """Hand over all there is before this returns, new label sets too: for the tests of a model."""
        done = threading.Event()
        self._asked.append(done)
        self._wake.set()
        while self.is_alive() and self is not threading.current_thread() and not done.wait(_LOOK_SECONDS):
            pass

    def abandon(self) -> None:
        """Use no metric any more: at interpreter exit Triton's connection is gone, a call would crash."""
        self._abandoned = True

    def run(self) -> None:
        """Flush until stopped. No error leaves this thread."""
        try:
            while not self._stopping and not self._loading.ended():
                self._wake.wait(_LOOK_SECONDS)
            if not self._loading.ended() or self._loading.raised() or not self._has_metrics():
                return
            while not self._abandoned:
                # Read before the flush: a stop or a question that comes during it gets a flush of its own.
                last, asked = self._stopping, [self._asked.popleft() for _ in range(len(self._asked))]
                self._flush(hold=not last and not asked)
                for done in asked:
                    done.set()
                if last:
                    break
                self._wake.wait(self._interval_seconds)
                self._wake.clear()
            time.sleep(max(0.0, self._changed + self._scrape_seconds - time.monotonic()))
        except Exception:  # noqa: BLE001 (a thread that dies of it would print a traceback and keep its metrics)
            _log.exception("stage metrics of %s stop: a fault in tritonobs", self._identity)
        if not self._abandoned:
            self._heartbeat = self._info = None
            self._series.clear()
            # Series leave Triton's page with their family; deleting only the metrics does not remove them.
            self._families.clear()

    def _has_metrics(self) -> bool:
        family = getattr(self._pb_utils, "MetricFamily", None)
        if family is None:
            here = _BACKEND in sys.modules
            _log.warning("%s: stage metrics are off", _TOO_OLD if here else _ELSEWHERE)
            return False
        if self._as_histogram and not hasattr(family, "HISTOGRAM"):
            _log.warning("this Triton has no histograms for models (needs 24.08): using counters, same names")
            self._as_histogram = False
        # A Triton built without metrics refuses each family; one refusal is enough to know.
        self._set_heartbeat()
        if series.HEARTBEAT in self._broken:
            return False
        self._info = self._metric(series.STAGE_INFO, series.STAGE_INFO, "GAUGE", {"path": PATH})
        if self._info is not None:
            self._call(series.STAGE_INFO, self._info.increment, 1)
        return True

    def _flush(self, *, hold: bool) -> None:
        """Hand over what grew; with `hold`, a new label set stands at 0 for a scrape first."""
        now = time.monotonic()
        rises: list[tuple[_Series, Numbers]] = []
        observations: list[tuple[_Series, tuple[float, ...], Numbers]] = []
        for key, numbers in self._cells.totals().items():
            known = self._series.get(key)
            if known is None:
                known = self._series[key] = self._open(key, now)
            if hold and now - known.born < self._scrape_seconds:
                continue
            if key[0] not in series.DISTRIBUTIONS:
                rises.append((known, numbers))
            elif self._as_histogram:
                observations.append((known, self._cells.bounds(key), numbers))
            else:
                rises.append((known, _levels(numbers)))
        self._observe(observations, all_now=not hold)
        self._raise(rises)
        self._set_heartbeat()
        self._tell()

    def _open(self, key: Key, now: float) -> _Series:
        name, *values = key
        # An error of the model's own has no outcome: its series is the one from before there was `invalid`.
        labels = dict(zip(series.FAMILIES[name][1], values, strict=False))
        if name not in series.DISTRIBUTIONS:
            return _Series(name, now, [self._metric(name, name, "COUNTER", labels)], 1)
        bounds = self._cells.bounds(key)
        if self._as_histogram:
            metric = self._metric(name, name, "HISTOGRAM", labels, buckets=list(bounds))
            return _Series(name, now, [metric], 2 * len(bounds) + 2)
        metrics = [self._metric(name, f"{name}{suffix}", "COUNTER", labels) for suffix in ("_count", "_sum")]
        for bound in (math.inf, *reversed(bounds)):
            bucket = {**labels, "le": series.format_bound(bound)}
            metrics.append(self._metric(name, f"{name}_bucket", "COUNTER", bucket))
        return _Series(name, now, metrics, len(metrics))

    def _metric(
        self, name: str, sample: str, kind: str, labels: Mapping[str, str], **buckets: list[float]
    ) -> Any:  # noqa: ANN401 (Triton's classes have no types)
        """A new metric, or nothing if Triton refuses it."""
        if sample not in self._families:
            new_family: Any = getattr(self._pb_utils, "MetricFamily")  # noqa: B009 (pb_utils has no types)
            kinds: Any = getattr(new_family, kind, None)
            help_text = series.FAMILIES[name][0]
            self._families[sample] = self._call(
                name, new_family, name=sample, description=help_text, kind=kinds
            )
        family = self._families[sample]
        if family is None:
            return None
        return self._call(name, family.Metric, labels={**self._identity, **labels}, **buckets)

    def _call(self, family: str, function: Callable[..., Any], /, *values: object, **named: object) -> Any:  # noqa: ANN401 (as above)
        """One call of Triton. A family that failed is not used again: each failure may harm the server."""
        if family in self._broken:
            return None
        started = perf_counter()
        try:
            return function(*values, **named)
        except Exception as error:  # noqa: BLE001 (requests go on after any failure)
            self._broken.add(family)
            self._cells.record.count((series.FLUSH_ERRORS,), 1)
            _log.warning("%s is not published any more, Triton said: %s", family, error)
            return None
        finally:
            self._cells.record.count((series.FLUSH_SECONDS,), perf_counter() - started)

    def _raise(self, rises: list[tuple[_Series, Numbers]]) -> None:
        """Raise counters level by level: the largest `le` of every label set, then of every the next smaller.

        A scrape that falls between two calls sees no bucket above a larger one. Triton reads a family one
        series after the other, so calls can also fall into one reading; with the levels of a label set this
        far apart, about one reading in 5,000 shows it.
        """
        for level in range(max((len(targets) for _, targets in rises), default=0)):
            for known, targets in rises:
                if level >= len(targets) or known.name in self._broken:
                    continue
                step = targets[level] - known.passed[level]
                if step > 0:
                    self._call(known.name, known.metrics[level].increment, step)
                    known.passed[level] += step
                    # Our own health changes with every flush: `finalize` would wait for it when idle.
                    if known.name not in _OWN:
                        self._changed = time.monotonic()

    def _observe(
        self, observations: list[tuple[_Series, tuple[float, ...], Numbers]], *, all_now: bool
    ) -> None:
        """Pass observations one by one, each as the mean of its bucket: bucket counts and sum are exact.

        The excess of one flush waits; beyond the queue's limit observations are dropped evenly, and counted.
        """
        pending = sum(sum(numbers[::2]) - sum(known.passed[::2]) for known, _, numbers in observations)
        keep = min(1.0, _OBSERVES_WAITING / max(pending, 1))
        share = keep if all_now else min(keep, _OBSERVES_PER_FLUSH / max(pending, 1))
        for known, bounds, numbers in observations:
            edges = (0.0, *bounds, math.inf)
            for at in range(0, len(numbers), 2):
                missing = int(numbers[at] - known.passed[at])
                if missing <= 0 or known.name in self._broken:
                    continue
                mean = (numbers[at + 1] - known.passed[at + 1]) / missing
                low, high = edges[at // 2], edges[at // 2 + 1]
                # Rounding may move a mean over the edge, into a neighbouring bucket.
                mean = min(max(mean, math.nextafter(low, math.inf) if at else 0.0), high)
                dropped = int(missing * (1 - keep))
                passing = min(math.ceil(missing * share), missing - dropped)
                for _ in range(passing):
                    self._call(known.name, known.metrics[0].observe, mean)
                # Dropped observations count as passed, or the next flush would find them missing again.
                known.passed[at] += passing + dropped
                known.passed[at + 1] += (passing + dropped) * mean
                self._changed = time.monotonic()
                if dropped:
                    self._cells.drop("queue_full", dropped, known.name)

    def _set_heartbeat(self) -> None:
        """Set the gauge by adding the difference: `set` would hold Python's lock during its round trip."""
        if self._heartbeat is None:
            self._heartbeat = self._metric(series.HEARTBEAT, series.HEARTBEAT, "GAUGE", {})
        if self._heartbeat is not None:
            step = time.time() - self._beat
            self._call(series.HEARTBEAT, self._heartbeat.increment, step)
            self._beat += step

    def _tell(self) -> None:
        # A copy: a request may add the first example of another reason meanwhile.
        for reason, example in list(self._cells.examples.items()):
            if reason not in self._told:
                self._told.add(reason)
                _log.warning("records are dropped (%s), the first was %s", reason, example)


_OWN: Final = frozenset({series.FLUSH_ERRORS, series.FLUSH_SECONDS, series.FLUSH_DROPPED})


def _levels(numbers: Numbers) -> Numbers:
    """Count, sum, and the cumulative buckets from +Inf down: what a distribution's counters must read."""
    cumulative: Numbers = []
    for count in numbers[::2]:
        cumulative.append((cumulative[-1] if cumulative else 0) + count)
    return [cumulative[-1], sum(numbers[1::2]), *reversed(cumulative)]


class Loading:
    """The call of `initialize` that is running in this thread when this is made, and whether it succeeds.

    Metrics that a worker made before its `initialize` failed stay on Triton's page until the server restarts:
    the process ends without a call of `finalize`, and when it ends the connection to Triton is gone. So none
    is made before. It is found without a change of the model.

    A frame keeps the instruction it ended at: a `return`, or the one that raised.
    """

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        stack = _stack(sys._getframe())  # noqa: SLF001 (what inspect.stack uses, without reading source files)
        # The outermost of that name is Triton's call: it may call the `initialize` of a base class.
        self._call = next((frame for frame in reversed(stack) if frame.f_code.co_name == "initialize"), None)
        self._raised = False

    def ended(self) -> bool:
        """Whether it has; if there is none, yes."""
        if self._call is None:
            return True
        now = sys._current_frames().get(self._thread)  # noqa: SLF001 (as above)
        if any(frame is self._call for frame in _stack(now)):
            return False
        at = self._call.f_code.co_code[self._call.f_lasti]
        # RETURN_VALUE; Python 3.12 and 3.13 have RETURN_CONST, too.
        self._raised = not dis.opname[at].startswith("RETURN")
        self._call = None  # holds what `initialize` had in its variables
        return True

    def raised(self) -> bool:
        """Whether it has ended by an exception."""
        return self.ended() and self._raised


def _stack(frame: FrameType | None) -> list[FrameType]:
    """The frame, what called it, and so on."""
    found = []
    while frame:
        found.append(frame)
        frame = frame.f_back
    return found
