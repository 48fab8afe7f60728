"""Models take faults from a file, and none without one."""

from __future__ import annotations

import json
import math
import os
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from tritonobs import assets
from tritonobs.extensions.lab.faults import VARIABLE, Faults, InjectedFault, with_faults
from tritonobs.extensions.lab.stack import rehearsal
from tritonobs.extensions.lab.stack.processes import Folders
from tritonobs.stage import SCRAPE_INTERVAL_VARIABLE, Stages
from tritonobs.testing import FakePbUtils

if TYPE_CHECKING:
    from pathlib import Path


def _write(path: Path, faults: object) -> None:
    path.write_text(json.dumps(faults))
    # Two writes within a tick of the clock are two changes all the same.
    os.utime(path, ns=(time.time_ns(), time.time_ns()))


def test_faults_come_and_go_with_the_file(tmp_path: Path) -> None:
    """Read again when it changes; without it all is well."""
    file = tmp_path / "faults.json"
    faults = Faults(file, "nms", "1")

    faults.strike("suppress")
    _write(file, {"nms": {"suppress": {"share": 1.0}, "settings": {"confidence": 0.0}}})
    with pytest.raises(InjectedFault, match="suppress"):
        faults.strike("suppress")
    faults.strike("filter")
    assert faults.settings() == {"confidence": 0.0}
    file.unlink()
    faults.strike("suppress")
    assert faults.settings() == {}


@dataclass(frozen=True, kw_only=True)
class _Settings:
    confidence: float


class _Sample:
    """What Triton would load: a model that makes its stages by the name `Stages`."""

    def __init__(self, triton: FakePbUtils) -> None:
        sample = self

        class TritonPythonModel:
            def initialize(self, args: dict[str, str]) -> None:
                self.stages = sample.Stages(args, triton)
                self.report = SimpleNamespace(settings=_Settings(confidence=0.25))

            def execute(self, requests: list[str]) -> list[str]:
                with self.stages.batch("total", len(requests)):
                    try:
                        with self.stages.batch("infer", len(requests)):
                            pass
                    except InjectedFault as fault:
                        return [str(fault)]
                    self.stages.size("infer", "boxes", 3)
                    return [f"{self.report.settings.confidence:g}"]

        self.Stages = Stages
        self.TritonPythonModel = TritonPythonModel


def test_a_sample_takes_faults_that_it_knows_nothing_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inside its stages, in its sizes and in its settings; each observed as the model's own."""
    file = tmp_path / "faults.json"
    monkeypatch.setenv(VARIABLE, str(file))
    monkeypatch.setenv(SCRAPE_INTERVAL_VARIABLE, "0")
    triton = FakePbUtils()
    triton.free = lambda *_: None
    model = with_faults(_Sample(triton))()
    args = FakePbUtils.ARGS
    model.initialize(args)

    answers = [model.execute(["one"])]
    name = args["model_name"]
    _write(file, {name: {"infer": {"share": 1.0, "unreadable": True}, "settings": {"confidence": 0.5}}})
    answers.append(model.execute(["two"]))
    _write(file, {name: {"infer": {"unreadable": True, "seconds": 0.02}, "settings": {"confidence": 0.5}}})
    answers.append(model.execute(["three"]))
    file.unlink()
    answers.append(model.execute(["four"]))
    model.stages.finalize()

    assert answers == [["0.25"], ["a fault was injected into infer"], ["0.5"], ["0.25"]]
    assert triton.total("tritonobs_stage_duration_seconds_count", stage="infer") == 4
    assert triton.total("tritonobs_stage_duration_seconds_sum", stage="infer") >= 0.02
    assert triton.total("tritonobs_flush_dropped_total", reason="invalid") == 1


def test_models_of_a_rehearsal_are_wrapped_copies(tmp_path: Path) -> None:
    """Those with stages; the user's repository and its other models stay as they are."""
    repository = tmp_path / "theirs"
    for model, code in (("nms", "from tritonobs.stage import Stages\n"), ("plain", "import numpy\n")):
        (repository / model / "1").mkdir(parents=True)
        (repository / model / "1" / "model.py").write_text(code)
    folders = Folders(root=tmp_path / "state")
    folders.root.mkdir()

    copied = rehearsal.prepare(folders, repository, tmp_path / "fleet.yaml", speed=1.0)

    assert (copied / "nms" / "1" / "sample.py").read_text() == "from tritonobs.stage import Stages\n"
    assert "with_faults(sample)" in (copied / "nms" / "1" / "model.py").read_text()
    assert (copied / "plain" / "1" / "model.py").read_text() == "import numpy\n"
    assert (repository / "nms" / "1" / "model.py").read_text() == "from tritonobs.stage import Stages\n"


@pytest.mark.parametrize("model", ["detector", "inspect", "nms", "preprocess"])
def test_the_sample_models_hold_no_fault_hooks(model: str) -> None:
    """They are what users imitate."""
    for code in (assets.folder("models") / model / "1").glob("*.py"):
        assert "fault" not in code.read_text().lower().replace("default", ""), code


def test_an_unreadable_size_is_no_number(tmp_path: Path) -> None:
    """Only that of the stage that is told so, and only as long as it is."""
    file = tmp_path / "faults.json"
    faults = Faults(file, "preprocess", "1")

    assert faults.size("decode", 2.0) == 2.0
    _write(file, {"preprocess": {"decode": {"unreadable": True}}})
    assert math.isnan(faults.size("decode", 2.0))
    assert faults.size("letterbox", 2.0) == 2.0


def test_a_fault_of_one_version_spares_the_others(tmp_path: Path) -> None:
    """`model/version` is that version alone, `model` is all of them, other models are left alone."""
    file = tmp_path / "faults.json"
    _write(file, {"nms/2": {"suppress": {"share": 1.0}}, "detector": {"suppress": {"share": 1.0}}})

    Faults(file, "nms", "1").strike("suppress")
    with pytest.raises(InjectedFault):
        Faults(file, "nms", "2").strike("suppress")


def test_a_share_of_the_executions_fails(tmp_path: Path) -> None:
    """Neither none nor all."""
    file = tmp_path / "faults.json"
    _write(file, {"detector": {"infer": {"share": 0.3}}})
    faults = Faults(file, "detector", "1")

    def fails() -> bool:
        try:
            faults.strike("infer")
        except InjectedFault:
            return True
        return False

    assert 200 < sum(fails() for _ in range(1000)) < 400
