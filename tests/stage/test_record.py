"""Requests, answers and timed functions: each is one observation, however it ends."""

import asyncio
import gc
import inspect
import math
import threading
import time

import numpy as np
import pytest

from tritonobs.stage import InvalidInput

pytestmark = pytest.mark.usefixtures("recorder")  # in Python, and compiled
DURATION = "tritonobs_stage_duration_seconds"
REQUESTS = "tritonobs_requests_total"
ERRORS = "tritonobs_stage_errors_total"


def _outcomes(fake):
    page = fake.snapshot()
    return {
        outcome: page.total(REQUESTS, outcome=outcome)
        for outcome in ("ok", "error", "invalid", "cancelled", "rejected")
        if page.total(REQUESTS, outcome=outcome)
    }


def test_a_block_counts_its_requests_as_ok(fake, make):
    """Three requests of a batch: three observations, three outcomes."""
    stages = make(fake)
    with stages.request(3) as request:
        pass

    assert _outcomes(fake) == {"ok": 3}
    assert fake.total(f"{DURATION}_count", stage="total") == 3
    assert fake.total(f"{DURATION}_sum", stage="total") == pytest.approx(3 * request.seconds)


def test_named_outcomes_are_taken_from_the_rest(fake, make):
    """One was refused, one cancelled; saying `ok` of one changes nothing."""
    stages = make(fake)
    with stages.request(5) as request:
        request.outcome("error")
        request.outcome("ok")
        request.outcome("cancelled", 2)

    assert _outcomes(fake) == {"ok": 2, "error": 1, "cancelled": 2}


def test_invalid_input_that_raises_is_the_callers_fault(fake, make):
    """The rest is `invalid`, counted under the stage and the reason that the exception names; it goes on."""
    stages = make(fake)

    def execute():
        with stages.request(4) as request:
            request.outcome("error")
            raise InvalidInput("12000x9000 px", reason="too_large", stage="decode")

    with pytest.raises(InvalidInput, match=r"^12000x9000 px$"):
        execute()

    assert _outcomes(fake) == {"error": 1, "invalid": 3}
    assert fake.total(f"{DURATION}_count", stage="total") == 4
    assert fake.total(ERRORS) == 3
    assert fake.total(ERRORS, stage="decode", reason="too_large", outcome="invalid") == 3


def test_invalid_input_without_a_reason_is_the_requests(fake, make):
    """A class of the model's own is one, too; an error that it causes is not."""
    stages = make(fake)

    class BadShape(InvalidInput):
        pass

    def execute(error):
        with stages.request():
            raise error from BadShape("3 dimensions, expected 4")

    with pytest.raises(BadShape):
        execute(BadShape("3 dimensions, expected 4"))
    with pytest.raises(KeyError):
        execute(KeyError())

    assert _outcomes(fake) == {"error": 1, "invalid": 1}
    assert (
        fake.total(ERRORS, stage="total", reason="invalid_input", outcome="invalid")
        == fake.total(ERRORS)
        == 1
    )


def test_refused_input_is_told_from_errors_of_the_stage(fake, make):
    """One reason may be both: what the model is to blame for carries no outcome."""
    stages = make(fake)
    stages.error("decode", "corrupt_image", 2)
    stages.invalid("decode", "corrupt_image", 5)

    page = fake.snapshot()
    assert page.total(ERRORS, stage="decode", reason="corrupt_image") == 7
    assert page.total(ERRORS, outcome="invalid") == 5
    own = [dict(labels) for name, labels in page if name == ERRORS and "outcome" not in dict(labels)]
    assert [labels["reason"] for labels in own] == ["corrupt_image"]


def test_numbers_of_numpy_are_taken_from_the_rest(fake, make):
    """`len` of a mask is an int, its sum is not."""
    stages = make(fake)
    with stages.request(5) as request:
        request.outcome("error", np.int64(2))
    with stages.request(np.int32(4)) as request:
        request.outcome("error")

    assert _outcomes(fake) == {"ok": 6, "error": 3}


