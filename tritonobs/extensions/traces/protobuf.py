"""OTLP's protobuf, by the messages of the package `opentelemetry-proto`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tritonobs.extensions.traces.call import Batch
from tritonobs.extensions.traces.otlp import read_value


def read_protobuf(body: bytes) -> tuple[Batch, ...]:
    """The spans of an `ExportTraceServiceRequest`.

    Raises:
        ValueError: not such a message, or more spans than are read of one body.
    """
    request = ExportTraceServiceRequest()
    try:
        request.ParseFromString(body)
    except DecodeError:
        raise ValueError("not OTLP protobuf") from None
    # In the shape of JSON, so that the bounds of names, times and spans hold for both.
    return read_value(
        {
            "resourceSpans": [
                {
                    "resource": {"attributes": _attributes(entry.resource.attributes)},
                    "scopeSpans": [
                        {"spans": [_span(span) for span in scope.spans]} for scope in entry.scope_spans
                    ],
                }
                for entry in request.resource_spans
            ]
        }
    )


def _span(span: Any) -> dict[str, Any]:  # noqa: ANN401 (generated messages)
    """As OTLP's JSON would have it: ids in hex."""
    return {
        "traceId": span.trace_id.hex(),
        "spanId": span.span_id.hex(),
        "parentSpanId": span.parent_span_id.hex(),
        "name": span.name,
        "startTimeUnixNano": span.start_time_unix_nano,
        "endTimeUnixNano": span.end_time_unix_nano,
        "attributes": _attributes(span.attributes),
        "events": [{"name": event.name, "timeUnixNano": event.time_unix_nano} for event in span.events],
        "status": {"code": span.status.code},
    }


def _attributes(attributes: Iterable[Any]) -> list[dict[str, Any]]:
    return [
        {"key": each.key, "value": {"value": getattr(each.value, each.value.WhichOneof("value") or "", "")}}
        for each in attributes
    ]
