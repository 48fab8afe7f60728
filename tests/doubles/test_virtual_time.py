"""Virtual time jumps where everybody waits, and only there."""

from __future__ import annotations

import asyncio
import time

import pytest

from support.virtual_time import run_virtual


def test_a_day_passes_in_no_time() -> None:
    """Sleepers wake in their order, at their time."""
    woken: list[tuple[float, int]] = []

    async def sleeper(hours: int) -> None:
        await asyncio.sleep(hours * 3600)
        woken.append((asyncio.get_running_loop().time(), hours))

    async def main() -> None:
        await asyncio.gather(*(sleeper(hours) for hours in (24, 1, 5)))

    began = time.monotonic()
    run_virtual(main(), start=100.0)
    assert woken == [(3700.0, 1), (18_100.0, 5), (86_500.0, 24)]
    assert time.monotonic() - began < 60


def test_waiting_for_ever_is_an_error() -> None:
    """Instead of a test that hangs."""

    async def main() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(RuntimeError, match="no timer is set"):
        run_virtual(main())


def test_what_is_left_running_is_cancelled() -> None:
    """And told so."""
    ended: list[str] = []

    async def forever() -> None:
        try:
            await asyncio.sleep(1e9)
        finally:
            ended.append("cancelled")

    async def main() -> asyncio.Task[None]:
        task = asyncio.create_task(forever())
        await asyncio.sleep(1)
        return task

    run_virtual(main())
    assert ended == ["cancelled"]
