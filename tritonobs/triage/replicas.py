"""A replica's own description: what it serves, and the configuration of its models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tritonobs.clients.triton import ModelConfig, RepositoryEntry, TritonClient


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaState:
    """One replica that answered; `configs` are of its ready models."""

    address: str
    ready: bool
    entries: tuple[RepositoryEntry, ...]
    configs: tuple[ModelConfig, ...]


def look_at(triton: TritonClient) -> ReplicaState:
    """Ask a replica about itself.

    Raises:
        ClientError: it does not answer.
    """
    entries = triton.repository_index()
    serving = sorted({entry.name for entry in entries if entry.ready})
    return ReplicaState(
        address=triton.address,
        ready=triton.ready(),
        entries=entries,
        configs=tuple(triton.model_config(name) for name in serving),
    )
