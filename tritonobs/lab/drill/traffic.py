"""Requests to the stack in the background; drills change their mix."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from tritonobs.errors import ClientError
from tritonobs.lab.drill.streams import Stream
from tritonobs.lab.load.images import parse_mix
from tritonobs.lab.load.result import Progress
from tritonobs.lab.load.run import LoadPlan, run_load

_PATIENCE_SECONDS = 60.0


class Traffic:
    """What is sent now; nothing at first. Not for use by several threads."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._running: list[_Run] = []
        self._streams: tuple[Stream, ...] = ()

    def switch(self, streams: Sequence[Stream]) -> None:
        """Send this from now on; returns when the first requests are on their way.

        Raises:
            ClientError: the models cannot be asked.
        """
        if tuple(streams) == self._streams and all(run.alive for run in self._running):
            return
        self.stop()
        self._running = [_Run(self._url, stream) for stream in streams]
        self._streams = tuple(streams)
        for run in self._running:
            run.wait_started()

    def stop(self) -> None:
        """Send nothing more; returns when every answer is here."""
        for run in self._running:
            run.stop()
        for run in self._running:
            run.join()
        self._running, self._streams = [], ()


class _Run:
    """One stream, in a thread of its own."""

    def __init__(self, url: str, stream: Stream) -> None:
        self._plan = LoadPlan(
            segments=stream.segments,
            urls=(url,),
            model=stream.model,
            version=stream.version,
            mix=parse_mix(stream.mix),
            timeout_seconds=stream.patience_seconds,
            max_in_flight=stream.most_waiting,
        )
        self._stop, self._began = threading.Event(), threading.Event()
        self._failure: ClientError | None = None
        self._thread = threading.Thread(target=self._send, name=f"drill {stream.model}", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether it still sends."""
        return self._thread.is_alive()

    def wait_started(self) -> None:
        self._began.wait(_PATIENCE_SECONDS)
        if self._failure:
            raise self._failure

    def stop(self) -> None:
        self._stop.set()

    def join(self) -> None:
        self._thread.join()

    def _send(self) -> None:
        try:
            run_load(self._plan, self._note, stop=self._stop)
        except ClientError as failure:
            self._failure = failure
        finally:
            self._began.set()

    def _note(self, progress: Progress) -> None:
        if progress.sent:
            self._began.set()
