"""Posted bodies become spans, or are refused at a bounded cost."""

from __future__ import annotations

import gzip
import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from support.spans import BEGIN_NS, body, posted, request
from tritonobs.extensions.traces.otlp import MOST_BYTES, MOST_SPANS, PROTOBUF, read_json, reader, unpacked

NESTED = b'{"resourceSpans":' + b"[" * 200_000


def test_a_batch_of_triton_is_read():
    """Ids, names, events with their times, and which server it was."""
    (batch,) = read_json(posted(*request("detector", trace="0af7651916cd43dd8448eb211c80319c")))
    compute, own, outer = batch.spans
    assert (batch.replica, own.model, own.version, outer.name) == ("a", "detector", "1", "InferRequest")
    assert own.trace_id == "0af7651916cd43dd8448eb211c80319c"
    assert (own.parent_id, compute.parent_id, outer.parent_id) == (outer.span_id, own.span_id, "")
    assert own.events == {
        "QUEUE_START": BEGIN_NS,
        "REQUEST_START": BEGIN_NS,
        "REQUEST_END": BEGIN_NS + 11_000_000,
    }


def test_protobuf_says_the_same_as_json():
    """A collector in between sends protobuf."""
    value = body(*request("detector", caller="00f067aa0ba902b7", inner=("nms",)))
    message = ExportTraceServiceRequest()
    resource = message.resource_spans.add()
    attribute = resource.resource.attributes.add()
    attribute.key, attribute.value.string_value = "service.instance.id", "a"
    for span in value["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        made = (resource.scope_spans[0] if resource.scope_spans else resource.scope_spans.add()).spans.add()
        made.trace_id, made.span_id = bytes.fromhex(span["traceId"]), bytes.fromhex(span["spanId"])
        made.parent_span_id = bytes.fromhex(span.get("parentSpanId", ""))
        made.name = span["name"]
        made.start_time_unix_nano = int(span["startTimeUnixNano"])
        made.end_time_unix_nano = int(span["endTimeUnixNano"])
        for event in span["events"]:
            made.events.add(name=event["name"], time_unix_nano=int(event["timeUnixNano"]))
        for each in span.get("attributes", ()):
            made.attributes.add(key=each["key"]).value.string_value = each["value"]["stringValue"]
    assert reader(PROTOBUF)(message.SerializeToString()) == read_json(json.dumps(value).encode())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param(b"", "not OTLP JSON", id="nothing"),
        pytest.param(b"[]", "list instead of an object", id="a list"),
        pytest.param(b'{"resourceSpans": 1}', "resourceSpans is not a list", id="a number of spans"),
        pytest.param(b'{"resourceSpans": [[]]}', "list instead of an object", id="lists in lists"),
        pytest.param(NESTED, "not OTLP JSON", id="200,000 brackets"),
        pytest.param(b'{"a": ' + b"9" * 5000 + b"}", "not OTLP JSON", id="a number of 5,000 digits"),
        pytest.param(b"[" + b"1," * 700_000 + b"1]", "more than 600,000 values", id="millions of numbers"),
        pytest.param(b"\xff\xfe\xff", "not OTLP JSON", id="no text"),
    ],
)
def test_what_is_no_otlp_is_refused(text, complaint):
    """With one exception, whatever is wrong."""
    with pytest.raises(ValueError, match=complaint):
        read_json(text)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("traceId", "not hex"),
        ("traceId", "a" * 33),
        ("traceId", None),
        ("startTimeUnixNano", "-5"),
        ("startTimeUnixNano", "9" * 40),
        ("startTimeUnixNano", 2**63),
        ("startTimeUnixNano", 1.5),
        ("name", "n" * 257),
        ("name", 5),
        ("events", {"name": "REQUEST_END"}),
        ("attributes", [5]),
        ("status", "OK"),
    ],
)
def test_a_span_with_an_impossible_field_is_refused(field, value):
    """Nothing of it is guessed."""
    value_ = body(*request("detector"))
    value_["resourceSpans"][0]["scopeSpans"][0]["spans"][0][field] = value
    with pytest.raises(ValueError, match=r"not OTLP JSON: ."):
        read_json(json.dumps(value_).encode())


def test_too_many_spans_are_refused():
    """A body of 8 MiB could hold 400,000 empty ones."""
    spans = [{"traceId": "1", "spanId": "1"}] * (MOST_SPANS + 1)
    with pytest.raises(ValueError, match="20001 spans in one body; at most 20000 are read"):
        read_json(posted(*spans))


def test_gzip_is_unpacked_to_the_bound_and_no_further():
    """A bomb of 10 GiB costs what 8 MiB cost."""
    machine = zlib.compressobj(9, wbits=31)
    zeros = b"\0" * 2**20
    bomb = b"".join([*(machine.compress(zeros) for _ in range(200)), machine.flush()])
    with pytest.raises(ValueError, match=f"more than {MOST_BYTES} bytes"):
        unpacked(bomb, "gzip")
    assert unpacked(gzip.compress(b"{}", mtime=0), "gzip") == b"{}"
    assert unpacked(b"{}", "") == b"{}"


@pytest.mark.parametrize(
    ("data", "encoding", "complaint"),
    [
        (b"nonsense", "gzip", "not gzip"),
        (gzip.compress(b"{}" * 1000, mtime=0)[:-12], "gzip", "ends too early"),
        (b"{}", "br", "'br' is not known"),
    ],
)
def test_a_damaged_encoding_is_refused(data, encoding, complaint):
    """Half a gzip is no body."""
    with pytest.raises(ValueError, match=complaint):
        unpacked(data, encoding)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "resourceSpans",
                    "scopeSpans",
                    "spans",
                    "traceId",
                    "spanId",
                    "events",
                    "attributes",
                    "value",
                    "key",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(_VALUES)
def test_whatever_json_it_is_it_is_read_or_refused(value):
    """Never another exception."""
    try:
        read_json(json.dumps(value).encode())
    except ValueError:
        return


@given(st.binary(max_size=200))
def test_whatever_bytes_they_are_they_are_read_or_refused(data):
    """Protobuf takes many bytes for messages."""
    try:
        reader(PROTOBUF)(data)
    except ValueError:
        return
