"""Faults that a rehearsal gives to models: nothing at all unless `tritonobs up --drills` started the server.

A model asks once for its `Faults` and gets None on every other server. Standard library only: it is
imported where `tritonobs.stage` is.
"""

from __future__ import annotations

import json
import math
import os
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "TRITONOBS_FAULTS"
"""The file that says which faults are on; only set on a server that was started to rehearse on."""


class InjectedFault(RuntimeError):  # noqa: N818 (reads as an event)
    """A stage fails because a rehearsal wants it to."""


class Faults:
    """The faults of one model version, read again whenever the file changes; without a file there are none.

    The file is JSON: by model, or by model/version, what happens in a stage: `seconds` it takes longer, and
    the `share` of its executions that fail, and whether what it records as a size is `unreadable`. Under
    `settings` stand numbers that replace the model's own.
    """

    def __init__(self, path: Path, model: str, version: str) -> None:
        self._path = path
        self._names = (model, f"{model}/{version}")
        self._read_at: tuple[int, int] | None = None
        self._faults: Mapping[str, Any] = {}
        self._chance = random.Random(0)  # noqa: S311 (which request fails is no secret)

    def strike(self, stage: str) -> None:
        """Take as long in this stage as told.

        Raises:
            InjectedFault: this execution is one of those that fail.
        """
        fault = self._now().get(stage)
        if fault is None:
            return
        time.sleep(fault.get("seconds", 0.0))
        if self._chance.random() < fault.get("share", 0.0):
            raise InjectedFault(f"a rehearsal lets {stage} fail")

    def size(self, stage: str, value: float) -> float:
        """What this stage records as a size: the value, or no number where it is to be unreadable."""
        return math.nan if self._now().get(stage, {}).get("unreadable") else value

    def settings(self) -> Mapping[str, float]:
        """The model's settings that are others now, by name."""
        changed: Mapping[str, float] = self._now().get("settings", {})
        return changed

    def _now(self) -> Mapping[str, Any]:
        try:
            state = self._path.stat()
            read_at = (state.st_mtime_ns, state.st_size)
            if read_at != self._read_at:
                written = json.loads(self._path.read_text(encoding="utf-8"))
                self._faults = {
                    key: value for name in self._names for key, value in written.get(name, {}).items()
                }
                self._read_at = read_at
        except FileNotFoundError:
            self._faults, self._read_at = {}, None
        return self._faults


def faults_of(model: str, version: str) -> Faults | None:
    """The faults of a model version; None on a server that is not for rehearsals."""
    path = os.environ.get(VARIABLE)
    return Faults(Path(path), model, version) if path else None
