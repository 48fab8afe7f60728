"""What waits has bounds, in number and in bytes."""

from __future__ import annotations

import asyncio

from tritonobs.extensions.traces.forward import Body, BoundedQueue


def body(size):
    """So many bytes."""
    return Body(data=b"x" * size, kind="application/json")


def test_what_finds_no_room_is_counted() -> None:
    """And room that is given back is there for the next."""

    async def main() -> None:
        queue = BoundedQueue(most=2, most_bytes=10)
        assert [queue.put(body(size)) for size in (4, 7, 6, 0)] == [True, False, True, False]
        assert (len(queue), queue.bytes, queue.lost) == (2, 10, 2)
        queue.drop()
        assert queue.put(body(4))
        assert len((await queue.first()).data) == 6

    asyncio.run(main())


def test_who_waits_for_a_body_gets_the_first() -> None:
    """A body that is read stays until it is dropped."""

    async def main() -> None:
        queue = BoundedQueue(most=2, most_bytes=10)
        waiting = asyncio.ensure_future(queue.first())
        await asyncio.sleep(0)
        assert not waiting.done()
        queue.put(body(3))
        assert len((await waiting).data) == 3
        assert len(queue) == 1
        queue.drop()
        queue.drop()
        assert len(queue) == 0

    asyncio.run(main())
