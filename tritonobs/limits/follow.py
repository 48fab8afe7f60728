"""Follows the objects of one kind: a list, then watches; after trouble a pause, then a list again."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterator
from typing import Protocol

from tritonobs.clients.kubernetes import Change, Listing
from tritonobs.clients.kubernetes_api import Expired
from tritonobs.errors import ClientError, SecretUnusable
from tritonobs.tasks.threads import Threads

_log = logging.getLogger(__name__)
_WATCH_SECONDS = 240
_LONGEST_STEP_SECONDS = 330.0
"""A watch, and the patience of the client with it."""
_LONGEST_PAUSE_SECONDS = 30.0
_MOST_DOUBLINGS = 5


class Watchable(Protocol):
    """Who can tell about objects of a kind; `clients.kubernetes.KubernetesClient` does."""

    def list(self) -> Listing:
        """Every object."""

    def watch(self, resource_version: str, *, seconds: int) -> Iterator[Change]:
        """What changes afterwards."""

    def close(self) -> None:
        """Nothing more is asked."""


class Follower:
    """`listed` gets every whole list, `changed` what came after it; both in a thread of its own."""

    def __init__(
        self, client: Watchable, *, listed: Callable[[Listing], None], changed: Callable[[Change], None]
    ) -> None:
        self._client = client
        self._listed, self._changed = listed, changed
        self._threads = Threads("annotations")
        self._version = ""
        self._failures = 0
        self._closed = False
        self.connected = False
        """Whether the API server answered when it was last asked."""

    def close(self) -> None:
        """Follow no longer. A watch that is waiting for the server ends with the process."""
        self._closed = True
        self._client.close()

    async def follow(self) -> None:
        """One step: a list, or a watch to its end; after trouble with the server, a pause."""
        try:
            await self._threads.run(self._step, seconds=_LONGEST_STEP_SECONDS)
        except Expired as gone:
            _log.info("%s; listing again", gone)
            self._version = ""
        except (ClientError, SecretUnusable) as error:
            self._trouble(error)
        # A change may have been taken by half, so the next step lists again.
        except BaseException:
            self._lost()
            raise
        else:
            self._failures = 0
            return
        # Spread out, so that many daemons do not come back to a restarted API server at one moment.
        longest = min(2.0 ** min(self._failures + 1, _MOST_DOUBLINGS), _LONGEST_PAUSE_SECONDS)
        self._failures += 1
        await asyncio.sleep(longest * random.uniform(0.25, 0.5))  # noqa: S311 (no secret)

    def _step(self) -> None:
        if not self._version:
            listing = self._client.list()
            self._listed(listing)
            self._version = listing.resource_version
            self.connected = True
            return
        for change in self._client.watch(self._version, seconds=_WATCH_SECONDS):
            self._version = change.resource_version
            self._changed(change)
            if self._closed:
                return

    def _trouble(self, error: Exception) -> None:
        level = logging.WARNING if self.connected or not self._failures else logging.DEBUG
        self._lost()
        _log.log(level, "annotations cannot be followed, their last limits stay in force: %s", error)

    def _lost(self) -> None:
        self.connected, self._version = False, ""
