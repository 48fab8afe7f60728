"""The fleet's replicas for Prometheus' http_sd."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.plan.targets import triton_targets

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tritonobs.plan.fleet import Replica


def target_groups(replicas: Iterable[Replica]) -> list[dict[str, object]]:
    """One group a replica, so that each keeps its name; the very targets of the generated configuration."""
    return [{"targets": [target.address], "labels": target.labels} for target in triton_targets(replicas)]
