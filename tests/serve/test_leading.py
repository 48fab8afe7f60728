"""Who delivers: a process that wakes from a freeze must ask before it does."""

from __future__ import annotations

import asyncio

import pytest

from tritonobs.errors import Unreachable
from tritonobs.serve import daemon


class _Lease:
    """Held for as long as a test says; a renewal ends when the test lets it."""

    identity = holder = "me"

    def __init__(self) -> None:
        self.held, self.asked, self.answer = False, asyncio.Event(), asyncio.Event()
        self.error: Exception | None = None
        self.answer.set()

    def renew(self) -> None:
        """Never called: the test's threads ask."""

    async def run(self, _work: object, *, seconds: float) -> None:
        """In place of a thread."""
        assert seconds > 0
        self.asked.set()
        await self.answer.wait()
        if self.error:
            raise self.error
        self.held = True


@pytest.fixture(name="kept")
def _kept(monkeypatch):
    """A lease, and who keeps it."""

    def make():
        lease = _Lease()
        one = daemon.Leading(lease, lambda: None)
        monkeypatch.setattr(one, "_threads", lease)
        monkeypatch.setattr(daemon, "_RENEW_SECONDS", 0)
        return lease, one

    return make


def test_a_holder_that_wakes_too_late_delivers_when_it_is_renewed(kept):
    """The Lease ran out while the process was stopped: another may have it."""

    async def main():
        lease, one = kept()
        await one.keep()
        assert one.here
        lease.held = False
        lease.answer.clear()
        lease.asked.clear()
        asking = asyncio.create_task(one.keep())
        await lease.asked.wait()
        assert not one.here
        lease.answer.set()
        await asking
        assert one.here

    asyncio.run(main())


def test_a_holder_goes_on_while_nobody_can_be_asked(kept):
    """No other can take the Lease then."""

    async def main():
        lease, one = kept()
        await one.keep()
        lease.held, lease.error = False, Unreachable("no route to host")
        with pytest.raises(Unreachable):
            await one.keep()
        assert one.here

    asyncio.run(main())
