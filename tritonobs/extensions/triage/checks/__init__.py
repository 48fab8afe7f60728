"""All checks. One file each; its name is the check's id, page and heading.

A check only judges: it reads a `View` and gives causes. It never asks a server, opens a file or looks at a
clock. A new file in this folder is a new check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from tritonobs.extensions.triage.check import DECLARED
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

_CHECKS = sorted(DECLARED.values(), key=lambda one: one.order)
CHECKS: Final[Mapping[str, Callable[[View], Iterator[Cause]]]] = {one.name: one.judge for one in _CHECKS}
"""Of two equally sure causes the earlier comes first."""
EXPLAINS: Final[Mapping[str, frozenset[str]]] = {one.name: one.explains for one in _CHECKS if one.explains}
"""A cause of the first kind explains those of the others."""
OF_THE_SAME_MODEL: Final = frozenset((one.name, effect) for one in _CHECKS for effect in one.same_model)
"""Pairs of which one explains the other only in the same model.

Deployments and workers are of one model: those of another member of its pipeline explain nothing here.
"""
OF_ITS_CALLERS: Final = frozenset((one.name, effect) for one in _CHECKS for effect in one.callers)
"""Pairs of which one explains the other in the same model and in those that call it, not in what it calls."""
