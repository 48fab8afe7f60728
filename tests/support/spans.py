"""Spans as Triton 24.10 sends them, made by hand: OTLP's JSON of requests with known times."""

from __future__ import annotations

import itertools
import json
from typing import Any

BEGIN_NS = 1_795_310_000_000_000_000
_ids = itertools.count(1)


def _id(digits: int) -> str:
    return f"{next(_ids):0{digits}x}"


def span(name: str, trace: str, parent: str, events: dict[str, int], **more: Any) -> dict[str, Any]:
    """One span; its first and last event are its start and end."""
    return {
        "traceId": trace,
        "spanId": _id(16),
        **({"parentSpanId": parent} if parent else {}),
        "name": name,
        "startTimeUnixNano": str(min(events.values())),
        "endTimeUnixNano": str(max(events.values())),
        "events": [{"name": event, "timeUnixNano": str(at)} for event, at in events.items()],
        **more,
    }


def model(
    name: str,
    trace: str,
    parent: str,
    *,
    start: int,
    queue: float = 0.001,
    compute: float = 0.01,
    version: str = "1",
    inner: tuple[str, ...] = (),
    computed: bool = True,
    answered: bool = True,
) -> list[dict[str, Any]]:
    """A model's span and what lies below it; `inner` are models that it calls one after the other.

    Seconds; a tenth of `compute` goes for the input, and a tenth for the output.
    """
    began = start + int(queue * 1e9)
    end = began + int(compute * 1e9)
    events = {"QUEUE_START": start, "REQUEST_START": start}
    if answered:
        events["REQUEST_END"] = end
    attributes = {"triton.model_name": name, "triton.model_version": version, "triton.trace_id": "7"}
    own = span(
        name,
        trace,
        parent,
        events,
        attributes=[{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    )
    tenth = (end - began) // 10
    parts = {
        "COMPUTE_END": end,
        "COMPUTE_START": began,
        "COMPUTE_INPUT_END": began + tenth,
        "COMPUTE_OUTPUT_START": end - tenth,
    }
    below = [span("compute", trace, own["spanId"], parts)] if computed and answered else []
    for place, called in enumerate(inner):
        at = began + place * (end - began) // len(inner)
        below += model(called, trace, own["spanId"], start=at, queue=queue, compute=compute / 10)
    return [*below, own]


def request(
    name: str, *, trace: str = "", caller: str = "", at: int = BEGIN_NS, **more: Any
) -> list[dict[str, Any]]:
    """All spans of one request, the outermost last, as a server ends them."""
    trace = trace or _id(32)
    outer = span("InferRequest", trace, caller, {"HTTP_RECV_START": at})
    return [*model(name, trace, outer["spanId"], start=at, **more), outer]


def body(*spans: dict[str, Any], replica: str = "a") -> dict[str, Any]:
    """An export request of one server."""
    resource = [{"key": "service.instance.id", "value": {"stringValue": replica}}] if replica else []
    scope = {"scope": {"name": "triton-server"}, "spans": list(spans)}
    return {"resourceSpans": [{"resource": {"attributes": resource}, "scopeSpans": [scope]}]}


def posted(*spans: dict[str, Any], replica: str = "a") -> bytes:
    """The same as it is posted."""
    return json.dumps(body(*spans, replica=replica)).encode()
