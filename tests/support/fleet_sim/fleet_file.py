"""What the fleet file of a world says, as the pages of `tritonobs serve` tell Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.fleet_sim import curves
from support.fleet_sim.scraping import Row, Target
from support.fleet_sim.series import NAME
from support.fleet_sim.spans import ALWAYS
from tritonobs import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from typing_extensions import Self

    from support.fleet_sim.curves import Curve
    from support.fleet_sim.spans import Span

CLUSTER = "default"
SERVE = "serve"


class FleetFile:
    """Rows of one page for each `source` in each `cluster`; all methods take both by name."""

    def __init__(self) -> None:
        self._exported: dict[tuple[str, str], list[Row]] = {}
        self._silent: dict[tuple[str, str], Sequence[Span]] = {}
        self._unsent: dict[tuple[str, str], Sequence[Span]] = {}
        self._phases: dict[tuple[str, str], float] = {}
        self._jobs: dict[tuple[str, str], dict[str, str]] = {}
        self.away: list[Span] = []

    def exports(
        self,
        name: str,
        value: Curve = 1,
        during: Span = ALWAYS,
        /,
        *,
        cluster: str = CLUSTER,
        source: str = SERVE,
        **labels: str,
    ) -> Self:
        """Any row of such a page."""
        row = Row(
            labels={**labels, NAME: name}, lives=[during], read=lambda seconds, _: curves.at(value, seconds)
        )
        self._exported.setdefault((cluster, source), []).append(row)
        return self

    def page_of(self, job: str, *, cluster: str = CLUSTER, source: str, **labels: str) -> Self:
        """This source is the page of another job than `tritonobs`: of Prometheus itself, of an exporter."""
        self._exported.setdefault((cluster, source), [])
        self._jobs[cluster, source] = {"job": job, **labels}
        return self

    def serve_silent(self, *spans: Span, cluster: str = CLUSTER, source: str = SERVE) -> Self:
        """When this `tritonobs serve` does not answer."""
        self._silent[cluster, source] = spans
        return self

    def serve_unsent(self, *spans: Span, cluster: str = CLUSTER, source: str = SERVE) -> Self:
        """When samples of this `tritonobs serve` are not stored, and end without a marker."""
        self._unsent[cluster, source] = spans
        return self

    def serve_phase(self, seconds: float, *, cluster: str = CLUSTER, source: str = SERVE) -> Self:
        """When this `tritonobs serve` is scraped: so long after each multiple of the interval."""
        self._phases[cluster, source] = seconds
        return self

    def prometheus_away(self, *spans: Span) -> Self:
        """When Prometheus is not there: no scrapes, no evaluations, no markers; afterwards it starts.

        From second 0 on it is a Prometheus that starts beside servers that have long been there.
        """
        self.away += spans
        return self

    def owns(self, model: str, *versions: str, kind: str = "model", **where: str) -> Self:
        """A model, and those of its versions that the file names; `where` may be labels: team, tier."""
        for version in ("", *versions):
            self.exports(names.MODEL_INFO, model=model, version=version, kind=kind, **where)
        return self

    def limits(self, model: str, qps: float, *, version: str = "", **where: str) -> Self:
        """A limit of a model or a version; model "" is the fleet."""
        return self.exports(names.QPS_LIMIT, qps, model=model, version=version, **where)

    def promises(self, model: str, objective: float = 0.999, *, version: str = "", **where: str) -> Self:
        """The availability that is promised for a model or a version."""
        own = {"model": model, "version": version, "slo": "availability"}
        return self.exports(names.SLO_OBJECTIVE, objective, **own, **where)

    def promises_time(
        self, model: str, le: str, objective: float = 0.99, *, version: str = "", **where: str
    ) -> Self:
        """The share of requests of a model or a version that must be answered within `le` seconds."""
        own = {"model": model, "version": version, "slo": "latency", **where}
        self.exports(names.SLO_OBJECTIVE, objective, **own)
        return self.exports(names.LATENCY_TARGET, float(le), **own, stage="total", le=le)

    def pages(self, seconds: float) -> Iterator[tuple[Target, list[Row]]]:
        """Every source as a target of Prometheus, for so long."""
        for (cluster, source), rows in self._exported.items():
            job = self._jobs.get((cluster, source), {"job": "tritonobs"})
            labels = {**job, "instance": f"{source}.{cluster}:9400", names.CLUSTER: cluster}
            yield (
                Target(
                    labels=labels,
                    discovered=(0, seconds),
                    silent=self._silent.get((cluster, source), ()),
                    unsent=(*self._unsent.get((cluster, source), ()), *self.away),
                    phase_seconds=self._phases.get((cluster, source), 0),
                ),
                rows,
            )
