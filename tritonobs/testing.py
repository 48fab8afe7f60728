"""`FakePbUtils`: Triton's metrics for tests of a model, as strict as release 24.10.

    fake = FakePbUtils()
    stages = Stages({**FakePbUtils.ARGS, "model_name": "detector"}, fake)
    with stages.request(7):
        ...
    assert fake.snapshot().total("tritonobs_requests_total", outcome="ok") == 7
    stages.finalize()
    assert fake.crashes == []

`snapshot` needs no waiting: what was recorded before it is in it. A whole model takes the fake for its
`pb_utils` by `monkeypatch.setitem(sys.modules, "triton_python_backend_utils", fake)`, before it is imported.
Its answers are `InferenceResponse`s; tensors are up to the test.
"""

from __future__ import annotations

import itertools
import math
import re
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from tritonobs.stage.stages import workers_of

Labels = tuple[tuple[str, str], ...]

_LABEL_NAME = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")
COUNTER: Final = "COUNTER"
GAUGE: Final = "GAUGE"
HISTOGRAM: Final = "HISTOGRAM"


class TritonModelException(Exception):
    """What Triton raises when it refuses a call."""


class TritonError:
    """Why a request failed, as a response says it."""

    UNKNOWN, INTERNAL, NOT_FOUND, INVALID_ARG, UNAVAILABLE, UNSUPPORTED, ALREADY_EXISTS, CANCELLED = range(8)

    def __init__(self, message: str, code: int = INTERNAL) -> None:
        self._message, self._code = message, code

    def message(self) -> str:
        """The text."""
        return self._message

    def code(self) -> int:
        """One of those above."""
        return self._code


class _Series:
    """A time series of the server: every Metric with its labels, of any process, writes to this one."""

    def __init__(self, kind: str, bounds: list[float]) -> None:
        self.kind = kind
        self.bounds = bounds
        self.value = 0.0
        self.counts = [0] * (len(bounds) + 1)
        self.freed = False


class Page(dict[tuple[str, Labels], float]):
    """A metrics page: values by sample name and sorted labels; histograms as `_bucket`, `_sum`, `_count`."""

    def total(self, name: str, **labels: str) -> float:
        """The sum of the samples of a name that carry these labels; 0 if there is none."""
        wanted = labels.items()
        return sum(
            value for (own, have), value in self.items() if own == name and wanted <= dict(have).items()
        )


class FakePbUtils:
    """What a model imports as `triton_python_backend_utils`: metrics and responses; models may share one.

    `crashes` says what would have killed the real server, `refusals` what it would have refused (and may have
    died of on 24.10). `calls` counts round trips, `before_call` is called at each, `fails` is raised by each.
    """

    ARGS: Final[Mapping[str, str]] = {
        "model_name": "m",
        "model_version": "1",
        "model_instance_name": "m_0_0",
        "model_config": "{}",
    }
    """What Triton gives to `initialize`, the least of it."""

    def __init__(self, *, metrics: bool = True, histograms: bool = True) -> None:
        self.crashes: list[str] = []
        self.refusals: list[str] = []
        self.calls = 0
        self.fails: Exception | None = None
        self.before_call: Callable[[], object] = lambda: None
        self.families_alive = 0
        self.metrics_alive = 0
        self._kinds: dict[str, str] = {}
        self._series: dict[tuple[str, Labels], _Series] = {}
        self._way_open = threading.Event()
        self._way_open.set()
        self.TritonError, self.TritonModelException = TritonError, TritonModelException
        self.InferenceResponse = type("InferenceResponse", (_InferenceResponse,), {"_server": self})
        # By their ids; they are kept, so that none gets the id of an earlier one.
        self.answered: dict[int, TritonError] = {}
        if metrics:
            kinds = {COUNTER: COUNTER, GAUGE: GAUGE} | ({HISTOGRAM: HISTOGRAM} if histograms else {})
            self.MetricFamily = type("MetricFamily", (_MetricFamily,), {"_server": self, **kinds})

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """A server that answers no metric call while the block runs."""
        self._way_open.clear()
        try:
            yield
        finally:
            self._way_open.set()

    def flush(self) -> None:
        """Have all `Stages` that were made with this flush what they hold, before this returns."""
        for worker in workers_of(self):
            worker.flusher.flush()

    def snapshot(self) -> Page:
        """The metrics page after a flush."""
        self.flush()
        return self.samples()

    def samples(self) -> Page:
        """The metrics page as a scrape would find it now: up to a flush interval old, new series at 0."""
        page = Page()
        for (name, labels), series in list(self._series.items()):
            if series.kind != HISTOGRAM:
                page[name, labels] = series.value
                continue
            edges = [*(f"{bound:.16g}" for bound in series.bounds), "+Inf"]
            for at, edge in enumerate(edges):
                page[f"{name}_bucket", tuple(sorted((*labels, ("le", edge))))] = sum(series.counts[: at + 1])
            page[f"{name}_count", labels] = sum(series.counts)
            page[f"{name}_sum", labels] = series.value
        return page

    def total(self, name: str, **labels: str) -> float:
        """The sum of the samples of a name that carry these labels, as a scrape would find them now."""
        return self.samples().total(name, **labels)

    def refuse(self, text: str) -> TritonModelException:
        """Note a refusal; the caller raises it."""
        self.refusals.append(text)
        return TritonModelException(text)

    def call(self) -> None:
        """One round trip to the server."""
        self.calls += 1
        self.before_call()
        self._way_open.wait()
        if self.fails:
            raise self.fails

    def family(self, name: str, kind: str) -> None:
        """Make a family, or join the one of that name."""
        if self._kinds.setdefault(name, kind) != kind:
            raise self.refuse("Family name already exists with different type")

    def series(self, name: str, kind: str, labels: object, buckets: object) -> tuple[Labels, _Series]:
        """Make a series, or join the one with these labels; buckets of one that exists stay as they are."""
        if labels is not None and not isinstance(labels, dict):
            raise TypeError("labels must be a dict")
        if (kind == HISTOGRAM) != (buckets is not None) or not isinstance(buckets, list | None):
            raise TypeError("buckets are a list, for histograms alone")
        bounds = list(buckets or ())
        if any(low >= high for low, high in itertools.pairwise(bounds)):
            raise self.refuse("buckets are not strictly increasing")
        for label, value in (labels or {}).items():
            if not isinstance(label, str) or not _LABEL_NAME.fullmatch(label):
                raise self.refuse(f"Invalid label name: {label}")
            if not isinstance(value, str):
                raise self.refuse("attempt to access JSON non-string as string")
            value.encode()
        key = (name, tuple(sorted((labels or {}).items())))
        return key[1], self._series.setdefault(key, _Series(kind, bounds))

    def free(self, name: str, labels: Labels) -> None:
        """Remove a series and its memory, also if it is still used elsewhere."""
        series = self._series.pop((name, labels), None)
        if series:
            series.freed = True


