"""OTLP over HTTP: a posted body, JSON or protobuf, becomes spans.

Hostile bodies are refused at a bounded cost. Protobuf is read by the messages of the package
`opentelemetry-proto`, an extra.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tritonobs import outside
from tritonobs.extensions.traces.call import Batch, Span

JSON, PROTOBUF = "application/json", "application/x-protobuf"
MOST_BYTES = 8 * 2**20
"""Of a body, before and after it is unpacked. Triton's batches of 512 spans have about 300 KiB."""
MOST_SPANS = 20_000
_MOST_VALUES = 600_000
"""Of JSON: reading them holds up everything else in the process. A span of Triton's has about 40."""
_MOST_NAME = 256
_LAST_NS = 2**63 - 1
_ID = re.compile(r"[0-9a-fA-F]{1,32}")
_REPLICA_KEYS = ("service.instance.id", "host.name")
_MODEL, _VERSION = "triton.model_name", "triton.model_version"
# OTLP's JSON writes an enum as its number, the usual JSON of protobuf as its name.
_ERROR_STATUSES = (2, "STATUS_CODE_ERROR")


def reader(kind: str) -> Callable[[bytes], Iterable[Batch]]:
    """What reads a media type.

    Raises:
        ValueError: it is not OTLP's, or protobuf and its package is not installed.
    """
    if kind == JSON:
        return read_json
    if kind != PROTOBUF:
        raise ValueError(f"{kind} is not OTLP's")
    try:
        from google.protobuf.message import DecodeError  # noqa: PLC0415 (an extra)
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (  # noqa: PLC0415 (the same)
            ExportTraceServiceRequest,
        )
    except ModuleNotFoundError:
        raise ValueError("protobuf is read with: pip install 'tritonobs[protobuf]'") from None

    def read_protobuf(body: bytes) -> tuple[Batch, ...]:
        request = ExportTraceServiceRequest()
        try:
            request.ParseFromString(body)
        except DecodeError:
            raise ValueError("not OTLP protobuf") from None
        return read_value(_as_json(request))

    return read_protobuf


def reads(kind: str) -> str:
    """Why a media type is not read here; empty for one that is."""
    try:
        reader(kind)
    except ValueError as error:
        return str(error)
    return ""


def unpacked(body: bytes, encoding: str) -> bytes:
    """The body without its `Content-Encoding`.

    Raises:
        ValueError: another encoding than gzip, an incomplete gzip, or more than MOST_BYTES unpacked.
    """
    if encoding in {"", "identity"}:
        return body
    if encoding != "gzip":
        raise ValueError(f"Content-Encoding {encoding[:40]!r} is not known; gzip is")
    machine = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        # The bound is given to zlib: a gzip of 10 GiB of zeros costs what 8 MiB cost.
        plain = machine.decompress(body, MOST_BYTES)
    except zlib.error as error:
        raise ValueError(f"the body is not gzip: {error}") from None
    if machine.unconsumed_tail:
        raise ValueError(f"the body unpacks to more than {MOST_BYTES} bytes")
    if not machine.eof:
        raise ValueError("the gzip ends too early")
    return plain


def read_json(body: bytes) -> tuple[Batch, ...]:
    """The spans of an `ExportTraceServiceRequest` in OTLP's JSON.

    Raises:
        ValueError: not such JSON, or more than MOST_SPANS spans.
    """
    try:
        return read_value(outside.read_json(body, most=_MOST_VALUES))
    except ValueError as error:
        raise ValueError(f"not OTLP JSON: {str(error)[:200]}") from None


def read_value(value: object) -> tuple[Batch, ...]:
    """The spans of an export request as JSON values.

    Raises:
        ValueError: of another shape than OTLP's, or more than MOST_SPANS spans.
    """
    try:
        batches = tuple(_batch(entry) for entry in _objects(_object(value), "resourceSpans"))
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"not of OTLP's shape: {type(error).__name__}: {error}") from None
    count = sum(len(batch.spans) for batch in batches)
    if count > MOST_SPANS:
        raise ValueError(f"{count} spans in one body; at most {MOST_SPANS} are read")
    return batches


