"""A thousand pods from their Deployments to targets that answer, and an overflow of them to a page."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from results import table

from support.control_plane import ControlPlane, wait
from support.fake_pods import FakePods
from support.fleets import build_objects
from support.operated import (
    OperatedPrometheus,
    ask,
    firing,
    number,
    operated_config,
    plain_alertmanager,
    rule_files,
)
from support.pools import NODE, pool
from support.programs import free_port

if TYPE_CHECKING:
    from pathlib import Path

POOLS = 5
ALLOWED_SECONDS = 60
_LIMIT, _QUIET, _LOUD = 1000, 1.0, 10.0
"""A pool of 200 gets 200 requests a second, and 2,000 in the overflow."""
_PATIENCE_SECONDS = 300.0
_CALM_SECONDS = 60.0


def fleet(port: int, *, limit: int) -> str:
    """A model for each pool, scraped every 15 s."""
    models = "".join(
        f"  model-{at}: {{qps_limit: {limit}, versions: {{'1': {{}}}}}}\n" for at in range(POOLS)
    )
    return (
        "fleet: shop\ncluster: east\nlimits_source: rules\n"
        f"replicas: {{kubernetes: {{selector: app=triton, namespace: models, port: {port}}}}}\n"
        "prometheus: {scrape_interval: 15s, evaluation_interval: 15s}\n"
        f"kubernetes: {{objects: {{labels: {{release: kps}}}}}}\nmodels:\n{models}"
    )


def measure(folder: Path, pods: int) -> tuple[str, object, bool]:
    """Seconds from `kubectl apply` of the Deployments, and from the overflow."""
    port = free_port()
    with ControlPlane(folder, operator=True, pods=True, controllers=True) as plane:
        for name in ("monitoring", "models"):
            plane.kubectl("create", "namespace", name)
        plane.apply(NODE)
        before = plane.everything()
        chart = build_objects(folder / "built", fleet(port, limit=_LIMIT)) / "chart"
        plane.program("helm", "install", "t", str(chart), "--namespace", "monitoring")
        config = operated_config(plane)
        with (
            FakePods(plane, port, qps=_QUIET) as pages,
            plain_alertmanager(folder) as manager,
            OperatedPrometheus(folder, config, rule_files(plane), alertmanager=manager.url) as prometheus,
        ):
            url = prometheus.url
            began = time.monotonic()
            plane.apply(*(pool(f"pool-{at}", pods // POOLS, model=f"model-{at}") for at in range(POOLS)))
            wait(lambda: number(url, "count(up == 1)") == pods, "the targets", seconds=_PATIENCE_SECONDS)
            up = time.monotonic() - began
            time.sleep(_CALM_SECONDS)
            early = sorted(firing(manager.url).keys() - {"Watchdog"})
            began = time.monotonic()
            pages.qps = _LOUD
            wait(lambda: "TritonQpsAboveLimit" in firing(manager.url), "the page", seconds=_PATIENCE_SECONDS)
            paged = time.monotonic() - began
            scraped = len(ask(url, 'up{job="triton"}'))
        plane.kubectl("-n", "models", "delete", "deployments", "--all", "--wait=false")
        plane.kubectl("-n", "monitoring", "delete", "prometheus", "k8s")
        plane.program("helm", "uninstall", "t", "--namespace", "monitoring", "--wait")
        left: set[str] = set()

        def gone() -> bool:
            left.clear()
            left.update(plane.everything() - before)
            return not left

        try:
            wait(gone, "the cluster as it was before", seconds=_CALM_SECONDS)
        except TimeoutError as late:
            print(late)
    rows = [
        [f"{pods:,} pods up and scraped", f"{up:.1f} s", f"{ALLOWED_SECONDS} s"],
        ["targets", f"{scraped:,}", f"{pods:,}"],
        ["alerts before the overflow", ", ".join(early) or "none", "none"],
        ["from the overflow to the page in Alertmanager", f"{paged:.1f} s", ""],
        ["objects left after helm uninstall", str(len(left)), "0"],
    ]
    text = (
        f"{pods:,} pods of {POOLS} Deployments (controller-manager, kwok), found and scraped by Prometheus "
        "3.9.1 every 15 s with the operator's configuration of the installed chart. Pages are fakes at the "
        f"pods' addresses.\n\n{table(['what', 'measured', 'must be'], rows)}"
    )
    values = {
        "up_seconds": up,
        "paged_seconds": paged,
        "targets": scraped,
        "early": early,
        "left": sorted(left),
    }
    return text, values, up <= ALLOWED_SECONDS and scraped == pods and not early and not left
