"""The stack that runs here: the default of commands."""

from __future__ import annotations

from pathlib import Path

from tritonobs.cli.say import say
from tritonobs.plan.fleet import Plan, Replica

STATE = Path(".tritonobs")
"""Where `up` and `demo` keep a stack by default."""
_SERVE = "serve"


def running_fleet() -> Path | None:
    """The fleet file of the stack that runs in this folder; None without one."""
    service = _service(_SERVE)
    if service is None or _SERVE not in service:
        return None
    # `serve` may follow a copy of the fleet file, with other ports or a local robot.
    file = Path(service[service.index(_SERVE) + 1])
    return file if file.is_file() else None


def running_url(part: str, otherwise: str) -> str:
    """Where a part of the stack that runs in this folder answers; `otherwise` without one."""
    from tritonobs.errors import TritonobsError  # noqa: PLC0415
    from tritonobs.lab.stack import native  # noqa: PLC0415 (brings requests)
    from tritonobs.lab.stack.services import Folders  # noqa: PLC0415

    if not (STATE / "stack.json").is_file():
        return otherwise
    try:
        known = native.known(Folders(root=STATE.absolute()))
    except TritonobsError:
        return otherwise
    # The note of a stack that was killed is still there, and another program may have its ports.
    return next((each.url for each in known if each.name == part and each.process()), otherwise)


def found_replicas(plan: Plan) -> tuple[Replica, ...]:
    """The servers there are now; none, and a line that says why, where they cannot be found."""
    from tritonobs.errors import TritonobsError  # noqa: PLC0415
    from tritonobs.replicas.find import find_replicas  # noqa: PLC0415 (brings requests)

    try:
        return find_replicas(plan)
    except TritonobsError as error:
        say(f"the servers cannot be asked themselves: {error}", err=True)
        return ()


def _service(part: str) -> list[str] | None:
    """The words a part of the running stack was started with."""
    import psutil  # noqa: PLC0415

    from tritonobs.errors import TritonobsError  # noqa: PLC0415
    from tritonobs.lab.stack import native  # noqa: PLC0415
    from tritonobs.lab.stack.services import Folders  # noqa: PLC0415

    if not (STATE / "stack.json").is_file():
        return None
    try:
        found = next(
            (each for each in native.known(Folders(root=STATE.absolute())) if each.name == part), None
        )
        service = native.describe(found) if found else None
    # The process may end, or belong to another user, while it is asked for its words.
    except (TritonobsError, psutil.Error):
        return None
    return list(service.argv) if service else None
