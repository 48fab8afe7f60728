"""A server of a double that answers in a thread of its own while a block runs."""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.server import HTTPServer

    from typing_extensions import Self

_Server = TypeVar("_Server", bound="HTTPServer")


@contextmanager
def serving(server: _Server) -> Iterator[_Server]:
    """The server answers while the block runs, and is closed after it."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Serving:
    """A context manager; who derives from it sets `_server`."""

    _server: HTTPServer

    def __enter__(self) -> Self:
        self._open = ExitStack()
        self._open.enter_context(serving(self._server))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
