"""From a fleet file to a running stack, and its state.

A fleet file to practise with is the user's or the example's, on free ports, with a local robot of a chat: a
copy in the state folder. The user's own is never changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ruamel.yaml import YAML

from tritonobs import assets
from tritonobs.chats.chat import Delivered, RobotChat
from tritonobs.chats.registry import robot_chat, robot_chats
from tritonobs.extensions.lab.stack import native, processes, rehearsal
from tritonobs.extensions.lab.stack.processes import Folders, Part
from tritonobs.extensions.lab.stack.services import (
    PracticeRobot,
    require_programs,
    robot_service,
    stack_services,
)
from tritonobs.extensions.lab.vendors import VENDORS
from tritonobs.plan.build import build_plan
from tritonobs.plan.fleet import Plan
from tritonobs.programs import LOOPBACK, free_ports
from tritonobs.render.artifact import write_artifacts
from tritonobs.render.everything import render_fleet
from tritonobs.spec.load import load_fleet
from tritonobs.spec.schema import AddressesSpec

_MOVED = ("prometheus", "alertmanager", "serve")
_TOKEN = "practice"  # noqa: S105 (the same)
_COMMON = frozenset(Delivered.model_fields) - {"mention", "messages_per_minute"}
_ITS_OWN = frozenset(f"{secret}_{where}" for secret in ("webhook", "secret") for where in ("file", "env"))
DEFAULT_CHAT = next(iter(VENDORS))
_SECRET = "SECpractice0000000000000000000000000000000000"  # noqa: S105 (the local one's; no robot of a vendor has it)


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
    chat: str = DEFAULT_CHAT,
    move_ports: bool = False,
    drills_speed: float | None = None,
    held: Callable[[], AbstractContextManager[None]] = nullcontext,
    began: Callable[[], object] = lambda: None,
) -> Running:
    """Render the fleet, start its stack and wait until it is ready.

    Without a fleet file it is the example's, with a local robot of `chat`. With `drills_speed` it is
    a stack to rehearse on: its models take faults, files are copies, and rules run that many times as fast.
    A second start in one state folder is refused before it touches anything; `began` is called once nothing
    more is refused, and processes are started inside `held()`, which may put off signals.

    Raises:
        SpecInvalid, RenderFailed, StackError, FileUnusable: with everything the user must know.
    """
    require_programs()
    with processes.starting(folders):
        native.require_down(folders)
        began()
        return _started(
            fleet_file or assets.folder("examples") / "fleet.yaml",
            folders,
            on_ready,
            models=models,
            chat=chat if robot_double or fleet_file is None or drills_speed is not None else "",
            move_ports=move_ports,
            drills_speed=drills_speed,
            held=held,
        )


def _started(
    source: Path,
    folders: Folders,
    on_ready: Callable[[str], None],
    *,
    models: Path | None,
    chat: str,
    move_ports: bool,
    drills_speed: float | None,
    held: Callable[[], AbstractContextManager[None]],
) -> Running:
    drills = drills_speed is not None
    robot = make_robot(folders.root, chat) if chat else None
    used = source
    if robot or move_ports:
        used = folders.root / "fleet.yaml"
        write_practice_fleet(source, used, robot, move_ports=move_ports)
    plan = build_plan(load_fleet(used), used.parent)
    repository = models or assets.folder("models")
    rehearsal.forget(folders)
    if drills_speed is not None:
        repository = rehearsal.prepare(folders, repository, used, speed=drills_speed)
    services = stack_services(plan, used, repository, folders, drills=drills)
    if robot:
        services = (robot_service(robot), *services)
    # One Prometheus, also for fleets that several watch.
    clock = replace(plan, rules=replace(plan.rules, tier="all", speed=drills_speed or 1.0))
    write_artifacts(render_fleet(clock), folders.built)
    parts = native.up(services, folders, on_ready, held=held)
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
    processes.stop(running.parts, owner=running.folders.owner)
    running.folders.state_file.unlink(missing_ok=True)


def make_robot(folder: Path, chat: str) -> PracticeRobot:
    """Choose a port for the robot and write its secrets below `folder`, readable by their owner alone."""
    vendor = VENDORS[chat]
    token = vendor.token(_TOKEN)
    url = f"http://{LOOPBACK}:{free_ports(1)[0]}"
    secrets = folder / "secrets"
    secrets.mkdir(mode=0o700, parents=True, exist_ok=True)
    field = f"?{vendor.token_field}=" if vendor.token_field else ""
    return PracticeRobot(
        chat=chat,
        url=url,
        webhook_file=_write(secrets / "robot-webhook", f"{url}{vendor.path}{field}{token}"),
        secret_file=_write(secrets / "robot-secret", _SECRET),
    )


def write_practice_fleet(
    source: Path, target: Path, robot: PracticeRobot | None, *, move_ports: bool
) -> None:
    """Copy `source` to `target`: if there is a `robot`, it plays every robot; on free ports if asked."""
    yaml = YAML()
    document = yaml.load(source.read_text(encoding="utf-8"))
    if move_ports:
        _move(document)
    for section in _sections(document):
        for key in [key for key in section if str(key).endswith("_file")]:
            section[key] = str((source.parent / str(section[key])).absolute())
    # Beside the copy, so that the practice stack shows what `tritonobs incidents` shows.
    document.setdefault("incidents", {})["folder"] = "incidents"
    if robot:
        _play(document, robot)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("w", encoding="utf-8") as file:
        yaml.dump(document, file)


def _play(document: Any, robot: PracticeRobot) -> None:  # noqa: ANN401 (ruamel's round-trip nodes have no types)
    notify = document.get("notify", {})
    secret = {"secret_file": str(robot.secret_file)} if VENDORS[robot.chat].signed else {}
    played: dict[str, Any] = {}
    for chat in (one for one in robot_chats() if one.name in notify):
        written = notify[chat.name]
        for name in [name for name in written if not _by_alertmanager(chat, written[name])]:
            entry = written.pop(name)
            # What chats have in common stays; mentions are names of one chat.
            stays = _COMMON if chat.name != robot.chat else entry.keys() - _ITS_OWN
            kept = {key: value for key, value in entry.items() if key in stays}
            played[name] = {**kept, **robot_chat(robot.chat).example}
            played[name] |= {"webhook_file": str(robot.webhook_file), **secret}
            _rename(notify.get("routes", ()), f"{chat.name}/{name}", f"{robot.chat}/{name}")
        if not written:
            del notify[chat.name]
    if played:
        notify.setdefault(robot.chat, {}).update(played)


def _by_alertmanager(chat: RobotChat, written: Any) -> bool:  # noqa: ANN401 (the same)
    return not chat.through_serve(chat.section.model_construct(**written))


def _rename(routes: Any, before: str, now: str) -> None:  # noqa: ANN401 (the same)
    for route in routes:
        to = route["to"]
        route["to"] = [now if name == before else name for name in ([to] if isinstance(to, str) else to)]


def _move(document: Any) -> None:  # noqa: ANN401 (the same)
    addresses = document.setdefault("addresses", {})
    # Links have to follow the ports.
    addresses.pop("public", None)
    ports = iter(free_ports(len(_MOVED) + 2 * len(document["replicas"])))
    for name in _MOVED:
        # What the file leaves out has a port of its own, too.
        default = AddressesSpec.model_fields[name].default
        addresses[name] = _with_port(addresses.get(name, default), next(ports))
    for replica in document["replicas"]:
        replica["url"] = _with_port(replica["url"], next(ports))
        replica["metrics_url"] = _with_port(
            replica.get("metrics_url", f"http://{LOOPBACK}/metrics"), next(ports)
        )


def _with_port(url: str, port: int) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=f"{LOOPBACK}:{port}").geturl()


def _write(path: Path, text: str) -> Path:
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
    return path.absolute()


def _sections(node: Any) -> Iterator[MutableMapping[str, Any]]:  # noqa: ANN401 (the same)
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from _sections(value)
    elif isinstance(node, list):
        for value in node:
            yield from _sections(value)
