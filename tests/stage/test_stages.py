"""What a model records is what Triton publishes."""

import asyncio
import json
import logging
import os
import threading

import pytest

from tritonobs.stage import Stages
from tritonobs.testing import FakePbUtils

DURATION = "tritonobs_stage_duration_seconds"
REQUESTS = "tritonobs_requests_total"
DROPPED = "tritonobs_flush_dropped_total"


@pytest.mark.parametrize("sink", ["counters", "histogram"])
def test_observations_land_in_buckets_count_and_sum(fake, make, sink):
    """Both sinks give the same samples; a bound belongs to its bucket."""
    stages = make(fake, parameters={"metrics_sink": sink, "latency_buckets": "0.1, 0.5"})
    for seconds in (0.0, 0.1, 0.125, 0.5, 0.75):
        stages.observe("decode", seconds)
    stages.observe("decode", 0.25, n=3)

    of = {"stage": "decode", "model": "m", "version": "1", "worker": stages.worker}
    buckets = {"0.1": 2, "0.5": 7, "+Inf": 8}
    fake.flush()
    assert {le: fake.total(f"{DURATION}_bucket", le=le, **of) for le in buckets} == buckets
    assert fake.total(f"{DURATION}_count", **of) == 8
    assert fake.total(f"{DURATION}_sum", **of) == pytest.approx(2.225)


def test_time_is_one_observation_even_of_a_block_that_raises(fake, make):
    """What failed took its time, too; the exception goes on."""
    stages = make(fake)
    with pytest.raises(KeyError), stages.time("decode"):
        raise KeyError
    with stages.time("decode"):
        pass

    fake.flush()
    assert fake.total(f"{DURATION}_count", stage="decode") == 2


def test_a_batch_charges_every_request_the_whole_of_it(fake, make):
    """Three requests in one block are three observations of the same length."""
    stages = make(fake)
    with stages.batch("infer", 3):
        pass
    with stages.batch("infer", 0):
        pass

    fake.flush()
    assert fake.total(f"{DURATION}_count", stage="infer") == 3


def test_a_timed_function_keeps_its_name_and_result(fake, make):
    """Plain functions, and coroutine functions until they return."""
    stages = make(fake)

    @stages.time("square")
    def square(number):
        """Twice itself."""
        return number * number

    @stages.time("wait")
    async def soon(number):
        await asyncio.sleep(0.01)
        return number

    assert (square(3), square.__name__, square.__doc__) == (9, "square", "Twice itself.")
    assert asyncio.run(soon(4)) == 4
    fake.flush()
    assert fake.total(f"{DURATION}_sum", stage="wait") >= 0.01
    assert fake.total(f"{DURATION}_count", stage="square") == 1


def test_counts_carry_their_labels(fake, make):
    """Outcomes, errors, items and sizes: the series of the design, with model, version and worker."""
    stages = make(fake)
    stages.outcome("ok", 7)
    stages.outcome("rejected")
    stages.error("decode", "corrupt_image", 2)
    stages.items("nms", "boxes_out", 11)
    stages.size("decode", "megapixels", 8.3)

    worker = ("worker", stages.worker)
    mine = (("model", "m"), worker, ("version", "1"))
    fake.flush()
    assert fake.total("tritonobs_stage_size_count") == 1
    page = fake.samples()
    assert page[REQUESTS, (mine[0], ("outcome", "ok"), ("version", "1"), worker)] == 7
    assert fake.total(REQUESTS, outcome="rejected") == 1
    assert fake.total("tritonobs_stage_errors_total", stage="decode", reason="corrupt_image") == 2
    assert fake.total("tritonobs_stage_items_total", stage="nms", kind="boxes_out") == 11
    assert fake.total("tritonobs_stage_size_bucket", kind="megapixels", le="8") == 0
    assert fake.total("tritonobs_stage_size_bucket", kind="megapixels", le="16") == 1


@pytest.fixture(autouse=True)
def _both(recorder):
    """Each test holds for the record path in Python and for the compiled one."""


def test_an_answer_counts_tokens_and_times_first_and_others(fake, make):
    """Four tokens in, one out, then three together; no token is none, and ends no time to the first."""
    stages = make(fake)
    with stages.answer(tokens_in=4) as answer:
        answer.token(0)
        answer.token()
        answer.token(0)
        answer.token(3)

    fake.flush()
    assert fake.total(f"{DURATION}_count", stage="output_token") == 3
    assert fake.total(f"{DURATION}_count", stage="first_token") == 1
    assert fake.total("tritonobs_stage_items_total", stage="total", kind="tokens_in") == 4
    assert fake.total("tritonobs_stage_items_total", stage="total", kind="tokens_out") == 4


