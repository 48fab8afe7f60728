"""Background tasks are restarted, and blocking calls in threads never hold the event loop."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from support.virtual_time import run_virtual
from tritonobs.errors import TimedOut
from tritonobs.tasks import Supervisor, Threads


def _values(supervisor: Supervisor) -> dict[tuple[str, str], float]:
    return {
        (sample.name, sample.labels["task"]): sample.value
        for family in supervisor.collect()
        for sample in family.samples
    }


async def _cancels_itself() -> None:
    inner = asyncio.ensure_future(asyncio.sleep(9))
    inner.cancel()
    await inner


async def _divides() -> None:
    _ = 1 / 0


async def _times_out() -> None:
    raise TimedOut("disk: not done within 10 s")


async def _too_large() -> None:
    _ = 2.0**2000


ENDS = [
    pytest.param(_divides, "ZeroDivisionError: division by zero", id="a slip"),
    pytest.param(_times_out, "disk: not done within 10 s", id="an error of ours"),
    pytest.param(_too_large, "OverflowError", id="an overflow"),
    pytest.param(_cancels_itself, "RuntimeError: cancelled from inside", id="something inside is cancelled"),
]


@pytest.mark.parametrize(("work", "reason"), ENDS)
def test_a_task_that_ends_is_told_counted_and_started_again(work, reason: str) -> None:
    """Five rounds in the first half minute: after 1, 2, 4, 8 and then 15 s."""

    async def main() -> None:
        supervisor = Supervisor()
        supervisor.keep("log", work)
        await asyncio.sleep(29)
        (failing,) = supervisor.failing()
        assert failing.task == "log"
        assert failing.reason.startswith(reason)
        assert _values(supervisor) == {
            ("tritonobs_task_up", "log"): 0,
            ("tritonobs_task_failures_total", "log"): 5,
        }

    run_virtual(main())


def test_no_number_of_failures_is_too_many() -> None:
    """A night of them, and still every fifteen seconds."""

    async def main() -> None:
        supervisor = Supervisor()
        supervisor.keep("log", _divides)
        await asyncio.sleep(8 * 3600)
        assert _values(supervisor)["tritonobs_task_failures_total", "log"] > 1900

    run_virtual(main())


def test_a_task_that_works_again_is_well_again() -> None:
    """With the end of its first good round; what it failed before stays counted."""
    ends: Iterator[bool] = iter([False, False, True])

    async def work() -> None:
        if not next(ends, True):
            raise ValueError("not yet")
        await asyncio.sleep(5)

    async def main() -> None:
        supervisor = Supervisor()
        supervisor.keep("log", work)
        await asyncio.sleep(3.5)
        assert [one.task for one in supervisor.failing()] == ["log"]
        await asyncio.sleep(5)
        assert supervisor.failing() == ()
        assert _values(supervisor)["tritonobs_task_failures_total", "log"] == 2

    run_virtual(main())


def test_a_round_that_goes_on_for_a_minute_is_well() -> None:
    """A watch may last for hours: it need not end to be believed."""
    ends = iter([ValueError("once")])

    async def work() -> None:
        for error in ends:
            raise error
        await asyncio.sleep(10_000)

    async def main() -> None:
        supervisor = Supervisor()
        supervisor.keep("watch", work)
        await asyncio.sleep(30)
        assert len(supervisor.failing()) == 1
        await asyncio.sleep(40)
        assert supervisor.failing() == ()

    run_virtual(main())


def test_one_that_fails_leaves_the_others_alone() -> None:
    """Each has its own rounds."""
    rounds = []

    async def well() -> None:
        rounds.append(1)
        await asyncio.sleep(1)

    async def main() -> None:
        supervisor = Supervisor()
        supervisor.keep("ill", _divides)
        supervisor.keep("well", well)
        await asyncio.sleep(9.5)
        assert len(rounds) == 10
        assert [one.task for one in supervisor.failing()] == ["ill"]

    run_virtual(main())


def test_a_dropped_task_ends_and_its_series_with_it() -> None:
    """A robot that left the fleet file is no failing task."""

    async def main() -> None:
        supervisor = Supervisor()
        supervisor.keep("ill", _divides)
        await asyncio.sleep(1.5)
        supervisor.drop("ill")
        await asyncio.sleep(30)
        assert (supervisor.failing(), _values(supervisor)) == ((), {})

    run_virtual(main())


def test_a_call_returns_and_raises_as_it_does() -> None:
    """Across threads."""

    async def main() -> None:
        threads = Threads("t")
        assert await threads.run(lambda: 6 * 7, seconds=5) == 42
        with pytest.raises(KeyError, match="gone"):
            await threads.run(lambda: {}["gone"], seconds=5)

    asyncio.run(main())


@pytest.mark.parametrize("raised", [StopIteration, SystemExit, KeyboardInterrupt, TimeoutError])
def test_what_no_future_carries_is_an_error_with_its_name(raised: type[BaseException]) -> None:
    """And never a call that seems to go on."""

    def call() -> None:
        raise raised("why")

    async def main() -> None:
        with pytest.raises((RuntimeError, TimeoutError), match="why"):
            await Threads("t").run(call, seconds=5)

    asyncio.run(main())


def test_a_call_that_hangs_is_waited_for_as_long_as_said() -> None:
    """Who comes after it is told so, too; once it ends, the place is free again."""
    hold = threading.Event()

    async def main() -> None:
        threads = Threads("disk")
        for _ in range(2):
            with pytest.raises(TimedOut, match=r"^disk: not done within 0\.05 s$"):
                await threads.run(hold.wait, seconds=0.05)
        hold.set()
        assert await threads.run(lambda: "free", seconds=5) == "free"

    asyncio.run(main())


def test_a_call_that_hangs_keeps_no_process_from_ending() -> None:
    """As threads of a pool would: those are joined at the end."""
    program = (
        "import asyncio, threading\n"
        "from tritonobs.tasks import Threads\n"
        "async def main():\n"
        "    asyncio.ensure_future(Threads('t').run(threading.Event().wait, seconds=60))\n"
        "    await asyncio.sleep(0.1)\n"
        "asyncio.run(main())\n"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=30, check=False).returncode == 0
