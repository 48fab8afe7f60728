"""What can be done to a fleet, and when."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import TYPE_CHECKING

from planted.model import State
from planted.scene import FAULT

if TYPE_CHECKING:
    from collections.abc import Callable

    from planted.fleet import Fleet


def later(fleet: Fleet, act: Callable[[], None], at: float = FAULT) -> None:
    """Let it happen then."""
    fleet.at(at, act)


def every(
    fleet: Fleet, model: str, change: Callable[[State], None], at: float = FAULT, until: float = 0.0
) -> None:
    """Change how a model does on every replica, for a while or for good."""

    def act() -> None:
        for state in fleet.states(model):
            change(state)

    later(fleet, act, at)
    if until:

        def undo() -> None:
            for each in fleet.replicas:
                each.states[fleet._id(fleet.models[model])] = State()  # noqa: SLF001 (a plant reaches into the simulated fleet)

        later(fleet, undo, until)


def deploy(
    fleet: Fleet,
    model: str,
    change: Callable[[State], None],
    *,
    replicas: int = 9,
    at: float = FAULT,
    cold: int = 6,
    anew: bool = False,
) -> None:
    """Load a model again, worse than before; its first requests are slow. `anew`: after an unload."""

    def act() -> None:
        for each in fleet.replicas[:replicas]:
            fleet.load(each, fleet.models[model], anew=anew)
            state = fleet.state(each, model)
            state.cold = cold
            change(state)

    later(fleet, act, at)


def attribute(**values: object) -> Callable[[State], None]:
    """Set these."""

    def change(state: State) -> None:
        for name, value in values.items():
            setattr(state, name, value)

    return change


def gone(fleet: Fleet, at: float = FAULT) -> None:
    """The second replica is a scrape target no more."""

    def act() -> None:
        fleet.replicas[1].listed = False
        fleet.replicas[1].answers = False

    later(fleet, act, at)


def down(fleet: Fleet) -> None:
    """The second replica refuses connections."""
    later(fleet, lambda: setattr(fleet.replicas[1], "answers", False))


def blank(fleet: Fleet) -> None:
    """The second replica's page is empty."""
    later(fleet, lambda: setattr(fleet.replicas[1], "empty", True))


def traffic(fleet: Fleet, model: str, qps: float, at: float = FAULT) -> None:
    """Another rate."""
    later(fleet, lambda: fleet.ask(model, qps), at)


def dead(fleet: Fleet, model: str, *, frozen: bool = False, at: float = FAULT, replica: int = 0) -> None:
    """A worker of one replica dies or stands still."""
    later(fleet, lambda: fleet.kill(fleet.replicas[replica], fleet.models[model], frozen=frozen), at)


def revived(fleet: Fleet, model: str, at: float) -> None:
    """The replica whose worker died loads the model again; the dead one's series stay."""

    def act() -> None:
        first = fleet.replicas[0]
        kept = {k: v for k, v in first.workers.items() if k[0] != fleet._id(fleet.models[model])}  # noqa: SLF001 (a plant reaches into the simulated fleet)
        first.workers = kept
        fleet.load(first, fleet.models[model])

    later(fleet, act, at)


def second(fleet: Fleet, model: str, change: Callable[[State], None]) -> None:
    """Version 2 takes all of the traffic from version 1, which stays loaded."""

    def act() -> None:
        old = fleet.models[model]
        new = replace(old, version="2")
        fleet.models[model] = new
        for each in fleet.replicas:
            fleet.load(each, new)
            change(fleet.state(each, model))
            fleet.state(each, model).cold = 4

    later(fleet, act)


def fewer(fleet: Fleet, model: str, instances: int) -> None:
    """A configuration with fewer instances is loaded."""

    def act() -> None:
        fleet.models[model].instances = instances
        for each in fleet.replicas:
            fleet.load(each, fleet.models[model])

    later(fleet, act)


def leak(fleet: Fleet, model: str, at: float = FAULT) -> None:
    """A load whose `initialize` fails; what served before serves on."""
    later(fleet, lambda: fleet.leak(fleet.replicas[0], fleet.models[model]), at)


def unload(fleet: Fleet, model: str) -> None:
    """It is unloaded everywhere, and asked for still."""
    later(fleet, lambda: [fleet.unload(each, fleet.models[model]) for each in fleet.replicas])


def both(*plants: Callable[[Fleet], None]) -> Callable[[Fleet], None]:
    """One after the other."""

    def plant(fleet: Fleet) -> None:
        for each in plants:
            each(fleet)

    return plant


BREATH, BREATH_SECONDS = 0.15, 10.0


def breathing(fleet: Fleet, seed: int, until: float = 2 * FAULT, *, since: float = 0.0) -> None:
    """Traffic that varies by itself: another rate every ten seconds, their coefficient of variation 0.15."""
    chance = random.Random(seed)  # noqa: S311 (a simulation, no secret)
    sigma = math.sqrt(math.log(1 + BREATH**2))

    def breathe() -> None:
        for name in fleet.rates:
            fleet.breath[name] = chance.lognormvariate(-sigma * sigma / 2, sigma)

    for step in range(int((until - since) / BREATH_SECONDS)):
        later(fleet, breathe, since + step * BREATH_SECONDS)


def ramp(fleet: Fleet, model: str, qps: float, at: float, seconds: float) -> None:
    """Traffic that grows, or shrinks, steadily to this rate."""
    first, steps = fleet.rates[model], max(1, int(seconds / BREATH_SECONDS))
    for step in range(1, steps + 1):
        traffic(fleet, model, first + (qps - first) * step / steps, at + step * BREATH_SECONDS)


def starved(fleet: Fleet, everything: float, cpu: float = 0.97, replicas: int = 9, at: float = FAULT) -> None:
    """Others take the processors: all that runs there takes longer."""

    def act() -> None:
        for each in fleet.replicas[:replicas]:
            each.cpu = cpu
            for state in each.states.values():
                state.everything = everything

    later(fleet, act, at)