class _InferenceResponse:
    _server: FakePbUtils

    def __init__(self, output_tensors: Iterable[object] = (), error: TritonError | None = None) -> None:
        if error is not None:
            if id(error) in self._server.answered:
                self._server.crashes.append(f"an error stands in two responses: {error.message()}")
            self._server.answered[id(error)] = error
        self._tensors, self._error = list(output_tensors), error

    def output_tensors(self) -> list[object]:
        """The answer."""
        return self._tensors

    def has_error(self) -> bool:
        """Whether the request failed."""
        return self._error is not None

    def error(self) -> TritonError | None:
        """Why it failed."""
        return self._error


class _MetricFamily:
    _server: FakePbUtils

    def __init__(self, name: str, description: str, kind: str) -> None:
        self._made: list[Labels] = []
        self.name = name
        self.kind = kind
        if not isinstance(name, str) or not isinstance(description, str) or kind not in _KINDS:
            raise TypeError("MetricFamily(name: str, description: str, kind)")
        self._server.call()
        self._server.family(name, kind)
        self._server.families_alive += 1
        self._alive = True

    def Metric(self, labels: Any = None, buckets: Any = None) -> Metric:  # noqa: ANN401, N802 (Triton's own)
        """A metric of this family."""
        self._server.call()
        own, series = self._server.series(self.name, self.kind, labels, buckets)
        self._made.append(own)
        return Metric(self._server, self.name, series)

    def __del__(self) -> None:
        if getattr(self, "_alive", False):
            self._server.families_alive -= 1
            self._server.calls += 1
            for labels in self._made:
                self._server.free(self.name, labels)


class Metric:
    """One metric object; the real one does not stand two threads at once."""

    def __init__(self, server: FakePbUtils, name: str, series: _Series) -> None:
        self._server = server
        self._name = name
        self._series = series
        self._used = threading.Lock()
        server.metrics_alive += 1

    def __del__(self) -> None:
        self._server.metrics_alive -= 1
        self._server.calls += 1

    def increment(self, value: float) -> None:
        """Counters up, gauges either way."""
        with self._call("increment", (COUNTER, GAUGE), value):
            if self._series.kind == COUNTER and value < 0:
                raise self._server.refuse("a counter cannot go down")
            self._series.value += float(value)

    def set(self, value: float) -> None:
        """Gauges only."""
        with self._call("set", (GAUGE,), value):
            self._series.value = float(value)

    def observe(self, value: float) -> None:
        """Histograms only; NaN lands in the lowest bucket and spoils the sum, as in Triton."""
        with self._call("observe", (HISTOGRAM,), value):
            at = 0 if math.isnan(value) else bisect_left(self._series.bounds, value)
            self._series.counts[at] += 1
            self._series.value += float(value)

    def value(self) -> float:
        """Counters and gauges."""
        with self._call("value", (COUNTER, GAUGE), 0.0):
            return self._series.value

    @contextmanager
    def _call(self, verb: str, kinds: tuple[str, ...], value: object) -> Iterator[None]:
        if isinstance(value, str) or not hasattr(value, "__float__"):
            raise TypeError(f"{verb}(): incompatible function arguments")
        if not self._used.acquire(blocking=False):
            self._server.crashes.append(f"{verb} of {self._name} in two threads at once")
            self._used.acquire()
        try:
            self._server.call()
            if self._series.freed:
                self._server.crashes.append(f"{verb} of {self._name} after its series was released")
            if self._series.kind not in kinds:
                raise self._server.refuse(f"{verb} is not for a {self._series.kind.lower()}")
            yield
        finally:
            self._used.release()


_KINDS = (COUNTER, GAUGE, HISTOGRAM)
