"""The language model that a drill brings to the stack, and takes away again."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tritonobs import assets
from tritonobs.errors import StackError
from tritonobs.extensions.lab.drill.rig import Rig
from tritonobs.extensions.lab.drill.run import DRILLS, Session, Watch
from tritonobs.plan.build import build_plan
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from conftest import World

    Prepare = Callable[[Rig], AbstractContextManager[None]]

EXAMPLE = (assets.folder("examples") / "fleet.yaml").read_text()
MODEL = assets.folder("examples") / "language" / "models" / "llm"


class Repository:
    """Triton's repository: what it was told, and whether the model's files were there then."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.ready = False
        self.told: list[tuple[str, bool]] = []

    def load(self, model: str) -> None:
        """Ready at once."""
        self.told.append((f"load {model}", (self._folder / model / "1" / "model.py").exists()))
        self.ready = True

    def unload(self, model: str) -> None:
        """Gone when it was asked once more."""
        self.told.append((f"unload {model}", (self._folder / model).exists()))

    def model_ready(self, model: str) -> bool:
        """Still for one answer."""
        self.told.append((f"{model} ready?", (self._folder / model).exists()))
        ready, self.ready = self.ready, False
        return ready


@pytest.fixture(name="rig")
def _rig(started: World) -> Rig:
    """A rig whose fleet file is the example's, and whose Triton is a double."""
    rig = Rig(started.folders, "here")
    rig.fleet_file.write_text(EXAMPLE)
    rig.folders.models.mkdir()
    rig.triton = Repository(rig.folders.models)  # type: ignore[assignment] # what drills need of it
    return rig


def _prepare(name: str) -> Prepare:
    prepare = DRILLS[name].prepare
    assert prepare is not None
    return prepare


def _as_it_was(rig: Rig) -> bool:
    return rig.fleet_file.read_text() == EXAMPLE and list(rig.folders.models.iterdir()) == []


def test_the_model_is_loaded_and_promised(rig: Rig) -> None:
    """The example's files and its section; only what its engine measures is promised."""
    with _prepare("kv-cache-full")(rig):
        there = {path.name for path in (rig.folders.models / "llm" / "1").iterdir()}
        config = (rig.folders.models / "llm" / "config.pbtxt").read_text()
        plan = build_plan(load_fleet(rig.fleet_file), rig.fleet_file.parent)

    assert there == {"engine.py", "meter.py", "model.py"}
    assert config == (MODEL / "config.pbtxt").read_text()
    assert {(slo.name, slo.stage) for slo in plan.slos if slo.model == "llm"} == {
        ("availability", ""),
        ("first", "first_token"),
        ("flow", "output_token"),
    }


def test_it_goes_before_its_files_do(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers what it was asked, then it is unloaded, and waited for, while its files are there."""
    repository: Any = rig.triton
    monkeypatch.setattr(
        rig.traffic, "stop", lambda: repository.told.append(("traffic ends", repository.ready))
    )

    with _prepare("kv-cache-full")(rig):
        assert not _as_it_was(rig)

    assert repository.told == [
        ("load llm", True),
        ("traffic ends", True),
        ("unload llm", True),
        ("llm ready?", True),
        ("llm ready?", True),
    ]
    assert _as_it_was(rig)


def test_larger_batches_need_other_parameters(rig: Rig) -> None:
    """Room for 32 answers, each of which slows down the rest."""
    with _prepare("larger-batches")(rig):
        config = (rig.folders.models / "llm" / "config.pbtxt").read_text()

    for name, value in (("cache_tokens", "6000"), ("max_num_seqs", "32"), ("seat_seconds", "0.004")):
        assert f'{{ key: "{name}" value: {{ string_value: "{value}" }} }}' in config


def test_a_fleet_file_without_models_keeps_its_stack(rig: Rig) -> None:
    """Told, and the model is gone."""
    rig.fleet_file.write_text("models: {}\n")

    with pytest.raises(StackError, match="is not as this drill expects it"), _prepare("kv-cache-full")(rig):
        pass

    assert list(rig.folders.models.iterdir()) == []


def test_a_model_of_that_name_is_left_alone(rig: Rig) -> None:
    """One of the user's, or what a drill left that was killed."""
    theirs = rig.folders.models / "llm" / "config.pbtxt"
    theirs.parent.mkdir()
    theirs.write_text("theirs")

    with pytest.raises(StackError, match=r"llm is there already"), _prepare("kv-cache-full")(rig):
        pass

    repository: Any = rig.triton
    assert (theirs.read_text(), repository.told) == ("theirs", [])


def test_a_server_that_is_gone_keeps_no_files(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot unload; what it would load when it starts again is away."""

    def unload(_: str) -> None:
        raise StackError("gone")

    monkeypatch.setattr(rig.triton, "unload", unload)

    with pytest.raises(StackError, match="gone"), _prepare("kv-cache-full")(rig):
        pass

    assert _as_it_was(rig)


@pytest.mark.usefixtures("_quick", "in_front")
@pytest.mark.parametrize("moment", ["load", "switch"])
def test_an_interrupted_drill_leaves_no_model(rig: Rig, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    """Ctrl-C while the model is loaded, and when its first prompts are sent."""
    subject: Any = {"load": rig.triton, "switch": rig.traffic}[moment]
    monkeypatch.setattr(subject, moment, lambda _: os.kill(os.getpid(), signal.SIGINT))
    monkeypatch.setattr(Watch, "require_rules", lambda _: None)

    with pytest.raises(KeyboardInterrupt), Session(rig, lambda *_: None) as session:
        list(session.rehearse([DRILLS["kv-cache-full"]]))

    assert _as_it_was(rig)


@pytest.mark.parametrize(
    "drill", [one for one in DRILLS.values() if one.model == "llm"], ids=lambda one: one.name
)
def test_after_a_drill_no_prompt_is_sent(drill: Any) -> None:
    """Its model is gone then; before and during it images are sent, too."""
    assert {stream.model for stream in drill.after} == {"inspect"}
    for streams in (drill.usual, drill.traffic):
        assert {stream.model for stream in streams} == {"inspect", "llm"}
