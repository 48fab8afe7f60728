"""A fleet as a test tells it: clusters, servers, versions, their traffic, and what the fleet file says.

Times are seconds since the world began. The same seed makes the same world.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from support.fleet_sim import curves, truth
from support.fleet_sim.fleet_file import CLUSTER, FleetFile
from support.fleet_sim.pages import Version
from support.fleet_sim.queueing import queue
from support.fleet_sim.scraping import Row, Target, scraped
from support.fleet_sim.series import NAME
from support.fleet_sim.spans import ALWAYS, FOREVER, both, gaps, without
from tritonobs import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from support.fleet_sim.curves import Curve
    from support.fleet_sim.series import Array, Series
    from support.fleet_sim.spans import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A Triton server; `names` are what discovery calls it, usually one."""

    cluster: str
    names: Sequence[str]
    phase_seconds: float
    processes: Sequence[Span]
    discovered: Span
    silent: Sequence[Span]
    unsent: Sequence[Span]
    empty: Sequence[Span]
    lost: float
    quiet_seconds: float
    scrape_seconds: float
    versions: list[Version] = field(default_factory=list)
    more: list[Row] = field(default_factory=list)


class Fleet(FleetFile):
    """A world under construction; `truth` is what happens in it."""

    def __init__(
        self, *, seconds: float, seed: int = 0, scrape_seconds: float = 15, tick_seconds: float = 1
    ) -> None:
        self.seconds, self.scrape_seconds, self.tick_seconds = seconds, scrape_seconds, tick_seconds
        super().__init__()
        self.truth = truth.Truth(tick_seconds=tick_seconds)
        self.dice = np.random.default_rng(seed)
        self._noise = np.random.default_rng((seed, 1))
        self._ticks = np.arange(0, seconds, tick_seconds)
        self._servers: list[Server] = []

    def server(
        self,
        name: str = "triton-1",
        *also: str,
        cluster: str = CLUSTER,
        life: Span = ALWAYS,
        restarts: Sequence[Span] = (),
        silent: Sequence[Span] = (),
        unsent: Sequence[Span] = (),
        empty: Sequence[Span] = (),
        discovered: Span | None = None,
        lost: float = 0,
        quiet_seconds: float = 0,
        phase_seconds: float | None = None,
        scrape_seconds: float | None = None,
    ) -> Server:
        """A server, down during `restarts`, hanging or unreachable for Prometheus during `silent`.

        It is discovered for all of its life, down or not, unless `discovered` says otherwise. `also` are
        further addresses of the same server. During `unsent` no sample of it is stored, and no marker either;
        during `empty` its page has no line.
        No request reaches it for `quiet_seconds` after each start: its first pages show 0.
        """
        interval = scrape_seconds or self.scrape_seconds
        phase = float(self.dice.uniform(0, interval)) if phase_seconds is None else phase_seconds
        seen = discovered or life
        made = Server(
            cluster=cluster,
            names=(name, *also),
            phase_seconds=round(phase, 3),
            processes=without((life[0], min(life[1], self.seconds)), restarts),
            discovered=(seen[0], min(seen[1], self.seconds)),
            silent=silent,
            unsent=unsent,
            empty=empty,
            lost=lost,
            quiet_seconds=quiet_seconds,
            scrape_seconds=interval,
        )
        self._servers.append(made)
        return made

    def serve(
        self,
        server: Server,
        model: str = "nms",
        version: str = "1",
        *,
        qps: Curve = 0,
        loaded: Sequence[Span] = (ALWAYS,),
        steady: bool = False,
        capacity: Curve | None = None,
        most_waiting: float = FOREVER,
        seconds: float = 0.03,
        slow_seconds: float = 0.4,
        bounds: Sequence[float] | None = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0),
        stuck: Sequence[Span] = (),
        reloads: Sequence[float] = (),
        flush_seconds: float = 0,
        workers: int = 1,
        ensemble: bool = False,
        refuses: tuple[str, str] = ("decode", "corrupt_image"),
        stages: Mapping[str, Curve] | None = None,
        uncounted: Sequence[Span] = (),
        **shares: Curve,
    ) -> None:
        """A model version on a server; `shares` say how much of its requests end how: `raised=0.1`.

        Arrivals are those of a Poisson process, or evenly spaced when `steady`. With a `capacity` a second,
        what is more waits, and beyond `most_waiting` is refused where Triton counts nothing. `unseen`
        requests arrive while no process or version is there to count them. `stages` are the seconds that each
        answered request spends in a stage; they do not change what the whole of it takes.
        """
        rate = np.clip(curves.at(qps, self._ticks), 0, None) * self.tick_seconds
        arrivals = self._arrivals(rate, steady=steady)
        here = both(loaded, server.processes)
        there = np.zeros(len(self._ticks), dtype=bool)
        for start, end in here:
            there |= (self._ticks >= start + server.quiet_seconds) & (self._ticks < end)
        counted = np.where(there, arrivals, 0)
        waiting, waited, refused = np.zeros(len(rate)), np.full(len(rate), 0.001), arrivals - counted
        if capacity is not None:
            served = queue(
                counted,
                per_tick=float(curves.at(capacity, self._ticks[:1])[0]) * self.tick_seconds,
                most_waiting=most_waiting,
                tick_seconds=self.tick_seconds,
            )
            counted, waiting, waited = served.answered, served.waiting, served.waited
            refused = refused + served.refused
        ends = self._ended(counted, shares, steady=steady)
        server.versions.append(
            Version(
                model=model,
                version=version,
                tick_seconds=self.tick_seconds,
                loaded=here,
                processes=server.processes,
                ends=ends,
                pending=waiting,
                seconds=seconds,
                slow_seconds=slow_seconds,
                queue=waited,
                noise=self._noise.normal(size=len(waited)),
                bounds=bounds,
                stuck=stuck,
                reloads=reloads,
                flush_seconds=flush_seconds,
                workers=workers,
                ensemble=ensemble,
                refuses=refuses,
                stages={name: curves.at(took, self._ticks) for name, took in (stages or {}).items()},
                uncounted=uncounted,
            )
        )
        self.truth.happened.append(
            truth.Happened(
                cluster=server.cluster,
                server=server.names[0],
                model=model,
                version="1" if ensemble else version,
                ends={**ends, truth.UNSEEN: refused},
                arrivals=arrivals,
            )
        )

    def counts(
        self,
        server: Server,
        name: str,
        per_second: Curve,
        *,
        lives: Sequence[Span] = (ALWAYS,),
        **labels: str,
    ) -> None:
        """One more counter on the page of a server, of whole and evenly spaced events."""
        total = np.concatenate(
            [[0], np.cumsum(_even(curves.at(per_second, self._ticks) * self.tick_seconds))]
        )

        def read(seconds: Array, since: float) -> Array:
            places = (np.append(seconds, since) / self.tick_seconds + 1e-9).astype(int)
            return np.asarray(total[places[:-1]] - total[places[-1]])

        server.more.append(Row(labels={**labels, NAME: name}, lives=both(lives, server.processes), read=read))

    def shows(
        self,
        server: Server,
        name: str,
        value: Curve,
        *,
        lives: Sequence[Span] = (ALWAYS,),
        **labels: str,
    ) -> None:
        """One more gauge on the page of a server."""
        row = Row(
            labels={**labels, NAME: name},
            lives=both(lives, server.processes),
            read=lambda seconds, _: curves.at(value, seconds),
        )
        server.more.append(row)

    def series(self, start_ms: int) -> Iterator[Series]:
        """Everything that Prometheus would have stored, beginning at `start_ms`."""
        for server in self._servers:
            rows = [*server.more, *(row for each in server.versions for row in each.rows(start_ms / 1000))]
            for name in server.names:
                labels = {"job": "triton", "instance": f"{name}:8002", names.REPLICA: name}
                target = Target(
                    labels={**labels, names.CLUSTER: server.cluster},
                    discovered=server.discovered,
                    silent=(*server.silent, *gaps(server.processes, server.discovered)),
                    unsent=(*server.unsent, *self.away),
                    empty=server.empty,
                    lost=server.lost,
                    phase_seconds=server.phase_seconds,
                )
                yield from scraped(
                    target, rows, interval_seconds=server.scrape_seconds, start_ms=start_ms, dice=self.dice
                )
        for target, rows in self.pages(self.seconds):
            yield from scraped(
                target, rows, interval_seconds=self.scrape_seconds, start_ms=start_ms, dice=self.dice
            )

    def _arrivals(self, rate: Array, *, steady: bool) -> Array:
        return _even(rate) if steady else self.dice.poisson(rate).astype(float)

    def _ended(self, counted: Array, shares: Mapping[str, Curve], *, steady: bool) -> dict[str, Array]:
        """Every request one ending; what `shares` leave is fast."""
        left, rest = counted, np.ones(len(counted))
        ends = {}
        for kind, curve in shares.items():
            if kind not in truth.COUNTED:
                raise ValueError(f"{kind}: allowed are {', '.join(sorted(truth.COUNTED))}")
            share = curves.at(curve, self._ticks)
            chance = np.clip(np.divide(share, rest, out=np.zeros(len(rest)), where=rest > 1e-12), 0, 1)
            some = (
                np.minimum(_even(counted * share), left)
                if steady
                else self.dice.binomial(left.astype(int), chance)
            )
            ends[kind] = some.astype(float)
            left, rest = left - ends[kind], rest - share
        return {**ends, truth.FAST: left}


def _even(rate: Array) -> Array:
    """Whole requests, evenly spaced: at 0.01 a second one every 100 s."""
    return np.diff(np.floor(np.cumsum(rate) + 1e-6), prepend=0)
