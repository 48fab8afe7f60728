"""A real Prometheus that is given samples and asked questions; it neither scrapes nor evaluates rules itself.

Why this and not promtool: promtool evaluates every group at one interval, not at its own, and
computes each step of each rule anew. One range query computes a rule over a week at the interval of its
group. Its head block is made to span decades, so that samples of any age are in order as long as each series
is.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import promql_parser
import urllib3

from support.fleet_sim.series import NAME, Series
from support.fleet_sim.wire import write_request
from support.programs import Program, free_port
from support.promql import nodes, selectors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_MOST_POINTS: Final = 2_500
"""With four times as many, a week of 20 servers takes 20 GB instead of 3.5."""
_SAMPLES_A_CALL: Final = 500_000
_FIRST_MS: Final = 1_000_000_000_000
_APART_MS: Final = 40 * 86_400_000
"""No window looks further back, so worlds that are so far apart do not see each other."""
_OF_ITSELF: Final = frozenset({"absent", "absent_over_time", "scalar", "vector"})
"""Functions that give a value where no series is there."""


class QueryFailed(Exception):
    """Prometheus could not compute an expression; the text is its own."""


class Engine(Program):
    """Prometheus with an empty database in `folder`; a context manager that leaves nothing running.

    Its first world begins at `first_ms` after 1970.
    """

    def __init__(self, binary: Path, folder: Path, *, first_ms: int = _FIRST_MS) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        # A rule is a request, and `requests` spends three times as long on one.
        self._http = urllib3.HTTPConnectionPool(*self.url.removeprefix("http://").split(":"), retries=False)
        self._next_ms = first_ms
        self._worlds: list[tuple[int, set[str]]] = []
        config = folder / "prometheus.yml"
        config.write_text("global: {}\n", encoding="utf-8")
        argv = (
            str(binary),
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={self.url.removeprefix('http://')}",
            "--web.enable-remote-write-receiver",
            *(f"--storage.tsdb.{what}=20000d" for what in ("min-block-duration", "max-block-duration")),
            "--storage.tsdb.retention.time=20000d",
            "--query.timeout=30m",
            "--query.max-samples=1000000000",
            "--log.level=warn",
        )
        super().__init__(argv, folder / "prometheus.log", f"{self.url}/-/ready")

    def new_time(self, seconds: float = 0) -> int:
        """When the next world begins, in milliseconds, and how long it lasts.

        Worlds of up to a few days need not say it: they are so far apart that no rule looks across.
        """
        now = self._next_ms
        self._worlds.append((now, set()))
        self._next_ms += round(seconds * 1000) + _APART_MS
        return now

    def write(self, series: Iterable[Series]) -> None:
        """Store samples; those of one series must come in the order of their times."""
        for batch in _batches(series):
            answer = self._http.request("POST", "/api/v1/write", body=write_request(batch), timeout=600)
            if answer.status >= 300:
                raise QueryFailed(answer.data.decode())
            for one in (each for each in batch if len(each.times_ms)):
                self._names(int(one.times_ms[-1])).add(one.labels[NAME])

    def instant(self, expr: str, at_ms: int) -> list[dict[str, Any]]:
        """`metric` and `value` of every sample an expression has at a time."""
        found: list[dict[str, Any]] = self._ask("query", {"query": expr, "time": at_ms / 1000})
        return found

    def steps(self, expr: str, start_ms: int, end_ms: int, step_ms: int) -> list[Series]:
        """An expression at every step from start to end, both included.

        Raises:
            QueryFailed: it cannot be computed at some of the steps.
        """
        parts: dict[frozenset[tuple[str, str]], list[Series]] = {}
        reads = _reads(expr)
        if reads is not None and reads.isdisjoint(self._names(start_ms)):
            return []
        for first in range(start_ms, end_ms + 1, _MOST_POINTS * step_ms):
            last = min(end_ms, first + (_MOST_POINTS - 1) * step_ms)
            asked = {"query": expr, "start": first / 1000, "end": last / 1000, "step": step_ms / 1000}
            for row in self._ask("query_range", asked):
                one = _series(row)
                parts.setdefault(frozenset(one.labels.items()), []).append(one)
        return [
            Series(
                labels=rows[0].labels,
                times_ms=np.concatenate([row.times_ms for row in rows]),
                values=np.concatenate([row.values for row in rows]),
            )
            for rows in parts.values()
        ]

    def _names(self, at_ms: int) -> set[str]:
        """The names of all that was written in the world of that time."""
        return self._worlds[bisect_right(self._worlds, at_ms, key=lambda one: one[0]) - 1][1]

    def _ask(self, path: str, asked: dict[str, Any]) -> Any:
        answer = self._http.request(
            "POST", f"/api/v1/{path}", fields=asked, encode_multipart=False, timeout=1800
        )
        said = json.loads(answer.data)
        if said["status"] != "success":
            raise QueryFailed(f"{said['error']}: {asked['query']}")
        return said["data"]["result"]


@cache
def _reads(expr: str) -> frozenset[str] | None:
    """The names of all series without which an expression has no value; None where it may have one."""
    try:
        tree = promql_parser.parse(expr)
    except ValueError:
        return None
    named = [str(each.name or "") for each in selectors(tree)]
    calls = {node.func.name for node in nodes(tree) if isinstance(node, promql_parser.Call)}
    return frozenset(named) if named and all(named) and calls.isdisjoint(_OF_ITSELF) else None


def _series(row: dict[str, Any]) -> Series:
    times, values = zip(*row["values"], strict=True)
    return Series(
        labels=row["metric"],
        times_ms=np.rint(np.array(times, dtype=np.float64) * 1000).astype(np.int64),
        values=np.array(values, dtype=np.float64),
    )


def _batches(series: Iterable[Series]) -> Iterator[list[Series]]:
    batch: list[Series] = []
    size = 0
    for one in series:
        batch.append(one)
        size += len(one.times_ms)
        if size > _SAMPLES_A_CALL:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
