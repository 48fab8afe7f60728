"""Limits and objectives on serve's metrics page, as they hold at the moment of the scrape."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from tritonobs.plan.fleet import Plan, QpsLimit
from tritonobs.plan.limits import limits_at
from tritonobs.plan.series import objective_series

_HELP = "From the fleet file; see docs/delivery.md."


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
            registry = CollectorRegistry()
            registry.register(_Objectives(plan, now))
            self._plan, self._limits, self._page = plan, limits, generate_latest(registry)
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
