"""All checks, and which follow from which. One file each; its name is the check's id, page and heading.

A check only judges: it reads a `View` and gives causes. It never asks a server, opens a file or looks at a
clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from tritonobs.triage.cause import Cause
from tritonobs.triage.checks import (
    accelerator,
    bad_deploy,
    batch_delay,
    batch_too_large,
    budget_burn,
    cache_collapse,
    cpu_starved,
    dead_worker,
    delivery,
    error_surge,
    kv_cache_full,
    larger_inputs,
    model_gone,
    more_boxes,
    prompt_longer,
    qps_limit,
    queue_saturation,
    reload,
    replica_down,
    scrape_problem,
    slow_machine,
    slow_replica,
    slow_stage,
    slow_version,
    tokens_limit,
    traffic_surge,
    upstream_drop,
)
from tritonobs.triage.view import View

CHECKS: Final[Mapping[str, Callable[[View], Iterator[Cause]]]] = {
    module.__name__.rpartition(".")[2]: module.judge
    for module in (
        replica_down,
        dead_worker,
        model_gone,
        bad_deploy,
        error_surge,
        larger_inputs,
        more_boxes,
        prompt_longer,
        kv_cache_full,
        batch_too_large,
        qps_limit,
        tokens_limit,
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
        budget_burn,
    )
}
"""Of two equally sure causes the earlier comes first."""

# Waiting, busy processors and slow stages are consequences of most faults, and seldom causes.
_LATE = frozenset({"slow_stage", "queue_saturation", "cpu_starved", "slow_machine"})
_ALWAYS = frozenset({"budget_burn"})
_FOLLOWS: Final[Mapping[str, frozenset[str]]] = {
    "replica_down": _LATE
    | {"scrape_problem", "dead_worker", "traffic_surge", "upstream_drop", "error_surge"},
    # A dead worker does not make processors busy.
    "dead_worker": (_LATE - {"cpu_starved"})
    | {"error_surge", "bad_deploy", "reload", "upstream_drop", "slow_replica"},
    "model_gone": frozenset({"error_surge", "upstream_drop", "dead_worker", "bad_deploy", "reload"}),
    "bad_deploy": _LATE | {"error_surge", "reload", "slow_replica", "upstream_drop"},
    # First requests after a load are slow, but not those of everything on a machine.
    "reload": frozenset({"slow_stage", "queue_saturation", "error_surge", "cache_collapse"}),
    "slow_version": _LATE | {"reload", "bad_deploy"},
    "larger_inputs": _LATE,
    "more_boxes": _LATE,
    "prompt_longer": _LATE | {"kv_cache_full", "batch_too_large"},
    "kv_cache_full": _LATE,
    "batch_too_large": _LATE,
    "qps_limit": _LATE | {"traffic_surge", "batch_delay"},
    "tokens_limit": _LATE | {"kv_cache_full", "batch_too_large"},
    "traffic_surge": _LATE | {"batch_delay"},
    "slow_replica": _LATE,
    "accelerator": _LATE,
    "cache_collapse": _LATE,
    "slow_stage": frozenset({"queue_saturation", "slow_machine"}),
    # On busy processors one part slows down most, and is not the cause.
    "cpu_starved": frozenset({"slow_stage", "slow_machine", "queue_saturation"}),
    "slow_machine": frozenset({"queue_saturation"}),
    "batch_delay": frozenset({"queue_saturation", "bad_deploy", "reload"}),
    # It explains none of the others, but needs its key for what `_ALWAYS` adds.
    "queue_saturation": frozenset(),
    "error_surge": frozenset({"upstream_drop"}),
    "upstream_drop": frozenset(),
    "scrape_problem": frozenset({"upstream_drop", "dead_worker"}),
}
EXPLAINS: Final[Mapping[str, frozenset[str]]] = {
    check: follows | _ALWAYS for check, follows in _FOLLOWS.items()
}
"""A cause of the first kind explains those of the others."""
# Deployments and workers are of one model: those of another member of its pipeline explain nothing here.
OF_THE_SAME_MODEL: Final = frozenset(
    {
        ("dead_worker", "bad_deploy"),
        ("dead_worker", "reload"),
        ("model_gone", "bad_deploy"),
        ("model_gone", "dead_worker"),
        ("model_gone", "reload"),
        ("batch_delay", "bad_deploy"),
        ("batch_delay", "reload"),
        ("slow_version", "bad_deploy"),
        ("bad_deploy", "reload"),
        ("bad_deploy", "slow_replica"),
    }
)
"""Pairs of which one explains the other only in the same model."""
OF_ITS_CALLERS: Final = frozenset(
    (check, effect) for check in ("bad_deploy", "reload") for effect in ("slow_stage", "error_surge")
)
"""Pairs of which one explains the other in the same model and in those that call it, not in what it calls."""
