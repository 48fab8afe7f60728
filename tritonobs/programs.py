"""Where Prometheus, Alertmanager and their tools are."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from tritonobs import registry
from tritonobs.errors import StackError

ALIASES: Final = {"alertmanager": ("prometheus-alertmanager", "alertmanager")}


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
