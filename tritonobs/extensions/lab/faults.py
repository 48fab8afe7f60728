"""Faults that a rehearsal gives to models: only `tritonobs up --drills` serves models that take them.

Standard library and `tritonobs.stage` only: it is imported in the models' processes.
"""

from __future__ import annotations

import json
import math
import os
import random
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tritonobs.stage import Stages
from tritonobs.stage.series import TOTAL

VARIABLE = "TRITONOBS_FAULTS"
"""The file that says which faults are on; only set on a server that was started to rehearse on."""


class InjectedFault(RuntimeError):
    """A stage fails because of a rehearsal."""


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
        self._chance = random.Random(0)  # noqa: S311 (which request fails is not a secret)

    def strike(self, stage: str) -> None:
        """Take the configured time in this stage.

        Raises:
            InjectedFault: this execution is one of those that fail.
        """
        fault = self._now().get(stage)
        if fault is None:
            return
        time.sleep(fault.get("seconds", 0.0))
        if self._chance.random() < fault.get("share", 0.0):
            raise InjectedFault(f"a fault was injected into {stage}")

    def size(self, stage: str, value: float) -> float:
        """What this stage records as a size: the value, or NaN where it must be unreadable."""
        return math.nan if self._now().get(stage, {}).get("unreadable") else value

    def settings(self) -> Mapping[str, float]:
        """The model's settings that are replaced now, by name."""
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


class FaultyStages(Stages):
    """A model's stages, which take the faults of a rehearsal inside their `with` blocks."""

    def __init__(self, faults: Faults, args: Mapping[str, str], pb_utils: object) -> None:
        super().__init__(args, pb_utils)
        self._faults = faults
        timed = self.time
        self.time = lambda stage: self._struck(stage, timed(stage))
        together = self.batch
        self.batch = lambda stage, n: self._struck(stage, together(stage, n))

    def request(self, n: int = 1) -> Any:  # noqa: ANN401 (a handle)
        """As `Stages.request`; the fault is inside."""
        return self._struck(TOTAL, super().request(n))

    def size(self, stage: str, kind: str, value: float, n: int = 1) -> None:
        """As `Stages.size`; NaN where it must be unreadable."""
        super().size(stage, kind, self._faults.size(stage, value), n)

    def _struck(self, stage: str, timer: AbstractContextManager[Any]) -> Any:  # noqa: ANN401 (what a block needs)
        return self._inside(stage, timer)

    @contextmanager
    def _inside(self, stage: str, timer: AbstractContextManager[Any]) -> Iterator[Any]:
        with timer as running:
            self._faults.strike(stage)
            yield running


def with_faults(sample: Any) -> type:  # noqa: ANN401 (a module that Triton could load)
    """The model of a sample, whose stages and settings take the faults in the file that `VARIABLE` names.

    The sample itself does not know of them: it makes its stages by the name `Stages`, and its settings, if
    they can have faults, are `report.settings`.
    """

    class TritonPythonModel(sample.TritonPythonModel):  # type: ignore[misc] # loaded by its path, without types
        def initialize(self, args: dict[str, str]) -> None:
            self.faults = Faults(Path(os.environ[VARIABLE]), args["model_name"], args["model_version"])
            sample.Stages = partial(FaultyStages, self.faults)
            super().initialize(args)
            self.usual = getattr(getattr(self, "report", None), "settings", None)

        def execute(self, requests: list[Any]) -> Any:  # noqa: ANN401 (a list, or a coroutine of one)
            if self.usual:
                self.report.settings = replace(self.usual, **self.faults.settings())
            return super().execute(requests)

    return TritonPythonModel
