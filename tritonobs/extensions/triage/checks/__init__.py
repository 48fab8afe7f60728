"""All checks. A function of that name in a file of its subject; a new file in this folder is read, too.

A check only judges: it reads a `View` and gives causes. It never asks a server, opens a file or looks at a
clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from tritonobs.extensions.triage.check import DECLARED, Check

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

CHECKS: Final[Mapping[str, Check]] = {
    name: replace(
        check, explains=check.explains | {other for other, one in DECLARED.items() if name in one.follows}
    )
    for name, check in sorted(DECLARED.items(), key=lambda one: one[1].order)
}
"""Of two equally sure causes the earlier comes first. `explains` holds what other checks declare, too."""
