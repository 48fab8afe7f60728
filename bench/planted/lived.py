"""A planted fault lived through: the servers' pages, what the fleet file says, and the end of the fault.

Each scene has half an hour of calm before its own ten minutes of it. A quarter of an hour after its fault
began it is cured: somebody loads every model as it was, starts what was down, and clients send what they sent
before.
"""

from __future__ import annotations

import heapq
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from planted.fleet import SCRAPE_SECONDS
from planted.plants import breathing
from support.fleet_sim.fleet_file import CLUSTER
from support.fleet_sim.series import NAME, Series, with_ends
from support.incidents.shop import Shop
from tritonobs.names import HEARTBEAT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planted.fleet import Fleet
    from planted.model import Model
    from planted.scene import Scene

CALM_SECONDS: Final = 1800.0
"""Before the ten minutes of calm that every scene has."""
LASTS_SECONDS: Final = 900.0
_AFTER_SECONDS: Final = 900.0
_BREATH: Final = 7
_SLOS: Final = {
    "availability": {"objective": "99.9%"},
    "latency": {"objective": "99%", "threshold": "250ms", "stage": "total"},
}


@dataclass(frozen=True, kw_only=True)
class Target:
    """A server as Prometheus sees it, by the seconds of its scrapes since the world began."""

    address: str
    times: np.ndarray[Any, Any]
    up: np.ndarray[Any, Any]

    def at(self, second: float) -> bool | None:
        """Whether its last scrape was answered; None where it is no target."""
        place = int(np.searchsorted(self.times, second, side="right")) - 1
        if place < 0 or self.times[place] < second - 2 * SCRAPE_SECONDS:
            return None
        return bool(self.up[place])


class Planted(Shop):
    """The world of a scene; its fault begins at `begins`, in seconds since the world began."""

    def __init__(self, scene: Scene) -> None:
        self.begins = CALM_SECONDS + scene.begins
        self.ends = self.begins + LASTS_SECONDS
        super().__init__((self.ends + _AFTER_SECONDS) / 3600, servers=0, scrape_seconds=SCRAPE_SECONDS)
        self.slos = _SLOS
        self.scene = scene
        self.fleet = self._played()
        self.replicas = {one.name: f"http://{one.name}:8000" for one in self.fleet.replicas}
        for name, model in self.fleet.models.items():
            calls = {part: 1 for part in model.parts.values() if isinstance(part, str)}
            self.add(
                name,
                limit=self.fleet.limits.get(name, 0),
                calls=calls,
                pipeline="ensemble" if model.ensemble else "bls",
                on=(),
            )
            if not model.staged or model.ensemble:
                # Nothing but stages tells which requests were late.
                self._models[name]["slos"] = {"latency": "none"}

    def _played(self) -> Fleet:
        fleet = self.scene.fleet()
        # What is before it is in negative seconds: scenes say when things happen in seconds of their own.
        fleet.now = -CALM_SECONDS
        fleet._queue = [(at - CALM_SECONDS, number, act) for at, number, act in fleet._queue]  # noqa: SLF001 (a plant reaches into the simulated fleet)
        heapq.heapify(fleet._queue)  # noqa: SLF001 (a plant reaches into the simulated fleet)
        fleet.scrape_all(self.seconds - CALM_SECONDS, since=-CALM_SECONDS)
        breathing(fleet, _BREATH, self.seconds - CALM_SECONDS, since=-CALM_SECONDS)
        kept = {name: copy(model) for name, model in fleet.models.items()}
        rates = dict(fleet.rates)
        self.scene.plant(fleet)
        fleet.at(self.ends - CALM_SECONDS, lambda: _cured(fleet, kept, rates))
        fleet.run(self.seconds - CALM_SECONDS)
        return fleet

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """The servers."""
        return tuple(
            Target(
                address=dict(labels)["instance"],
                times=np.array([at for at, _ in points]) + CALM_SECONDS,
                up=np.array([value for _, value in points]),
            )
            for (name, labels), points in self.fleet.series.items()
            if name == "up"
        )

    def series(self, start_ms: int) -> Iterator[Series]:
        """What Prometheus keeps of it all."""
        yield from super().series(start_ms)
        moments = {target.address: _with_breaks(target.times) for target in self.targets}
        for (name, labels), points in self.fleet.series.items():
            times = moments[dict(labels)["instance"]]
            seconds = np.array([at for at, _ in points]) + CALM_SECONDS
            values, there = np.zeros(len(times)), np.zeros(len(times), dtype=bool)
            places = np.searchsorted(times, seconds - 1e-6)
            # A heartbeat is a time of day.
            zero = start_ms / 1000 + CALM_SECONDS if name == HEARTBEAT else 0.0
            values[places] = np.array([value for _, value in points]) + zero
            there[places] = True
            kept, written = with_ends(values, there)
            yield Series(
                labels={key: value for key, value in labels if value} | {NAME: name, "cluster": CLUSTER},
                times_ms=start_ms + np.rint(times * 1000).astype(np.int64)[kept],
                values=written,
            )


def _with_breaks(times: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The scrapes of a target, and where the next one would have been when it was one no more."""
    breaks = times[:-1][np.diff(times) > 1.5 * SCRAPE_SECONDS]
    return np.sort(np.concatenate([times, breaks + SCRAPE_SECONDS, times[-1:] + SCRAPE_SECONDS]))


def _cured(fleet: Fleet, kept: dict[str, Model], rates: dict[str, float]) -> None:
    """All is as it was, and every model is loaded again."""
    for each in fleet.replicas:
        each.listed = each.answers = True
        each.empty, each.weight, each.cpu = False, 1.0, 0.4
        for name, model in kept.items():
            if fleet.models[name].version != model.version:
                fleet.unload(each, fleet.models[name])
    fleet.models.update(kept)
    for each in fleet.replicas:
        for name in kept:
            fleet.load(each, fleet.models[name])
    for name, rate in rates.items():
        fleet.ask(name, rate)
