"""Events on annotated objects: "limit 80 in force", or why not. Nothing waits for them."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any
from uuid import uuid4

from tritonobs.clients.kubernetes import Annotated
from tritonobs.clients.kubernetes_api import KubernetesApi
from tritonobs.errors import ClientError, SecretUnusable
from tritonobs.tasks.threads import Threads

_log = logging.getLogger(__name__)
_MOST_WAITING = 1_000
_SECONDS = 10.0
_PAUSE_SECONDS = 0.05
_LONGEST_MESSAGE = 1_000
_SOURCE = "tritonobs"


class Events:
    """Posts what it is given, one after the other; of very many the newest. `speaks`: whether we do now."""

    def __init__(self, api: KubernetesApi, speaks: Callable[[], bool]) -> None:
        self._api, self._speaks = api, speaks
        self._waiting: deque[tuple[str, dict[str, Any]]] = deque(maxlen=_MOST_WAITING)
        self._loop = asyncio.get_running_loop()
        self._something = asyncio.Event()
        self._threads = Threads("events")
        self._refused = ""

    def tell(self, one: Annotated, in_force: str, complaint: str) -> None:
        """What is in force on this object, or what is wrong; from any thread."""
        if self._speaks():
            self._waiting.append((one.namespace, event(one, in_force, complaint)))
            self._loop.call_soon_threadsafe(self._something.set)

    async def post(self) -> None:
        """One round: wait for something to tell, and tell it."""
        await self._something.wait()
        self._something.clear()
        while self._waiting:
            namespace, body = self._waiting.popleft()
            try:
                await self._threads.run(lambda: self._post(namespace, body), seconds=2 * _SECONDS)  # noqa: B023 (awaited at once)
            except (ClientError, SecretUnusable) as error:
                # Logged once: a service account without the right to create Events has each of them refused.
                if str(error) != self._refused:
                    _log.warning("an Event could not be written: %s", error)
                self._refused = str(error)
            await asyncio.sleep(_PAUSE_SECONDS)

    def _post(self, namespace: str, body: dict[str, Any]) -> None:
        self._api.ask("POST", f"/api/v1/namespaces/{namespace}/events", body=body, seconds=_SECONDS)


def event(one: Annotated, in_force: str, complaint: str) -> dict[str, Any]:
    """The Event about an object, as the API takes it."""
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{one.name[:200]}.{uuid4().hex[:16]}", "namespace": one.namespace},
        "involvedObject": {
            "apiVersion": one.api,
            "kind": one.kind,
            "namespace": one.namespace,
            "name": one.name,
            **({"uid": one.uid} if one.uid else {}),
        },
        "type": "Warning" if complaint else "Normal",
        "reason": "LimitRefused" if complaint else "LimitInForce",
        "message": (complaint or in_force)[:_LONGEST_MESSAGE],
        "source": {"component": _SOURCE},
        "reportingComponent": _SOURCE,
        "reportingInstance": _SOURCE,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
