"""Limits and objectives on serve's metrics page, computed at the moment of the scrape."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from tritonobs.plan.series import objective_series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tritonobs.plan.fleet import Plan

_HELP = "From the fleet file; see docs/delivery.md."


class ObjectiveCollector(Collector):
    """The plan's series; none when they reach Prometheus by a rules file: twice would be an error."""

    def __init__(self, plan: Callable[[], Plan]) -> None:
        self._plan = plan

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """One family per name."""
        plan = self._plan()
        if plan.limits_source == "rules":
            return
        families: dict[str, GaugeMetricFamily] = {}
        for sample in objective_series(plan, datetime.now(timezone.utc)):
            family = families.get(sample.name)
            if family is None:
                family = GaugeMetricFamily(sample.name, _HELP, labels=list(sample.labels))
                families[sample.name] = family
            family.add_metric(list(sample.labels.values()), float(sample.value))
        yield from families.values()
