"""The trace of a request, where Triton tells it."""

import json
import logging

import pytest


class _Request:
    def __init__(self, context):
        self.trace = lambda: self
        self.get_context = lambda: context


TRACED = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        pytest.param(
            _Request(json.dumps({"traceparent": f"00-{TRACED}-00f067aa0ba902b7-01"})), TRACED, id="traced"
        ),
        pytest.param(_Request(None), None, id="not traced"),
        pytest.param(_Request("{}"), None, id="another propagator"),
        pytest.param(_Request("not json"), None, id="not json"),
        pytest.param(_Request('{"traceparent": "x\\n00-"}'), None, id="not a trace id"),
        pytest.param(object(), None, id="a Triton without traces"),
    ],
)
def test_trace_id_is_that_of_a_traced_request(make, request_, expected):
    """None for every other, never an exception."""
    assert make(None).trace_id(request_) == expected


def test_log_lines_of_a_traced_request_carry_its_trace_id(make, caplog):
    """In front of the text, and as a field; lines of other requests are as they were."""
    stages = make(None)
    logger = logging.getLogger("model")
    context = json.dumps({"traceparent": f"00-{TRACED}-00f067aa0ba902b7-01"})
    stages.log(_Request(context), logger).warning("box %d", 3, extra={"camera": "7"})
    stages.log(_Request(None), logger).warning("box %d", 4)

    lines = [record for record in caplog.records if record.name == "model"]
    assert [line.getMessage() for line in lines] == [f"trace_id={TRACED} box 3", "box 4"]
    assert (lines[0].trace_id, lines[0].camera) == (TRACED, "7")
