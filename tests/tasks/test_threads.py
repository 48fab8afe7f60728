"""Blocking calls: what hangs costs its own place and nothing else."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from tritonobs.errors import TimedOut
from tritonobs.tasks.threads import Threads


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
        "from tritonobs.tasks.threads import Threads\n"
        "async def main():\n"
        "    asyncio.ensure_future(Threads('t').run(threading.Event().wait, seconds=60))\n"
        "    await asyncio.sleep(0.1)\n"
        "asyncio.run(main())\n"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=30, check=False).returncode == 0