def test_many_threads_give_exact_totals(fake, make):
    """Threads that have ended, and threads that still run, while the flusher reads."""
    stages = make(fake)

    def record():
        for _ in range(5000):
            stages.observe("decode", 0.02)
            stages.outcome("ok")

    for _ in range(3):
        threads = [threading.Thread(target=record) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    fake.flush()
    assert fake.total(REQUESTS, outcome="ok") == 120_000
    fake.flush()
    assert fake.total(f"{DURATION}_count", stage="decode") == 120_000
    assert fake.total(f"{DURATION}_sum", stage="decode") == pytest.approx(2400)


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), -float("inf"), -0.001, -1, 1e300, 10**400, None, "soon", [], {}, object()],
    ids=[
        "NaN",
        "inf",
        "-inf",
        "negative",
        "-1",
        "too large",
        "no float",
        "None",
        "text",
        "list",
        "dict",
        "object",
    ],
)
def test_an_impossible_value_is_dropped_and_counted(fake, make, value):
    """It reaches no series, and the call returns as if nothing had happened."""
    stages = make(fake)
    stages.observe("decode", value)
    stages.size("decode", "bytes", value)
    stages.items("decode", "images", value)
    stages.outcome("ok", value)
    stages.observe("decode", 0.01, n=value)
    with stages.batch("decode", value):
        pass

    fake.flush()
    assert fake.total(DROPPED, reason="invalid") == 6
    assert fake.total(f"{DURATION}_count", stage="decode") == 0


@pytest.mark.parametrize(
    "label",
    [7, None, "", "x" * 129, "\ud800", "a\0b", b"x", ["x"], ("x", "y")],
    ids=lambda label: ascii(label)[:20],
)
def test_an_impossible_label_is_dropped_and_counted(fake, make, label):
    """Triton never sees it."""
    stages = make(fake)
    stages.observe(label, 0.01)
    stages.items("decode", label)
    stages.outcome(label)
    with stages.time(label):
        pass

    fake.flush()
    assert fake.total(DROPPED, reason="invalid") == 4


def test_hostile_labels_are_data(fake, make):
    """Quotes, newlines, braces and any language."""
    stages = make(fake)
    labels = ('quo"te', "new\nline", "brace}", "back\\slash", "汉字", "le", " ")
    for label in labels:
        stages.observe(label, 0.01)

    fake.flush()
    assert all(fake.total(f"{DURATION}_count", stage=label) == 1 for label in labels)


@pytest.mark.parametrize("label", ["x" * 128, "汉" * 128], ids=["letters", "Chinese"])
def test_the_longest_label_is_data(fake, make, label):
    """128 characters, whatever they take as bytes; one more is refused."""
    stages = make(fake)
    stages.observe(label, 0.01)
    stages.items("decode", label)
    stages.observe(label + label[0], 0.01)

    fake.flush()
    assert fake.total(f"{DURATION}_count", stage=label) == 1
    assert fake.total("tritonobs_stage_items_total", stage="decode", kind=label) == 1
    assert fake.total(DROPPED, reason="invalid") == 1


def test_an_unknown_outcome_is_dropped(fake, make):
    """A typing error must not make a sixth outcome."""
    stages = make(fake)
    stages.outcome("okay", 3)

    fake.flush()
    assert fake.total(DROPPED, reason="invalid") == 3
    assert fake.total(REQUESTS) == 0


def test_label_sets_are_capped_and_the_rest_counted(fake, make, caplog):
    """Those that came first keep counting; a message names the first that came too late."""
    stages = make(fake, max_label_sets=20)
    for request in range(1000):
        stages.error("decode", f"request {request}")
    stages.error("decode", "request 0")

    kept = 20 - 8
    fake.flush()
    assert fake.total(DROPPED, reason="label_cap") == 1000 - kept
    assert fake.total("tritonobs_stage_errors_total") == kept + 1
    fake.flush()
    assert "label_cap" in caplog.text
    assert [record.getMessage() for record in caplog.records].count(caplog.messages[0]) == 1


def test_stages_made_outside_of_initialize_touch_no_metric(make, caplog):
    """In `auto_complete_config` a metric call hangs for ever; recording there is harmless."""
    fake = FakePbUtils()
    stages = make(fake, {"model_name": "m", "model_version": "1"})
    stages.outcome("ok")
    stages.finalize()

    assert fake.calls == 0
    assert "stage metrics are off" in caplog.text


def test_no_two_workers_share_a_label(fake, make):
    """Not even of one model instance in one process, one after the other; and both name instance and pid."""
    first = make(fake)
    first.finalize()
    second = make(fake)

    assert first.worker != second.worker
    assert first.worker.startswith(f"m_0_0-{os.getpid()}-")


@pytest.mark.parametrize("parameters", [{"latency_buckets": "1, 0.5"}, {"metrics_sink": "statsd"}], ids=str)
def test_an_unusable_parameter_is_said_and_the_default_used(fake, make, caplog, parameters):
    """The model loads."""
    make(fake, parameters=parameters).observe("decode", 0.3)

    assert next(iter(parameters)) in caplog.text
    fake.flush()
    assert fake.total(f"{DURATION}_bucket", stage="decode", le="0.5") == 1


@pytest.mark.parametrize("config", ["", "no json", "[]", '{"parameters": []}', '{"parameters": null}'])
def test_a_configuration_that_cannot_be_read_costs_nothing(fake, make, config):
    """Whatever Triton says there, the model loads."""
    stages = make(fake, {**FakePbUtils.ARGS, "model_config": config})
    stages.outcome("ok")

    fake.flush()
    assert fake.total(REQUESTS) == 1


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "301"])
def test_an_unusable_scrape_interval_is_said_and_the_default_used(monkeypatch, caplog, text):
    """The variable of the whole server."""
    monkeypatch.setenv("TRITONOBS_SCRAPE_INTERVAL_SECONDS", text)
    Stages({}, None)

    assert (
        f"TRITONOBS_SCRAPE_INTERVAL_SECONDS is {text!r}, allowed are 0 to 300 seconds: using 5" in caplog.text
    )


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