def test_a_block_that_raises_was_an_error_for_the_rest(fake, make):
    """Triton answers every request with the exception; the exception goes on."""
    stages = make(fake)

    def execute():
        with stages.request(4) as request:
            request.outcome("rejected")
            raise KeyError

    with pytest.raises(KeyError):
        execute()

    assert _outcomes(fake) == {"rejected": 1, "error": 3}
    assert fake.total(f"{DURATION}_count", stage="total") == 4


def test_a_handle_begins_in_one_thread_and_ends_in_another(fake, make):
    """As in a decoupled model: `execute` has returned when the sender thread is done."""
    stages = make(fake)
    request, sent = stages.request(), threading.Event()

    def send():
        sent.wait(10)
        with request:
            pass

    sender = threading.Thread(target=send)
    sender.start()
    assert _outcomes(fake) == {}
    sent.set()
    sender.join()

    assert _outcomes(fake) == {"ok": 1}


@pytest.mark.parametrize("outcome", ["error", "invalid", "cancelled", "rejected"])
def test_the_first_end_counts(fake, make, outcome):
    """A second one, and the end of a block around it, change nothing."""
    stages = make(fake)
    with stages.request(2) as request:
        first = request.end(outcome)
        assert request.end("ok") == first

    assert _outcomes(fake) == {outcome: 2}
    assert fake.total(f"{DURATION}_count", stage="total") == 2


@pytest.mark.parametrize("n", [None, "two", -1, float("nan"), [3]], ids=str)
def test_an_impossible_number_of_requests_is_dropped(fake, make, n):
    """The block runs as if nothing had happened."""
    stages = make(fake)
    with stages.request(n):
        pass

    assert _outcomes(fake) == {}
    assert fake.total("tritonobs_flush_dropped_total", reason="invalid") == 2


@pytest.mark.usefixtures("recorder")
def test_a_timer_gives_its_seconds_and_ends_once(fake, make):
    """Also without a block, and in another thread; a new block begins anew."""
    stages = make(fake)
    timer = stages.time("decode")
    running = timer.seconds
    ended = []
    thread = threading.Thread(target=lambda: ended.append(timer.end()))
    thread.start()
    thread.join()

    assert 0 <= running <= ended[0] == timer.seconds == timer.end()
    with timer as again:
        pass
    assert again is timer
    assert fake.snapshot().total(f"{DURATION}_count", stage="decode") == 2
    assert fake.total(f"{DURATION}_sum", stage="decode") == pytest.approx(ended[0] + timer.seconds)


@pytest.mark.usefixtures("recorder")
def test_names_of_arguments_may_be_given(fake, make):
    """And a call that fits no signature is the author's mistake, said at once."""
    stages = make(fake)
    with stages.time(stage="decode"), stages.batch("infer", n=4), stages.batch(n=2, stage="infer"):
        pass

    assert fake.snapshot().total(f"{DURATION}_count", stage="infer") == 6
    for wrong in ({}, {"stages": "decode"}, {"stage": "decode", "n": 1, "m": 1}):
        with pytest.raises(TypeError):
            stages.time(**wrong)


@pytest.mark.usefixtures("recorder")
def test_a_block_that_raises_keeps_its_exception(fake, make):
    """Recording it, and dropping what cannot be recorded, touches none of it."""
    stages = make(fake)
    for stage in ("decode", 7, ["no", "text"], ("tritonobs_requests_total", "ok")):
        with pytest.raises(KeyError, match="mine") as raised, stages.time(stage):
            raise KeyError("mine")
        assert raised.value.__context__ is None

    page = fake.snapshot()
    assert page.total(f"{DURATION}_count") == 1
    assert page.total("tritonobs_flush_dropped_total", reason="invalid") == 3
    assert page.total(REQUESTS) == 0


