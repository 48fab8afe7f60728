"""Every drill, by its name, in the order in which they are told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tritonobs.drill import capacity, inputs, repository, servers, stages, watching

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tritonobs.drill.drill import Drill

DRILLS: Final[Mapping[str, Drill]] = {
    drill.name: drill
    for module in (stages, inputs, capacity, repository, servers, watching)
    for drill in module.DRILLS
}
