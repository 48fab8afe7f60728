"""What a scene is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from planted.fault import Truth
    from planted.fleet import Fleet
    from tritonobs.clients.triton import RepositoryEntry

FAULT = 600.0
"""When the fault begins, seconds into every scene."""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A fleet, what happens to it, and when triage is asked, how far back, in seconds after the fault."""

    name: str
    fleet: Callable[[], Fleet]
    plant: Callable[[Fleet], None]
    truth: Truth | None
    looks: float = 150.0
    since: float = 180.0
    entries: tuple[RepositoryEntry, ...] = ()
    also: Truth | None = None
    begins: float = FAULT
    errors: dict[str, str] = field(default_factory=dict)
