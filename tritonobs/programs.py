"""Where Prometheus, Alertmanager and their tools are, and free ports for them."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path
from typing import Final

from tritonobs import registry
from tritonobs.errors import StackError

ALIASES: Final = {"alertmanager": ("prometheus-alertmanager", "alertmanager")}
LOOPBACK: Final = "127.0.0.1"


def tools_folder() -> Path:
    """Where downloaded programs live: `$TRITONOBS_TOOLS`, or `.tools` in the working folder."""
    return Path(os.environ.get("TRITONOBS_TOOLS") or ".tools").absolute()


def look(name: str) -> Path | None:
    """The program called `name`, on PATH first, then in the tools folder; None when there is none."""
    for candidate in ALIASES.get(name, (name,)):
        found = shutil.which(candidate) or shutil.which(candidate, path=str(tools_folder() / "usr" / "bin"))
        if found:
            return Path(found)
    return None


def find(name: str) -> Path:
    """The program called `name`.

    Raises:
        StackError: it was not found; the text has the command that installs it, where there is one.
    """
    found = look(name)
    if found is None:
        hint = "; install it with: tritonobs tools" if "lab" in registry.NAMES else ""
        raise StackError(f"{name} is neither on PATH nor in {tools_folder()}{hint}")
    return found


def free_ports(count: int) -> tuple[int, ...]:
    """Free loopback ports, all different; for a minute no program that asks for any port is given one.

    A program that is started listens seconds later, and others take ports meanwhile. So each port has a
    connection that was closed from this side: it stays in TIME_WAIT, where Linux leaves the port to those who
    name it, with SO_REUSEADDR (as servers do).
    """
    return tuple(_reserved() for _ in range(count))


def _reserved() -> int:
    with socket.create_server((LOOPBACK, 0)) as server, socket.create_connection(server.getsockname()):
        accepted, _ = server.accept()
        accepted.close()
        return int(server.getsockname()[1])