@pytest.mark.usefixtures("recorder")
def test_ended_stages_leave_no_memory_behind(fake, make):
    """Recorder, cells and worker know each other; together they can go."""
    make(fake).finalize()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(20):
        make(fake).finalize()
    make.made.clear()
    gc.collect()

    assert len(gc.get_objects()) - before < 500


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda stages: stages.time(), id="time"),
        pytest.param(lambda stages: stages.time("nms", 1, 1), id="time of three"),
        pytest.param(lambda stages: stages.time("nms", m=1), id="time by name"),
        pytest.param(lambda stages: stages.time("nms", stage="nms"), id="time of two stages"),
        pytest.param(lambda stages: stages.request(1, 2), id="request"),
        pytest.param(lambda stages: stages.request(m=1), id="request by name"),
        pytest.param(lambda stages: stages.request().outcome(), id="outcome"),
        pytest.param(lambda stages: stages.request().outcome("error", 1, 1), id="outcome of three"),
        pytest.param(lambda stages: stages.request().outcome("error", m=1), id="outcome by name"),
        pytest.param(lambda stages: stages.request().end("ok", 1), id="end"),
        pytest.param(lambda stages: stages.time("nms").end("ok"), id="end of a timer"),
        pytest.param(lambda stages: stages.request()(len), id="request as a decorator"),
        pytest.param(lambda stages: stages.items("nms"), id="items of one"),
        pytest.param(lambda stages: stages.items("nms", "boxes", 1, 1), id="items of four"),
        pytest.param(lambda stages: stages.items("nms", "boxes", m=1), id="items by name"),
        pytest.param(lambda stages: stages.items("nms", "boxes", kind="boxes"), id="items of two kinds"),
    ],
)
def test_a_call_that_is_wrong_is_an_error_of_the_model(fake, make, call):
    """Both record paths refuse it as Python does, when the model is tried and not at night."""
    with pytest.raises(TypeError):
        call(make(fake))


def test_arguments_may_be_named(fake, make):
    """As the documentation writes them."""
    stages = make(fake)
    request = stages.request(n=3)
    request.outcome(outcome="error", n=1)
    request.outcome("cancelled", n=1)
    request.end(outcome="rejected")

    stages.items(stage="nms", kind="boxes", n=5)
    stages.items("nms", kind="boxes")

    assert _outcomes(fake) == {"error": 1, "cancelled": 1, "rejected": 1}
    assert fake.total("tritonobs_stage_items_total", stage="nms", kind="boxes") == 6


def test_numbers_of_other_types_are_numbers(fake, make):
    """What a model has at hand, of Python and of numpy."""
    stages = make(fake)
    for n in (2, 2.5, True, np.int64(3), np.float32(0.5), 10**12):
        stages.items("nms", "boxes", n)
    stages.observe("decode", 3, np.int16(2))
    stages.observe("decode", seconds=True, n=True)

    assert fake.snapshot().total("tritonobs_stage_items_total", kind="boxes") == 10**12 + 9
    assert fake.total(f"{DURATION}_count", stage="decode") == 3
    assert fake.total(f"{DURATION}_sum", stage="decode") == 7


def test_every_stage_has_numbers_of_its_own_however_many_come_in_turn(fake, make):
    """Also where the same name is another object each time, as one that was read from a request."""
    stages = make(fake)
    names = [f"stage_{at}" for at in range(40)]
    for _ in range(3):
        for at, name in enumerate(names):
            stages.observe(name, at)
            stages.observe("".join(name), at)
            with stages.time("".join([*name])):
                pass

    page = fake.snapshot()
    assert [page.total(f"{DURATION}_count", stage=name) for name in names] == [9] * 40
    sums = [page.total(f"{DURATION}_sum", stage=name) for name in names]
    assert sums == [pytest.approx(6 * at, abs=0.1) for at in range(40)]


def test_only_a_request_has_an_outcome(fake, make):
    """A timer of a stage does not count requests."""
    with pytest.raises((AttributeError, TypeError)):
        make(fake).time("nms").outcome("error")

    assert _outcomes(fake) == {}


