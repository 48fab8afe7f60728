"""A fleet of models as its fleet file says, with what its servers do."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from support.fleet_sim import curves
from support.fleet_sim.fleet import Fleet
from support.fleet_sim.fleet_file import CLUSTER
from support.fleet_sim.spans import FOREVER
from tritonobs.plan.build import build_plan
from tritonobs.plan.series import constant_series, limit_series
from tritonobs.spec.load import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from support.fleet_sim.curves import Curve
    from support.fleet_sim.fleet import Server
    from support.fleet_sim.scraping import Row, Target
    from tritonobs.plan.fleet import Plan

HOUR: Final = 3600.0
MINUTE: Final = 60.0
CHAT: Final = "dingtalk/oncall"
"""The receiver of every alert: a robot of the fleet file."""
_SLOS: Final = {
    "availability": {"objective": "99.9%"},
    "latency": {"objective": "99%", "threshold": "100ms", "stage": "total"},
}
USUAL: Final = {"raised": 1e-4, "slow": 1e-3}
"""What goes wrong every day: a tenth of each budget."""


class Shop(Fleet):
    """A world of models that are both served and written into a fleet file."""

    def __init__(self, hours: float, *, servers: int = 2, seed: int = 1, **how: Any) -> None:
        super().__init__(seconds=hours * HOUR, seed=seed, **how)
        self.servers = [self.server(f"triton-{number}") for number in range(1, servers + 1)]
        self._models: dict[str, dict[str, Any]] = {}
        self.slos: Mapping[str, Any] = _SLOS
        self.replicas = {"triton-1": "http://10.0.0.1:8000"}

    def add(
        self,
        model: str,
        *versions: str,
        qps: Curve = 6.0,
        limit: float = 0,
        calls: Mapping[str, float] | None = None,
        on: Sequence[Server] | None = None,
        each: Mapping[int, Mapping[str, Any]] | None = None,
        promised: bool = True,
        tokens: Mapping[str, float] | None = None,
        pipeline: str = "bls",
        **how: Any,
    ) -> None:
        """A model with its traffic spread evenly over servers and versions, and its row of the fleet file.

        `each` is what differs on the server of a number. A model that is not `promised` has no objective.
        `tokens` are its limits of tokens a second. With `calls` it is a `pipeline`, in code or an ensemble.
        """
        versions = versions or ("1",)
        servers = self.servers if on is None else on
        own = self._models.setdefault(model, {"versions": {}})
        own["versions"] |= {version: {} for version in versions}
        own |= {"qps_limit": limit} if limit else {}
        own |= {"pipeline": pipeline, "calls": dict(calls)} if calls else {}
        own |= {"tokens_per_second_limit": dict(tokens)} if tokens else {}
        own |= {} if promised else {"slos": dict.fromkeys(self.slos, "none")}
        share = part(qps, len(servers) * len(versions))
        for number, server in enumerate(servers):
            for version in versions:
                self.serve(
                    server, model, version, **{"qps": share, **USUAL, **how, **(each or {}).get(number, {})}
                )

    @cached_property
    def plan(self) -> Plan:
        """The fleet file, understood.

        Raises:
            ValueError: it is wrong; the text has what is.
        """
        said = {
            "fleet": "shop",
            "replicas": [{"name": name, "url": url} for name, url in self.replicas.items()],
            "defaults": {"slos": self.slos},
            "models": self._models,
            "notify": {"dingtalk": {"oncall": {"webhook_env": "WEBHOOK"}}},
        }
        # JSON is YAML.
        reading = read_text(json.dumps(said), "fleet.yaml")
        if reading.spec is None:
            raise ValueError(str(reading.findings))
        return build_plan(reading.spec, Path("/etc/shop"))

    def pages(self, seconds: float) -> Iterator[tuple[Target, list[Row]]]:
        """The page of `tritonobs serve` has what the fleet file says."""
        for sample in (*constant_series(self.plan), *limit_series(self.plan.limits)):
            labels = {**sample.labels, "cluster": CLUSTER}
            self.exports(sample.name, float(sample.value), **labels)
        return super().pages(seconds)


def part(curve: Curve, among: int) -> Curve:
    """An equal share of a curve."""
    return lambda seconds: curves.at(curve, seconds) / among


def during(begins: float, lasting: float = FOREVER, value: Curve = 1, *, otherwise: Curve = 0) -> Curve:
    """One curve from a moment on, for so long; another before and after."""
    return curves.between(begins, begins + lasting, value, otherwise=otherwise)
