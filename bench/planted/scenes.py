"""Faults in fleets that never ran: what is broken when, and what triage must say of it.

Every second of the first is set aside: `held_out` ones are scored, and not looked at while checks change.
`OUTSIDE` are planted where stages do not time.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from planted.fleets import inspection, search
from planted.plants import attribute, deploy, traffic
from planted.plot import deploys, outside, servers, several, stages
from planted.plot import traffic as rates
from planted.scene import Scene

if TYPE_CHECKING:
    from planted.fleet import Fleet

SCENES = (*deploys.SCENES, *servers.SCENES, *rates.SCENES, *stages.SCENES, *several.SCENES)

OUTSIDE = outside.SCENES


def held_out(scene: Scene) -> bool:
    """Whether it is set aside."""
    return scene in SCENES and SCENES.index(scene) % 2 == 1


def healthy(number: int) -> Scene:
    """A look at a fleet that does well: other fleets, rates and moments."""
    fleet = (
        partial(search, 1000 + number, 4.0 + number)
        if number % 2
        else partial(inspection, 1000 + number, 1.0 + number % 10)
    )

    def plant(fleet: Fleet) -> None:
        if number % 5 == 0:
            # Somebody deploys what is as good as before.
            deploy(fleet, "preprocess" if "preprocess" in fleet.models else "search", attribute(), cold=2)
        if number % 7 == 0:
            traffic(
                fleet,
                "inspect" if "inspect" in fleet.models else "search",
                (1.0 + number % 10) * 1.25 if "inspect" in fleet.models else 5.0 + number,
            )

    return Scene(
        name=f"healthy-{number}",
        fleet=fleet,
        plant=plant,
        truth=None,
        looks=60.0 + 13 * (number % 17),
        since=60.0 + 13 * (number % 17) + 30,
    )
