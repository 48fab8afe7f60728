"""The sockets of the daemon."""

from __future__ import annotations

import asyncio
import socket

from tritonobs.serve.server import Listen, listening


def test_answers_leave_at_once() -> None:
    """The body does not wait until the caller acknowledged the header, which takes 40 ms."""

    async def main() -> bool:
        begun = asyncio.get_running_loop().create_future()
        with listening(Listen(host="127.0.0.1", port=0), 0) as listener:
            server = await asyncio.start_server(lambda _, writer: begun.set_result(writer), sock=listener)
            async with server:
                _, caller = await asyncio.open_connection(*listener.getsockname())
                writer = await begun
                connection = writer.get_extra_info("socket")
                found = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                for one in (caller, writer):
                    one.close()
                    await one.wait_closed()
        return bool(found)

    assert asyncio.run(main())