def _batch(entry: Mapping[str, Any]) -> Batch:
    resource = _attributes(entry.get("resource", {}), _REPLICA_KEYS)
    return Batch(
        replica=next((resource[key] for key in _REPLICA_KEYS if resource.get(key)), ""),
        spans=tuple(
            _span(span) for scope in _objects(entry, "scopeSpans") for span in _objects(scope, "spans")
        ),
    )


def _span(span: Mapping[str, Any]) -> Span:
    attributes = _attributes(span, (_MODEL, _VERSION))
    events: dict[str, int] = {}
    for event in _objects(span, "events"):
        name, at = _text(event.get("name", "")), _nanoseconds(event.get("timeUnixNano", 0))
        events[name] = min(at, events.get(name, at))
    return Span(
        trace_id=_id(span["traceId"]),
        span_id=_id(span["spanId"]),
        parent_id=_id(parent) if (parent := span.get("parentSpanId")) else "",
        name=_text(span.get("name", "")),
        start_ns=_nanoseconds(span.get("startTimeUnixNano", 0)),
        end_ns=_nanoseconds(span.get("endTimeUnixNano", 0)),
        events=events,
        model=attributes.get(_MODEL, ""),
        version=attributes.get(_VERSION, ""),
        failed=_object(span.get("status") or {}).get("code") in _ERROR_STATUSES,
    )


def _attributes(owner: Mapping[str, Any], keys: Sequence[str]) -> dict[str, str]:
    """Those of the attributes that are asked for."""
    found = {}
    for attribute in _objects(owner, "attributes"):
        if attribute.get("key") in keys:
            value = next(iter(_object(attribute.get("value") or {}).values()), "")
            found[attribute["key"]] = _text(value if isinstance(value, str) else str(value)[:_MOST_NAME])
    return found


def _objects(owner: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    entries = owner.get(key) or ()
    if not isinstance(entries, list | tuple):
        raise TypeError(f"{key} is not a list")
    return map(_object, entries)


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{type(value).__name__} instead of an object")
    return value


def _text(value: object) -> str:
    """A name without characters that labels and exemplars cannot hold.

    Raises:
        ValueError: longer than _MOST_NAME.
    """
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} instead of a text")
    if len(value) > _MOST_NAME:
        raise ValueError(f"a name of {len(value)} characters; at most {_MOST_NAME} are read")
    # JSON can escape lone surrogates, which no page in UTF-8 can hold.
    return value.encode("utf-8", "replace").decode()


def _id(value: object) -> str:
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise ValueError("an id that is not hexadecimal")
    return value.lower()


def _nanoseconds(value: object) -> int:
    """OTLP writes them as strings; some senders as numbers."""
    # The length first: older Pythons take quadratic time for a text of digits.
    if isinstance(value, str) and len(value) <= len(str(_LAST_NS)) and value.isdecimal():
        value = int(value)
    if not isinstance(value, int) or not 0 <= value <= _LAST_NS:
        raise ValueError("a time that is not a number of nanoseconds")
    return value


def _as_json(request: Any) -> dict[str, Any]:  # noqa: ANN401 (generated messages)
    """In the shape of JSON, so that the bounds of names, times and spans hold for both."""
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _pairs(entry.resource.attributes)},
                "scopeSpans": [
                    {"spans": [_span_json(span) for span in scope.spans]} for scope in entry.scope_spans
                ],
            }
            for entry in request.resource_spans
        ]
    }


def _span_json(span: Any) -> dict[str, Any]:  # noqa: ANN401 (generated messages)
    """As OTLP's JSON would have it: ids in hex."""
    return {
        "traceId": span.trace_id.hex(),
        "spanId": span.span_id.hex(),
        "parentSpanId": span.parent_span_id.hex(),
        "name": span.name,
        "startTimeUnixNano": span.start_time_unix_nano,
        "endTimeUnixNano": span.end_time_unix_nano,
        "attributes": _pairs(span.attributes),
        "events": [{"name": event.name, "timeUnixNano": event.time_unix_nano} for event in span.events],
        "status": {"code": span.status.code},
    }


def _pairs(attributes: Iterable[Any]) -> list[dict[str, Any]]:
    return [
        {"key": each.key, "value": {"value": getattr(each.value, each.value.WhichOneof("value") or "", "")}}
        for each in attributes
    ]
