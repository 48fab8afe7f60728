"""A server of a double that answers in a thread of its own while a block runs."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from http.server import HTTPServer

    from typing_extensions import Self


class Serving:
    """A context manager; who derives from it sets `_server`."""

    _server: HTTPServer

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
