"""A rollout of one pool of five: what is told meanwhile, and what Prometheus needs."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import psutil
from cluster_pods import POOLS, fleet
from results import table

from support.control_plane import ControlPlane, wait
from support.fake_pods import FakePods
from support.fleets import build_objects
from support.operated import (
    OperatedPrometheus,
    ask,
    number,
    operated_config,
    plain_alertmanager,
    rule_files,
)
from support.pools import NODE, pool
from support.programs import free_port

if TYPE_CHECKING:
    from pathlib import Path

_QPS, _LIMIT = 1.0, 5000
_ENDS_SECONDS = 0
"""kwok lets pods that end wait for each other: with 3 s, five at once stayed for more than half a minute."""
_BLOCK_MINUTES = 2
_PATIENCE_SECONDS = 300.0
_CALM_SECONDS, _AFTER_SECONDS = 60.0, 200.0
_ALLOWED_GROWTH = 2.0
_MEBIBYTE = 2**20


def measure(folder: Path, *, pods: int, at_once: int, starts: int) -> tuple[str, object, bool]:
    """Alerts, series and memory before, during and after a rollout of `pods` / 5."""
    port, size = free_port(), pods // POOLS
    with ControlPlane(
        folder, operator=True, pods=True, controllers=True, pods_end_seconds=_ENDS_SECONDS
    ) as plane:
        for name in ("monitoring", "models"):
            plane.kubectl("create", "namespace", name)
        plane.apply(NODE, *(_pool(at, size, at_once) for at in range(POOLS)))
        chart = build_objects(folder / "built", fleet(port, limit=_LIMIT)) / "chart"
        plane.program("helm", "install", "t", str(chart), "--namespace", "monitoring")
        config = operated_config(plane)
        with (
            FakePods(plane, port, qps=_QPS, starts_seconds=starts),
            plain_alertmanager(folder) as manager,
            OperatedPrometheus(
                folder,
                config,
                rule_files(plane),
                alertmanager=manager.url,
                # The head is cut every 2 minutes and not every 2 hours, as the rollout is shorter, too.
                flags=(f"--storage.tsdb.min-block-duration={_BLOCK_MINUTES}m",),
            ) as prometheus,
        ):
            url = prometheus.url
            wait(lambda: number(url, "count(up == 1)") == pods, "the targets", seconds=_PATIENCE_SECONDS)
            time.sleep(_CALM_SECONDS)
            told = [("before", *_needs(prometheus))]
            before = _servers(plane)
            began = time.time()
            plane.kubectl("-n", "models", "rollout", "restart", "deployment/pool-0")
            last = began
            while not _rolled(plane, size):
                time.sleep(2)
                if time.time() - last > _CALM_SECONDS:
                    last = time.time()
                    told.append((f"minute {(last - began) / 60:.0f}", *_needs(prometheus)))
            took = time.time() - began
            told.append(("rolled out", *_needs(prometheus)))
            time.sleep(_AFTER_SECONDS)
            told.append(("3 minutes later", *_needs(prometheus)))
            seconds = int(time.time() - began)
            alerts = {
                (row["metric"]["alertname"], row["metric"]["severity"]): int(row["value"][1])
                for row in ask(
                    url,
                    "count by (alertname, severity) (last_over_time("
                    f'ALERTS{{alertstate="firing",alertname!="Watchdog"}}[{seconds}s]))',
                )
            }
            replaced = len(before - _servers(plane))
            dark = number(url, f'count(min_over_time(up{{job="triton"}}[{seconds}s]) == 0)')
    least = tuple(min(one[at] for one in told) for at in (1, 2))
    grown = max(one[at] / least[at - 1] for one in told for at in (1, 2))
    rows = [[when, f"{series:,.0f}", f"{memory:.0f} MiB"] for when, series, memory in told]
    pages = sum(count for (_, severity), count in alerts.items() if severity == "critical")
    said = ", ".join(f"{name} ({severity}) {count}" for (name, severity), count in sorted(alerts.items()))
    text = (
        f"{pods:,} pods of {POOLS} Deployments; the rollout of one replaced {replaced} pods in "
        f"{took / 60:.1f} minutes, {at_once} at once: {size / (took / 3600):,.0f} an hour. A new pod "
        f"answers {starts} s after it runs, one that ends stops {_ENDS_SECONDS} s before it is gone; "
        f"{dark:.0f} targets failed a scrape. Prometheus cuts its head every {_BLOCK_MINUTES} minutes "
        "instead of 2 hours.\n\n"
        f"Series and memory grew to at most {grown:.2f} times their least. Pages: {pages}. "
        f"Other alerts: {said or 'none'}.\n\n"
        f"{table(['when', 'series in the head', 'memory of Prometheus'], rows)}"
    )
    values = {
        "replaced": replaced,
        "minutes": took / 60,
        "alerts": {name: count for (name, _), count in alerts.items()},
        "told": told,
    }
    return text, values, not alerts and replaced == size and grown <= _ALLOWED_GROWTH


def _pool(at: int, size: int, at_once: int) -> dict[str, object]:
    return pool(f"pool-{at}", size, model=f"model-{at}", at_once=at_once)


def _servers(plane: ControlPlane) -> set[str]:
    """The names of the pods of the pool that is rolled out."""
    return set(plane.kubectl("-n", "models", "get", "pods", "-l", "pool=pool-0", "-o", "name").split())


def _rolled(plane: ControlPlane, size: int) -> bool:
    status = json.loads(plane.kubectl("-n", "models", "get", "deployment", "pool-0", "-o", "json"))["status"]
    return bool(
        status.get("updatedReplicas") == status["replicas"] == status.get("availableReplicas") == size
    )


def _needs(prometheus: OperatedPrometheus) -> tuple[float, float]:
    """Series in the head, and mebibytes."""
    memory = psutil.Process(prometheus.pid).memory_info().rss / _MEBIBYTE
    return prometheus.own("prometheus_tsdb_head_series"), memory
