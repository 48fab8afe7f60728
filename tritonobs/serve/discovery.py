"""The fleet's replicas for Prometheus' http_sd."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tritonobs.plan.fleet import Replica


def target_groups(replicas: Iterable[Replica]) -> list[dict[str, object]]:
    """One group a replica, so that each keeps its name."""
    return [_group(replica) for replica in replicas]


def _group(replica: Replica) -> dict[str, object]:
    parts = urlsplit(replica.metrics_url)
    labels = {
        "__scheme__": parts.scheme,
        "__metrics_path__": parts.path or "/",
        "replica": replica.name,
    }
    return {"targets": [parts.netloc.rpartition("@")[2]], "labels": labels}
