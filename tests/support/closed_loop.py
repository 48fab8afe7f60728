"""Clients in a closed loop against one model: each sends its next request when the last one was answered."""

from __future__ import annotations

import http.client
import json
import threading
from collections import Counter
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

_LONGEST_ERROR = 160


class ClosedLoop:
    """Full load while its `with` block runs; `ok` and `errors` count the answers.

    Every request has one row of one input tensor, in JSON.
    """

    def __init__(
        self,
        http_url: str,
        model: str,
        *,
        tensor: str,
        datatype: str,
        row: Sequence[object],
        clients: int = 4,
    ) -> None:
        self.timeout_seconds = 120.0
        self.ok = 0
        self.errors: Counter[str] = Counter()
        self._address = urlsplit(http_url)
        self._path = f"/v2/models/{quote(model, safe='')}/infer"
        shape = [1, len(row)]
        inputs = [{"name": tensor, "shape": shape, "datatype": datatype, "data": list(row)}]
        self._body = json.dumps({"inputs": inputs})
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._loop) for _ in range(clients)]

    def __enter__(self) -> ClosedLoop:  # noqa: PYI034 (typing.Self is newer than Python 3.10)
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def send(self, times: int) -> None:
        """Send so many, one after the other, on one connection, and return."""
        connection = self._connect()
        for _ in range(times):
            self._ask(connection)
        connection.close()

    def _loop(self) -> None:
        connection = self._connect()
        while not self._stopping.is_set():
            self._ask(connection)
        connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(
            self._address.hostname or "", self._address.port, timeout=self.timeout_seconds
        )

    def _ask(self, connection: http.client.HTTPConnection) -> None:
        try:
            connection.request("POST", self._path, self._body)
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
            error = "" if answer.status == HTTPStatus.OK else f"{answer.status} {text[:_LONGEST_ERROR]}"
        except (OSError, http.client.HTTPException) as raised:
            connection.close()
            error = repr(raised)
        with self._lock:
            if error:
                self.errors[error] += 1
            else:
                self.ok += 1
