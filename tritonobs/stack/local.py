"""From a fleet file to a running stack, and what the running one looks like."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tritonobs import assets
from tritonobs.plan.build import build_plan
from tritonobs.render.artifact import write_artifacts
from tritonobs.render.everything import render_fleet
from tritonobs.render.quicken import quicken
from tritonobs.spec.load import load_fleet
from tritonobs.stack import native, practice, processes, rehearsal
from tritonobs.stack.services import Folders, robot_service, stack_services

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tritonobs.plan.fleet import Plan
    from tritonobs.stack.processes import Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A stack that was started: its plan, its processes, its folders."""

    plan: Plan
    parts: tuple[Part, ...]
    folders: Folders
    fleet_file: Path

    def address(self, name: str) -> str:
        """Where the part called `name` answers."""
        return next(part.url for part in self.parts if part.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How one part does now: `state` is `ready`, `starting` (runs, does not answer yet) or `dead`."""

    part: Part
    state: str
    age_seconds: float


def start(
    fleet_file: Path | None,
    folders: Folders,
    on_ready: Callable[[str], None],
    *,
    models: Path | None = None,
    robot_double: bool = False,
    move_ports: bool = False,
    drills_speed: float | None = None,
) -> Running:
    """Render the fleet, start its stack and wait until it is ready.

    Without a fleet file it is the example's, with a stand-in for DingTalk's robots. With `drills_speed` it is
    a stack to rehearse on: its models take faults, files are copies, and rules run that many times as fast.

    Raises:
        SpecInvalid, RenderFailed, StackError: with everything the user must know.
    """
    source = fleet_file or assets.folder("examples") / "fleet.yaml"
    native.require_down(folders)
    drills = drills_speed is not None
    robot = practice.make_robot(folders.root) if robot_double or drills or fleet_file is None else None
    used = source
    if robot or move_ports:
        used = folders.root / "fleet.yaml"
        practice.write_practice_fleet(source, used, robot, move_ports=move_ports)
    plan = build_plan(load_fleet(used), used.parent)
    repository = models or assets.folder("models")
    rehearsal.forget(folders)
    if drills_speed is not None:
        repository = rehearsal.prepare(folders, repository, used, speed=drills_speed)
    services = stack_services(plan, used, repository, folders, drills=drills)
    if robot:
        services = (robot_service(robot), *services)
    write_artifacts(quicken(render_fleet(plan), drills_speed or 1.0), folders.built)
    parts = native.up(services, folders, on_ready)
    return Running(plan=plan, parts=parts, folders=folders, fleet_file=used)


def health(folders: Folders) -> tuple[Health, ...]:
    """How every part of the stack in this state folder does now."""
    return tuple(_health(part) for part in native.known(folders))


def _health(part: Part) -> Health:
    age = time.time() - part.started
    if part.process() is None:
        return Health(part=part, state="dead", age_seconds=age)
    return Health(part=part, state="ready" if native.is_ready(part) else "starting", age_seconds=age)


def stop(running: Running) -> None:
    """End every process of a stack this program started."""
    processes.stop(running.parts)
    running.folders.state_file.unlink(missing_ok=True)
