"""Where the time of a request goes: one table per model version, a pipeline with what it calls."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from tritonobs import names
from tritonobs.live.timings import ServerTiming, Timing, read_timings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.clients.prometheus import PrometheusClient
    from tritonobs.live.timings import PipelineCall, Subject, Timings

QUEUE, COMPUTE, CALL, OTHER = "(queue)", "(compute)", "(call)", "(other)"
"""Rows that are no stage: waiting in Triton, all of a model without stages, the way to a called model and
back, time no stage accounts for."""

_WORTH_A_ROW = 0.005
_NOBODY = ServerTiming(rate=0.0, request=None, queue=None, compute=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A part of a request. `path` leads to it: ("preprocess", "decode") is stage decode of what it calls.

    `model` and `version` are whose stage it is. `seconds` is what it adds to one request of the table's
    model, repeats counted; `share` is that over the whole request. A `leaf` has no parts of its own.
    """

    path: tuple[str, ...]
    model: str
    version: str
    timing: Timing
    seconds: float | None
    share: float | None
    leaf: bool

    @property
    def name(self) -> str:
        """The last step of the path."""
        return self.path[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTable:
    """One model version. `request` is a whole request: its wait in Triton's queue and its time in the model.

    Quantiles are those of the time in the model, because Triton keeps none of its queue. `notes` say what
    limits the numbers.
    """

    model: str
    version: str
    window_seconds: float
    request: Timing
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @property
    def slowest(self) -> Row | None:
        """The part without parts of its own that takes most of a request."""
        leaves = [row for row in self.rows if row.leaf and row.seconds]
        return max(leaves, key=lambda row: row.seconds or 0.0, default=None)


def read_stages(
    prometheus: PrometheusClient, model: str = "", version: str = "", *, window_seconds: float = 60.0
) -> tuple[StageTable, ...]:
    """The tables of the window that ends now.

    Raises:
        ClientError: Prometheus did not answer all of it.
    """
    models = (model,) if model else ()
    timings = read_timings(prometheus, at=time.time(), window_seconds=window_seconds, models=models)
    return stage_tables(timings, model=model, version=version)


def stage_tables(
    timings: Timings, *, model: str = "", version: str = "", worth: float = _WORTH_A_ROW
) -> tuple[StageTable, ...]:
    """A table for every model version with requests; what a shown pipeline calls stands only inside it.

    With `model` (and `version`) only that one. Time beside the stages has a row from this share on.
    """
    reader = _Reader(timings, worth)
    busy = {name for name, edition in timings.subjects() if reader.requests((name, edition)) > 0}
    inside = set() if model else {call.model for call in timings.calls if call.pipeline in busy}
    return tuple(
        reader.table(subject)
        for subject in timings.subjects()
        if model in {"", subject[0]} and version in {"", subject[1]}
        if subject[0] not in inside and reader.requests(subject) > 0
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads tables out of one window."""

    timings: Timings
    worth: float

    def table(self, subject: Subject) -> StageTable:
        request = self._request(subject)
        rows = self._rows(subject, 1.0, (), frozenset({subject[0]}))
        whole = request.mean
        return StageTable(
            model=subject[0],
            version=subject[1],
            window_seconds=self.timings.window_seconds,
            request=request,
            rows=tuple(
                replace(row, share=row.seconds / whole if whole and row.seconds is not None else None)
                for row in rows
                if row.name not in {CALL, OTHER}
                or (whole and row.seconds and row.seconds / whole > self.worth)
            ),
            notes=tuple(self._notes(subject, request)),
        )

    def requests(self, subject: Subject) -> float:
        """Requests a second, by Triton or by the model itself."""
        total = self._total(subject)
        return max(self._server(subject).rate, total.rate if total else 0.0)

    def _server(self, subject: Subject) -> ServerTiming:
        return self.timings.servers.get(subject, _NOBODY)

    def _total(self, subject: Subject) -> Timing | None:
        return self.timings.stages.get((*subject, names.TOTAL_STAGE))

    def _request(self, subject: Subject) -> Timing:
        server, total = self._server(subject), self._total(subject)
        if total is None or total.mean is None:
            return Timing(rate=server.rate, mean=server.request)
        mean = total.mean + (server.queue or 0.0)
        return Timing(rate=total.rate, mean=mean, p50=total.p50, p95=total.p95, p99=total.p99)

    def _rows(
        self, subject: Subject, calls: float, path: tuple[str, ...], above: frozenset[str]
    ) -> Iterator[Row]:
        """Queue, stages and the rest of a model passed `calls` times a request; `above` stops circles."""
        server, request = self._server(subject), self._request(subject)
        row = partial(_row, subject, calls)
        if server.queue is not None:
            yield row((*path, QUEUE), Timing(rate=server.rate, mean=server.queue), server.queue)
        spent = server.queue or 0.0
        parts = self._parts(subject, request.rate)
        for stage, (timing, seconds, call) in sorted(parts.items(), key=lambda part: -(part[1][1] or 0.0)):
            spent += seconds or 0.0
            callee = self._callee(call) if call and call.model not in above else None
            yield row((*path, stage), timing, seconds, leaf=callee is None)
            if callee and call:
                below = (*path, stage)
                yield from self._rows(callee, calls * call.per_request, below, above | {call.model})
                rest = (seconds or 0.0) - (self._request(callee).mean or 0.0) * call.per_request
                if rest > 0:
                    yield row((*below, CALL), Timing(rate=timing.rate, mean=rest), rest)
        rest = (request.mean or 0.0) - spent
        if rest > 0:
            yield row((*path, OTHER if parts else COMPUTE), Timing(rate=request.rate, mean=rest), rest)

    def _parts(
        self, subject: Subject, rate: float
    ) -> dict[str, tuple[Timing, float | None, PipelineCall | None]]:
        """The stages of a model: timing, seconds for one request of it, and the call it stands for."""
        calls = {call.stage: call for call in self.timings.calls if call.pipeline == subject[0]}
        parts: dict[str, tuple[Timing, float | None, PipelineCall | None]] = {}
        for (model, version, stage), timing in self.timings.stages.items():
            if (model, version) == subject and stage != names.TOTAL_STAGE and timing.rate > 0:
                # Not every request passes every stage, and some pass one twice.
                seconds = None if timing.mean is None else timing.mean * timing.rate / (rate or timing.rate)
                parts[stage] = (timing, seconds, calls.get(stage))
        for stage, call in calls.items():
            callee = self._callee(call)
            if stage not in parts and callee:
                request = self._request(callee)
                seconds = None if request.mean is None else request.mean * call.per_request
                parts[stage] = (Timing(rate=request.rate, mean=request.mean), seconds, call)
        return parts

    def _callee(self, call: PipelineCall) -> Subject | None:
        """The version of the called model that serves most."""
        busy = [
            subject
            for subject in self.timings.subjects()
            if subject[0] == call.model and self.requests(subject) > 0
        ]
        return max(busy, key=self.requests, default=None)

    def _notes(self, subject: Subject, request: Timing) -> Iterator[str]:
        model = subject[0]
        if self._total(subject) is None:
            yield f"{model} reports no stages of its own: means are Triton's, without percentiles"
        for call in self.timings.calls:
            if call.pipeline != model:
                continue
            served = sum(
                self.requests(callee) for callee in self.timings.subjects() if callee[0] == call.model
            )
            expected = request.rate * call.per_request
            if served == 0:
                yield f"{call.model} shows no requests"
            elif served > expected * 1.2 + 0.1:
                yield f"{call.model} also serves others: {served:.3g} requests/s, {expected:.3g} from {model}"


def _row(
    subject: Subject,
    calls: float,
    path: tuple[str, ...],
    timing: Timing,
    seconds: float | None,
    *,
    leaf: bool = True,
) -> Row:
    return Row(
        path=path,
        model=subject[0],
        version=subject[1],
        timing=timing,
        seconds=None if seconds is None else seconds * calls,
        share=None,
        leaf=leaf,
    )
