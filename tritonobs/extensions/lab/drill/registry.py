"""Every drill, by its name, in the order in which they are listed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tritonobs.extensions.lab.drill import calls, language, repository, servers
from tritonobs.extensions.lab.drill.drill import Drill

DRILLS: Final[Mapping[str, Drill]] = {
    drill.name: drill for module in (calls, repository, language, servers) for drill in module.DRILLS
}
