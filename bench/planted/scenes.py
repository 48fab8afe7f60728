"""Faults in fleets that never ran: what is broken when, and what triage must say of it.

Every second of the first is set aside: `held_out` ones are scored, and not looked at while checks change.
`OUTSIDE` are planted where stages do not time.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from planted.fleets import inspection, search
from planted.plants import attribute, breathing, deploy, ramp, traffic
from planted.plot import deploys, outside, outside_next, servers, several, stages
from planted.plot import traffic as rates
from planted.scene import FAULT, Scene

if TYPE_CHECKING:
    from planted.fleet import Fleet

SCENES = (*deploys.SCENES, *servers.SCENES, *rates.SCENES, *stages.SCENES, *several.SCENES)

OUTSIDE = (*outside.SCENES, *outside_next.SCENES)


def held_out(scene: Scene) -> bool:
    """Whether it is set aside."""
    return scene in SCENES and SCENES.index(scene) % 2 == 1


def healthy(number: int) -> Scene:
    """A look at a fleet that does well: other fleets, rates and moments. Its traffic breathes."""
    tells = number % 3 == 0
    fleet = (
        partial(search, 1000 + number, 4.0 + number, load_times=tells)
        if number % 2
        else partial(inspection, 1000 + number, 1.0 + number % 10, load_times=tells)
    )

    def plant(fleet: Fleet) -> None:
        breathing(fleet, 1000 + number)
        entrance = "inspect" if "inspect" in fleet.models else "search"
        if number % 4 == 1:
            # As mornings do: half as many again over three minutes, from before the look on.
            ramp(fleet, entrance, 1.5 * fleet.rates[entrance], FAULT - 100, 180.0)
        if number % 6 == 3:
            # Any backend is loaded again, after an unload.
            model = "detector" if entrance == "inspect" else ("rank", "embed", "classify")[number % 3]
            deploy(fleet, model, attribute(), cold=2, anew=True)
        if number % 5 == 0:
            # Somebody deploys what is as good as before.
            deploy(fleet, "preprocess" if "preprocess" in fleet.models else "search", attribute(), cold=2)
        if number % 7 == 0:
            traffic(fleet, entrance, (1.0 + number % 10) * 1.25 if entrance == "inspect" else 5.0 + number)

    return Scene(
        name=f"healthy-{number}",
        fleet=fleet,
        plant=plant,
        truth=None,
        looks=60.0 + 13 * (number % 17),
        since=60.0 + 13 * (number % 17) + 30,
    )