def test_a_value_is_counted_in_its_bucket_wherever_the_last_one_was(fake, make):
    """Every value after every other one, at the edges, just above them, and where there is no bound."""
    stages = make(fake, latency_buckets=(0.1, 0.2, 0.5))
    values = (0, 0.05, 0.1, math.nextafter(0.1, 1), 0.2, 0.3, 0.5, math.nextafter(0.5, 1), 7, 1e12)
    for before in values:
        for value in values:
            stages.observe("decode", before)
            stages.observe("decode", value)

    page = fake.snapshot()
    found = {
        le: page.total(f"{DURATION}_bucket", stage="decode", le=le) for le in ("0.1", "0.2", "0.5", "+Inf")
    }
    assert found == {"0.1": 60, "0.2": 100, "0.5": 140, "+Inf": 200}


@pytest.fixture(autouse=True)
def _both(recorder):
    """Each test holds for the record path in Python and for the compiled one."""


@pytest.fixture
def spent(fake):
    """Observations and seconds of the stage `work`."""

    def read():
        page = fake.snapshot()
        return page.total(f"{DURATION}_count", stage="work"), page.total(f"{DURATION}_sum", stage="work")

    return read


def test_a_generator_is_timed_until_its_end(fake, make, spent):
    """What is sent to it arrives, what it returns comes back, and it is one observation."""

    @make(fake).time("work")
    def tokens(n):
        got = []
        for each in range(n):
            got.append((yield each))
            time.sleep(0.002)
        return got

    def caller():
        return (yield from tokens(2))

    assert inspect.isgeneratorfunction(tokens)
    running = caller()
    assert next(running) == 0
    assert spent() == (0, 0)
    assert running.send("a") == 1
    with pytest.raises(StopIteration) as stopped:
        running.send("b")
    assert stopped.value.value == ["a", "b"]
    count, seconds = spent()
    assert count == 1
    assert seconds >= 0.004


def test_a_generator_that_is_closed_early_was_timed_until_then(fake, make, spent):
    """A client that goes away in the middle of an answer."""

    @make(fake).time("work")
    def tokens():
        yield 1
        yield 2

    running = tokens()
    next(running)
    running.close()

    assert spent()[0] == 1


def test_an_async_generator_is_timed_until_its_end(fake, make, spent):
    """One observation, not one an item, and none of the call that only makes it."""

    @make(fake).time("work")
    async def tokens(n):
        for each in range(n):
            await asyncio.sleep(0.002)
            yield each

    async def all_of_them():
        return [each async for each in tokens(3)]

    assert inspect.isasyncgenfunction(tokens)
    assert asyncio.run(all_of_them()) == [0, 1, 2]
    count, seconds = spent()
    assert count == 1
    assert seconds >= 0.006


def test_an_async_generator_that_fails_was_timed_until_then(fake, make, spent):
    """Its exception reaches who asked, and its own `finally` has run."""
    seen = []

    @make(fake).time("work")
    async def tokens():
        try:
            yield 1
            raise KeyError("lost")
        finally:
            seen.append("closed")

    async def all_of_them():
        return [each async for each in tokens()]

    with pytest.raises(KeyError, match="lost"):
        asyncio.run(all_of_them())
    assert seen == ["closed"]
    assert spent()[0] == 1


def test_what_is_sent_or_thrown_into_an_async_generator_arrives(fake, make, spent):
    """It may answer an exception with another item, as it would without a timer."""

    @make(fake).time("work")
    async def echo():
        heard = None
        while heard != "end":
            try:
                heard = yield heard
            except KeyError as error:  # noqa: PERF203 (the loop waits anyway)
                heard = f"caught {error}"

    async def talk():
        running = echo()
        said = [await running.asend(None), await running.asend("hello"), await running.athrow(KeyError(1))]
        with pytest.raises(StopAsyncIteration):
            await running.asend("end")
        return said

    assert asyncio.run(talk()) == [None, "hello", "caught 1"]
    assert spent()[0] == 1


def test_a_function_that_calls_itself_is_timed_at_each_call(fake, make, spent):
    """The decorator's timer is no state that calls share."""

    @make(fake).time("work")
    def factorial(n):
        return n * factorial(n - 1) if n else 1

    assert factorial(4) == 24
    assert spent()[0] == 5
