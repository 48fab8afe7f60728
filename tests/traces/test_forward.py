"""What waits has bounds, in number and in bytes; what a collector refuses for now waits on."""

from __future__ import annotations

import asyncio
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pytest

from support.serving import serving
from tritonobs.errors import BadAnswer
from tritonobs.extensions.traces.forward import Body, BoundedQueue, Forwarder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def body(size):
    """So many bytes."""
    return Body(data=b"x" * size, kind="application/json")


@pytest.fixture(name="collector")
def _collector() -> Iterator[Callable[..., tuple[str, list[bytes]]]]:
    """Takes bodies at this address, and notes them; answers with these statuses, then with 200."""
    answers: list[int] = []
    got: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(answers.pop(0) if answers else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with serving(HTTPServer(("127.0.0.1", 0), Handler)) as server:

        def answering(*statuses: int) -> tuple[str, list[bytes]]:
            answers.extend(statuses)
            return f"http://127.0.0.1:{server.server_address[1]}/v1/traces", got

        yield answering


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
def test_what_a_collector_cannot_take_now_is_sent_again(collector, status) -> None:
    """The same body, before all that came after it; it is no body that was refused."""
    url, got = collector(status)

    async def main() -> tuple[int, int]:
        forwarder = Forwarder(url)
        for size in (3, 4):
            forwarder.queue.put(body(size))
        with pytest.raises(BadAnswer, match=f"answered {status}"):
            await forwarder.deliver()
        for _ in range(2):
            await forwarder.deliver()
        forwarder.close()
        return forwarder.sent, forwarder.refused

    assert asyncio.run(main()) == (2, 0)
    assert [len(one) for one in got] == [3, 3, 4]


@pytest.mark.parametrize("status", [400, 401, 404, 413, 415])
def test_what_a_collector_refuses_holds_up_nothing(collector, status) -> None:
    """It is dropped and counted, and the next body goes."""
    url, got = collector(status)

    async def main() -> tuple[int, int]:
        forwarder = Forwarder(url)
        for size in (3, 4):
            forwarder.queue.put(body(size))
        for _ in range(2):
            await forwarder.deliver()
        forwarder.close()
        return forwarder.sent, forwarder.refused

    assert asyncio.run(main()) == (1, 1)
    assert [len(one) for one in got] == [3, 4]


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
