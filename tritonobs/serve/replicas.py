"""Servers that come and go, looked for again and again; what was found last stays meanwhile."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

from tritonobs.plan.fleet import Plan, Replica
from tritonobs.replicas.find import find_replicas
from tritonobs.tasks.threads import Threads

_log = logging.getLogger(__name__)
_SECONDS = 15.0
_LOOK_SECONDS = 60.0


class Found:
    """The replicas found last; `changed` is called in the event loop when they are others."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._plan: Plan | None = None
        self._replicas: tuple[Replica, ...] = ()
        self._threads = Threads("replicas")

    def apply(self, plan: Plan) -> None:
        """Look by this fleet file from now on. Found in another way, they are others."""
        if self._plan is None or plan.replica_source != self._plan.replica_source:
            self._replicas = ()
        self._plan = plan

    def filled(self, plan: Plan) -> Plan:
        """The plan with the replicas found last; itself where the fleet file names them."""
        return plan if plan.replica_source is None else replace(plan, replicas=self._replicas)

    async def look(self) -> None:
        """One round: look, wait.

        Raises:
            TritonobsError: nothing could be asked; what was found before stays.
        """
        plan = self._plan
        if plan is not None and plan.replica_source is not None:
            found = await self._threads.run(lambda: find_replicas(plan), seconds=_LOOK_SECONDS)
            # An empty answer is as good as none: no fleet vanishes because a selector or a file does.
            # Nor does an answer count that was asked for by a fleet file which has been replaced since.
            if found and found != self._replicas and plan is self._plan:
                _log.info("%d replicas are there now, %d before", len(found), len(self._replicas))
                self._replicas = found
                self._changed()
        await asyncio.sleep(_SECONDS)
