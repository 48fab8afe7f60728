"""A night of faults in a real fleet: what clients sent and got, and what the rules recorded."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from support.open_loop import OpenLoop
from support.real_fleet import LIMITS, A, B
from tritonobs.clients.prometheus import PrometheusClient

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from support.real_fleet import Servers

_MISSING_SECONDS = 260.0
"""TritonModelMissing is judged each minute and waits for two, after the rate has ended: up to 245 s."""
_UNLOADED_SECONDS = 125.0
"""TritonModelUnloaded is judged every 30 s and waits for a minute, after the rate has ended: up to 115 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """An alert that fired: its labels, and when, in Unix seconds."""

    labels: Mapping[str, str]
    first: float
    last: float


@dataclass(slots=True, kw_only=True)
class Night:
    """What happened: moments in Unix seconds, loads with their counts, and Prometheus to be asked."""

    prometheus: PrometheusClient
    at: dict[str, float] = field(default_factory=dict)
    loads: dict[str, OpenLoop] = field(default_factory=dict)
    charged: dict[str, float] = field(default_factory=dict)
    fired: dict[str, tuple[Fired, ...]] = field(default_factory=dict)
    began: float = field(default_factory=time.time)

    def mark(self, what: str) -> None:
        """Remember that this happened now."""
        self.at[what] = time.time()

    def after(self, what: str, alert: str, **labels: str) -> float | None:
        """Seconds from what happened until the alert fired with these labels; None when it did not."""
        moments = [
            one.first
            for one in self.fired.get(alert, ())
            if labels.items() <= one.labels.items() and one.last >= self.at[what]
        ]
        return min(moments) - self.at[what] if moments else None


def live(
    servers: Servers, *, calm: float, gap: float, life: float, say: Callable[[str], None] = lambda _: None
) -> Night:
    """Live through the night; `calm`, `gap` and `life` are seconds."""
    night = Night(prometheus=PrometheusClient(servers.prometheus.url))

    def load(name: str, server: str, command: str, qps: float, **more: Any) -> OpenLoop:
        night.loads[name] = OpenLoop(servers.url(server), name.split(maxsplit=1)[0], command, qps, **more)
        return night.loads[name]

    with ExitStack() as usual:
        for model, server, qps in (
            ("gapped", A, 10),
            ("shared", A, 3),
            ("short", B, 10),
            ("lonely", B, 3),
        ):
            usual.enter_context(load(model, server, "ok", qps))
        usual.enter_context(load("near", A, "ok", 0.9 * LIMITS["near"], seed=7))
        outage = usual.enter_context(load("outage", B, "ok", 10))
        over = usual.enter_context(load("over", A, "ok 0.1", 5))
        say("calm")
        night.mark("calm")
        time.sleep(calm)

        say("one server loses a model; a total outage, a short life, an overload")
        servers.api(B).unload("shared")
        night.mark("shared unloaded")
        outage.stop()
        night.mark("outage")
        with load("outage failing", B, "fail", 10):
            servers.version(B, "short", "2")
            servers.api(B).load("short")
            with load("short failing", B, "fail", 10, version="2"):
                over.stop()
                night.mark("over")
                with load("over loaded", A, "ok 0.1", 24):
                    time.sleep(30)
                time.sleep(max(0.0, life - (time.time() - night.at["over"])))
            servers.remove(B, "short", "2")
            servers.api(B).load("short")
            time.sleep(max(0.0, _MISSING_SECONDS - (time.time() - night.at["shared unloaded"])))

        say("a server stands still under failing load, another one loses a model")
        with load("gapped failing", A, "fail", 10), servers.frozen(A):
            night.mark("frozen")
            servers.api(B).unload("lonely")
            night.mark("lonely unloaded")
            time.sleep(gap)
        night.mark("thawed")
        time.sleep(max(45.0, _UNLOADED_SECONDS - (time.time() - night.at["lonely unloaded"])))

    for name in ("gapped", "short", "outage"):
        night.charged[name] = _charged(night, name)
    say("discovery answers with nothing")
    servers.discovery(())
    night.mark("discovery empty")
    time.sleep(75)
    night.fired = _fired(night)
    return night


def _charged(night: Night, model: str) -> float:
    """How many requests of the night the SLI of a model calls bad."""
    chosen = f'slo:sli_bad_requests:increase{{model="{model}",version="",slo="availability"}}'
    window = round(time.time() - night.began)
    return sum(one.value for one in night.prometheus.query(f"sum_over_time({chosen}[{window}s])"))


def _fired(night: Night) -> dict[str, tuple[Fired, ...]]:
    """Every alert of the night, by name; one that fired twice is there twice."""
    found: dict[str, list[Fired]] = {}
    rows = night.prometheus.query_range(
        'ALERTS{alertstate="firing"}', start=night.began, end=time.time(), step_seconds=1
    )
    for row in rows:
        moments = [at for at, _ in row.points]
        ends = [index for index, at in enumerate(moments) if moments[index + 1 : index + 2] != [at + 1]]
        begins = [0, *(index + 1 for index in ends[:-1])]
        found.setdefault(row.labels["alertname"], []).extend(
            Fired(labels=row.labels, first=moments[begin], last=moments[end])
            for begin, end in zip(begins, ends, strict=True)
        )
    return {name: tuple(fired) for name, fired in found.items()}
