"""The fleet's replicas for Prometheus' http_sd: an empty or failed answer never empties a fleet."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from tritonobs import names
from tritonobs.plan.fleet import triton_targets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tritonobs.plan.fleet import Plan

    Groups = list[dict[str, object]]

_log = logging.getLogger(__name__)
KEPT_SECONDS = 3600.0


class Targets(Collector):
    """The target groups; the last good ones for an hour, where there are none or they cannot be made.

    `clock` gives seconds and never goes back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: Groups = []
        self._good_at = clock()
        self._old = False

    def groups(self, plan: Plan) -> Groups | None:
        """The groups to answer with; None without a good answer: Prometheus should keep its own."""
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
        """How many targets were listed last, and for how long that answer has been an old one."""
        yield GaugeMetricFamily(
            names.DISCOVERY_TARGETS, "Targets listed for Prometheus.", value=len(self._last)
        )
        yield GaugeMetricFamily(
            names.DISCOVERY_STALE,
            "Age of the targets in the last answer; 0 when they are current.",
            value=self._clock() - self._good_at if self._old else 0,
        )


def target_groups(plan: Plan) -> Groups:
    """One group a replica, so that each keeps its name; the very targets of the generated configuration."""
    targets = triton_targets(plan)
    return [{"targets": [target.address], "labels": target.labels} for target in targets]
