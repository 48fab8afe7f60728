"""Where the time of a request goes: one table per model version, a pipeline with what it calls."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from tritonobs import names
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.timings.measured import (
    COMPUTE_PHASES,
    QUEUE_PHASE,
    REQUEST_PHASE,
    PipelineCall,
    ServerTiming,
    Subject,
    Timing,
    Timings,
    read_timings,
)

_WORTH_A_ROW = 0.005

QUEUE: Final = "(queue)"
COMPUTE: Final = "(compute)"
CALL: Final = "(call)"
OTHER: Final = "(other)"
"""Rows that are not stages: waiting in Triton, all of a model without stages, the way to a called model and
back, time no stage accounts for."""

_NO_TIMING = ServerTiming(rate=0.0, request=None, queue=None)
_BESIDE = 0.05
"""Up to this share of a request beside the model, quantiles of the time in it are the request's."""
_SIDE_BY_SIDE = 1.05
"""Parts that add up to more than this many times the whole overlap; less is reading at two moments."""


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
    reader = Reader(timings, worth)
    busy = {name for name, _ in reader.busy}
    inside = set() if model else {call.model for call in timings.calls if call.pipeline in busy}
    return tuple(
        reader.table(subject)
        for subject in reader.busy
        if model in {"", subject[0]} and version in {"", subject[1]} and subject[0] not in inside
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A part of a request. `path` leads to it: ("preprocess", "decode") is stage decode of what it calls.

    `model` and `version` are whose stage it is. `seconds` is what it adds to one request of the table's
    model, repeats counted, and `share` is that over the whole request. Parts that `overlap` others run
    side by side, or belong to a called model whose mean also contains slower calls of other callers: they are
    charged their share of the time that passes, so that no part is more than what it is a part of. A
    `leaf` has no parts of its own.
    """

    path: tuple[str, ...]
    model: str
    version: str
    timing: Timing
    seconds: float | None
    share: float | None
    leaf: bool
    overlaps: bool = False

    @property
    def name(self) -> str:
        """The last step of the path."""
        return self.path[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTable:
    """One model version. `request` is a whole request: its wait in Triton's queue and its time in the model.

    Triton keeps no distribution of its queue and of its own part: `request` has quantiles only where next
    to nothing
    was spent there, and `inside` has those of the time in the model. `notes` say what limits the numbers.
    """

    model: str
    version: str
    window_seconds: float
    request: Timing
    inside: Timing | None
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @property
    def slowest(self) -> Row | None:
        """The part without parts of its own that takes most of a request."""
        leaves = [row for row in self.rows if row.leaf and row.seconds]
        return max(leaves, key=lambda row: row.seconds or 0.0, default=None)


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where rows are drawn: below `path`, for a model passed `calls` times a request.

    `scale` is the share of their seconds that passes on the clock, `above` the models this one stands in.
    """

    subject: Subject
    path: tuple[str, ...] = ()
    calls: float = 1.0
    scale: float = 1.0
    overlaps: bool = False
    above: frozenset[str] = frozenset()

    def row(
        self, subject: Subject, name: str, timing: Timing, seconds: float | None, *, leaf: bool = True
    ) -> Row:
        return Row(
            path=(*self.path, name),
            model=subject[0],
            version=subject[1],
            timing=timing,
            seconds=None if seconds is None else seconds * self.calls * self.scale,
            share=None,
            leaf=leaf,
            overlaps=self.overlaps,
        )


class Reader:
    """Reads one window; `worth` is the share of a request from which a rest has a row."""

    def __init__(self, timings: Timings, worth: float) -> None:
        self._timings, self._worth = timings, worth
        self._stages = defaultdict[Subject, dict[str, Timing]](dict)
        for (model, version, stage), timing in timings.stages.items():
            self._stages[model, version][stage] = timing
        self._calls = defaultdict[str, list[PipelineCall]](list)
        for call in timings.calls:
            self._calls[call.pipeline].append(call)

    @cached_property
    def busy(self) -> tuple[Subject, ...]:
        """Model versions with requests."""
        return tuple(subject for subject in self._timings.subjects() if self._timings.requests(subject) > 0)

    def table(self, subject: Subject) -> StageTable:
        """One model version."""
        request = self._request(subject)
        whole = request.mean
        rows = tuple(self._rows(subject, _Frame(subject=subject, above=frozenset({subject[0]}))))
        return StageTable(
            model=subject[0],
            version=subject[1],
            window_seconds=self._timings.window_seconds,
            request=request,
            inside=self._stages[subject].get(names.TOTAL_STAGE),
            rows=tuple(
                replace(row, share=row.seconds / whole if whole and row.seconds is not None else None)
                for row in rows
                if row.name not in {CALL, OTHER}
                or (whole and row.seconds and row.seconds / whole > self._worth)
            ),
            notes=tuple(self._notes(subject, request, rows)),
        )

    def _server(self, subject: Subject) -> ServerTiming:
        return self._timings.servers.get(subject, _NO_TIMING)

    def _request(self, subject: Subject) -> Timing:
        """A whole request, with the quantiles of the traced ones where there are some."""
        return self._traced(subject, REQUEST_PHASE, self._counted(subject))

    def _traced(self, subject: Subject, phase: str, timing: Timing) -> Timing:
        """The same with the quantiles of traced requests, which know the queue."""
        traced = self._timings.traced.get((*subject, phase))
        return timing if traced is None else replace(traced, rate=timing.rate, mean=timing.mean)

    def _counted(self, subject: Subject) -> Timing:
        """A whole request: what the model reports and what Triton counted around it, the longer."""
        server, total = self._server(subject), self._stages[subject].get(names.TOTAL_STAGE)
        if total is None or total.mean is None:
            # Triton's own time ends with the first response of an engine like vLLM.
            backend = self._timings.backends.get(subject)
            return backend or Timing(rate=server.rate, mean=server.request)
        queue = server.queue or 0.0
        mean = max(total.mean + queue, server.request or 0.0)
        if mean - total.mean > _BESIDE * mean:
            return Timing(rate=total.rate, mean=mean)
        return replace(total, mean=mean)

    def _rows(self, subject: Subject, frame: _Frame) -> Iterator[Row]:
        """Queue, stages and the rest of a model."""
        frame = replace(frame, subject=subject)
        server, request = self._server(subject), self._request(subject)
        parts = self._parts(subject, request.rate)
        queue = server.queue or 0.0
        if server.queue is not None:
            waited = Timing(rate=server.rate, mean=server.queue)
            yield frame.row(subject, QUEUE, self._traced(subject, QUEUE_PHASE, waited), server.queue)
        room = max(0.0, (request.mean or 0.0) - queue)
        taken = sum(seconds or 0.0 for _, seconds, _ in parts.values())
        inner = frame
        if taken > _SIDE_BY_SIDE * room and taken > 0:
            inner = replace(frame, scale=frame.scale * room / taken, overlaps=True)
        for stage, (timing, seconds, call) in sorted(parts.items(), key=lambda part: -(part[1][1] or 0.0)):
            # A fleet file refuses circles of calls, series may hold them: such a circle is drawn once.
            callee = self._callee(call) if call and call.model not in frame.above else None
            yield inner.row(subject, stage, timing, seconds, leaf=callee is None)
            if callee and call:
                yield from self._called(call, callee, timing, seconds or 0.0, inner)
        rest = room - taken
        if rest > 0:
            phases = () if parts else tuple(self._phases(subject))
            name, timing = OTHER if parts else COMPUTE, Timing(rate=request.rate, mean=rest)
            yield frame.row(subject, name, timing, rest, leaf=not phases)
            within = replace(frame, path=(*frame.path, name))
            spent = sum(phase.mean or 0.0 for _, phase in phases)
            for phase, timing in phases:
                # Traces are a sample: they show how the time is split, Triton's counters how much there is.
                share = (timing.mean or 0.0) / spent if spent else 0.0
                yield within.row(subject, f"({phase})", replace(timing, rate=request.rate), rest * share)

    def _phases(self, subject: Subject) -> Iterator[tuple[str, Timing]]:
        """What traces show of the computation of a model."""
        for phase in COMPUTE_PHASES:
            timing = self._timings.traced.get((*subject, phase))
            if timing is not None:
                yield phase, timing

    def _called(
        self, call: PipelineCall, callee: Subject, timing: Timing, seconds: float, frame: _Frame
    ) -> Iterator[Row]:
        """What a stage that calls a model spends there, and on the way."""
        there = (self._request(callee).mean or 0.0) * call.per_request
        below = replace(
            frame,
            path=(*frame.path, call.stage),
            calls=frame.calls * call.per_request,
            above=frame.above | {call.model},
        )
        if there > _SIDE_BY_SIDE * seconds:
            below = replace(below, scale=frame.scale * seconds / there, overlaps=True)
        yield from self._rows(callee, below)
        if seconds > there:
            way = replace(frame, path=below.path)
            rest = seconds - there
            yield way.row(frame.subject, CALL, Timing(rate=timing.rate, mean=rest), rest)

    def _parts(
        self, subject: Subject, rate: float
    ) -> dict[str, tuple[Timing, float | None, PipelineCall | None]]:
        """The stages of a model: timing, seconds for one request of it, and the call it represents."""
        calls = {call.stage: call for call in self._calls[subject[0]]}
        parts: dict[str, tuple[Timing, float | None, PipelineCall | None]] = {}
        for stage, timing in self._stages[subject].items():
            if stage != names.TOTAL_STAGE and timing.rate > 0:
                # Not every request passes every stage, and some pass one twice.
                seconds = None if timing.mean is None else timing.mean * timing.rate / (rate or timing.rate)
                parts[stage] = (timing, seconds, calls.get(stage))
        # An ensemble times no stages: its parts are the requests that its models served.
        for stage, call in calls.items():
            callee = self._callee(call)
            if stage not in parts and callee:
                request = self._request(callee)
                seconds = None if request.mean is None else request.mean * call.per_request
                parts[stage] = (Timing(rate=request.rate, mean=request.mean), seconds, call)
        return parts

    @cached_property
    def _versions(self) -> dict[str, list[Subject]]:
        versions = defaultdict[str, list[Subject]](list)
        for subject in self.busy:
            versions[subject[0]].append(subject)
        return versions

    def _callee(self, call: PipelineCall) -> Subject | None:
        """The version of the called model that serves most."""
        return max(self._versions.get(call.model, ()), key=self._timings.requests, default=None)

    def _notes(self, subject: Subject, request: Timing, rows: tuple[Row, ...]) -> Iterator[str]:
        model = subject[0]
        total = self._stages[subject].get(names.TOTAL_STAGE)
        if subject in self._timings.backends and total is None:
            yield (
                f"{model} reports no stages of its own: the request is what its backend exports, "
                "because Triton's counters end at the first response"
            )
        elif total is None:
            if request.p50 is None:
                yield f"{model} reports no stages of its own: means are Triton's, without percentiles"
            if subject in self._timings.streaming:
                yield (
                    f"{model} is decoupled: Triton's times end when execute() returns or at the first "
                    "response, not at the last one"
                )
        elif request.p50 is None and total.p50 is not None:
            yield "no percentiles of the whole request: Triton has no histogram of queue time and overhead"
        if (*subject, REQUEST_PHASE) in self._timings.traced:
            yield "percentiles of request and phases are those of the requests that Triton traced"
        if any(timing.known is not None for timing in (request, *(row.timing for row in rows))):
            yield (
                "≥ is the highest percentile that so few requests show; the true one is that or more: "
                "a p99 takes 100 requests, a p95 20"
            )
        if any(row.overlaps for row in rows):
            yield (
                "parts marked ‖ overlap, or belong to a called model whose mean also contains slower calls "
                "of other callers; each is given its share of the time that passes"
            )
        yield from self._call_notes(model, request)

    def _call_notes(self, model: str, request: Timing) -> Iterator[str]:
        for call in self._calls[model]:
            served = sum(self._timings.requests(callee) for callee in self._versions.get(call.model, ()))
            expected = request.rate * call.per_request
            if served == 0:
                yield f"{call.model} has no requests"
            elif served > expected * 1.2 + 0.1:
                yield f"{call.model} also serves others: {served:.3g} requests/s, {expected:.3g} from {model}"
