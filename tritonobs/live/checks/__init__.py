"""Every check, and which follow from which. One file each; its name is the check's id, page and heading.

A check only judges: it reads a `View` and gives causes. It never asks a server, opens a file or looks at a
clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tritonobs.live.checks import (
    accelerator,
    batch_delay,
    cache_collapse,
    cpu_starved,
    dead_worker,
    delivery,
    error_surge,
    larger_inputs,
    model_gone,
    more_boxes,
    qps_limit,
    queue_saturation,
    reload,
    replica_down,
    scrape_problem,
    slow_machine,
    slow_replica,
    slow_stage,
    slow_version,
    traffic_surge,
    upstream_drop,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tritonobs.live.cause import Cause
    from tritonobs.live.view import View

CHECKS: Final[Mapping[str, Callable[[View], Iterator[Cause]]]] = {
    module.__name__.rpartition(".")[2]: module.judge
    for module in (
        replica_down,
        dead_worker,
        model_gone,
        error_surge,
        larger_inputs,
        more_boxes,
        qps_limit,
        slow_version,
        slow_replica,
        accelerator,
        cache_collapse,
        traffic_surge,
        slow_stage,
        batch_delay,
        reload,
        queue_saturation,
        cpu_starved,
        slow_machine,
        upstream_drop,
        scrape_problem,
        delivery,
    )
}
"""In the order in which two that are equally sure are told."""

_LATE = frozenset({"slow_stage", "queue_saturation", "cpu_starved", "slow_machine"})
EXPLAINS: Final[Mapping[str, frozenset[str]]] = {
    "replica_down": _LATE
    | {"scrape_problem", "dead_worker", "traffic_surge", "upstream_drop", "error_surge"},
    "dead_worker": _LATE | {"error_surge", "reload", "upstream_drop", "slow_replica"},
    "model_gone": frozenset({"error_surge", "upstream_drop"}),
    "reload": _LATE | {"error_surge", "cache_collapse"},
    "slow_version": _LATE | {"reload"},
    "larger_inputs": _LATE,
    "more_boxes": _LATE,
    "qps_limit": _LATE | {"traffic_surge", "batch_delay"},
    "traffic_surge": _LATE | {"batch_delay"},
    "slow_replica": _LATE,
    "accelerator": _LATE,
    "cache_collapse": _LATE,
    "slow_stage": frozenset({"queue_saturation", "cpu_starved", "slow_machine"}),
    "cpu_starved": frozenset({"slow_machine", "queue_saturation"}),
    "slow_machine": frozenset({"queue_saturation"}),
    "batch_delay": frozenset({"queue_saturation"}),
    "error_surge": frozenset({"upstream_drop"}),
    "scrape_problem": frozenset({"upstream_drop", "dead_worker"}),
}
"""A cause of the first kind is enough reason for those of the others to be seen as well."""
