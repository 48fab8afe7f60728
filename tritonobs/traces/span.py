"""Spans as Triton's OpenTelemetry mode sends them, as far as they are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One span; times are Unix nanoseconds, ids lower-case hex, `parent_id` is "" without one.

    `events` holds the first time of each name: Triton repeats only the sending of responses, and sends events
    in no order.
    """

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start_ns: int
    end_ns: int
    events: Mapping[str, int]
    model: str = ""
    version: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The spans of one server; `replica` is what its resource attributes call it, "" where they do not."""

    replica: str
    spans: tuple[Span, ...]
