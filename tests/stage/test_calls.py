"""`time` as a decorator: one observation a call, until the call is really over."""

import asyncio
import inspect
import time

import pytest

DURATION = "tritonobs_stage_duration_seconds"


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


def test_the_old_name_of_the_decorator_is_announced(fake, make, spent):
    """It works, and says what it is called now."""
    with pytest.warns(DeprecationWarning, match=r"stages\.time\(stage\)"):

        @make(fake).timed("work")
        def work():
            return 7

    assert work() == 7
    assert spent()[0] == 1
