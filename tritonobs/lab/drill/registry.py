"""Every drill, by its name, in the order in which they are listed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tritonobs.lab.drill import capacity, inputs, language, repository, servers, stages, watching
from tritonobs.lab.drill.drill import Drill

DRILLS: Final[Mapping[str, Drill]] = {
    drill.name: drill
    for module in (stages, inputs, capacity, repository, language, servers, watching)
    for drill in module.DRILLS
}
