"""What Prometheus reads of serve beside its metrics: limits and objectives in force, and replicas.

For http_sd an empty or failed answer never empties a fleet. Servers that come and go are searched again and
again; the last result stays meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timezone

from prometheus_client import generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from tritonobs import names
from tritonobs.plan.fleet import Group, Plan, QpsLimit, Replica, target_groups
from tritonobs.plan.limits import limits_at
from tritonobs.plan.series import objective_series
from tritonobs.replicas import find_replicas
from tritonobs.tasks import Threads

_HELP = "From the fleet file; see docs/delivery.md."

_log = logging.getLogger(__name__)
KEPT_SECONDS = 3600.0
_LOOK_EVERY_SECONDS = 15.0
_LOOK_SECONDS = 60.0


class ObjectivePage:
    """The part of the page that is the plan's; made again only when another limit has begun to hold.

    Empty when the series reach Prometheus by a rules file: the same series twice would be an error.
    """

    def __init__(self) -> None:
        self._plan: Plan | None = None
        self._limits: tuple[QpsLimit, ...] = ()
        self._page = b""

    def text(self, plan: Plan) -> bytes:
        """In Prometheus' text format."""
        now = datetime.now(timezone.utc)
        limits = tuple(limits_at(plan.limits, now))
        if plan != self._plan or limits != self._limits:
            self._plan, self._limits, self._page = plan, limits, generate_latest(_Objectives(plan, now))
        return self._page


class _Objectives(Collector):
    def __init__(self, plan: Plan, now: datetime) -> None:
        self._plan, self._now = plan, now

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """One family per name."""
        if self._plan.limits_source == "rules":
            return
        families: dict[str, GaugeMetricFamily] = {}
        for sample in objective_series(self._plan, self._now):
            family = families.get(sample.name)
            if family is None:
                family = GaugeMetricFamily(sample.name, _HELP, labels=list(sample.labels))
                families[sample.name] = family
            family.add_metric(list(sample.labels.values()), float(sample.value))
        yield from families.values()


class Targets(Collector):
    """The target groups; the last valid ones for an hour, where there are none or they cannot be made.

    `clock` gives seconds and never goes back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: list[Group] = []
        self._good_at = clock()
        self._old = False

    def groups(self, plan: Plan) -> list[Group] | None:
        """The groups to answer with; None without a valid answer: Prometheus should keep its own."""
        try:
            made = target_groups(plan)
        except Exception:  # noqa: BLE001 (one wrong replica leaves the others listed)
            _log.exception("the targets of the fleet could not be listed")
            made = []
        self._old = not made
        if made:
            self._last, self._good_at = made, self._clock()
        elif self._clock() - self._good_at > KEPT_SECONDS:
            self._last = []
        return self._last or None

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """How many targets were listed last, and for how long that answer has been out of date."""
        yield GaugeMetricFamily(
            names.DISCOVERY_TARGETS, "Targets listed for Prometheus.", value=len(self._last)
        )
        yield GaugeMetricFamily(
            names.DISCOVERY_STALE,
            "Age of the targets in the last answer; 0 when they are current.",
            value=self._clock() - self._good_at if self._old else 0,
        )


class Found:
    """The replicas found last; `changed` is called in the event loop when they have changed."""

    def __init__(self, plan: Plan, changed: Callable[[], None]) -> None:
        self._plan, self._changed = plan, changed
        self._replicas: tuple[Replica, ...] = ()
        self._threads = Threads("replicas")

    def apply(self, plan: Plan) -> None:
        """Search by this fleet file from now on. If it finds them in another way, they have changed."""
        if plan.replica_source != self._plan.replica_source:
            self._replicas = ()
        self._plan = plan

    def filled(self, plan: Plan) -> Plan:
        """The plan with the replicas found last; itself where the fleet file names them."""
        return plan if plan.replica_source is None else replace(plan, replicas=self._replicas)

    async def look(self) -> None:
        """One round: search, wait.

        Raises:
            TritonobsError: no source answered; the last result stays.
        """
        plan = self._plan
        if plan.replica_source is not None:
            found = await self._threads.run(lambda: find_replicas(plan), seconds=_LOOK_SECONDS)
            # An empty answer counts as none: a lost selector or file must not remove a fleet. An answer for a
            # fleet file that has been replaced since does not count either.
            if found and found != self._replicas and plan is self._plan:
                _log.info("%d replicas found, %d before", len(found), len(self._replicas))
                self._replicas = found
                self._changed()
        await asyncio.sleep(_LOOK_EVERY_SECONDS)
