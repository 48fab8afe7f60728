"""A model repository whose models take a set time: plain, in ensembles and in pipelines."""

from __future__ import annotations

import shutil
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "bench" / "traced"
_TENSORS = """\
name: "{name}"
max_batch_size: 1
input [ {{ name: "SECONDS" data_type: TYPE_FP32 dims: [ 1 ] }} ]
output [ {{ name: "TOOK" data_type: TYPE_FP32 dims: [ 1 ] }} ]
"""
_PYTHON = """\
backend: "python"
instance_group [ {{ kind: KIND_CPU count: {instances} }} ]
parameters {{ key: "calls" value {{ string_value: "{calls}" }} }}
"""
_STEP = """\
{{ model_name: "{model}" model_version: -1
  input_map {{ key: "SECONDS" value: "{given}" }} output_map {{ key: "TOOK" value: "{made}" }} }}
"""


def add_timed(repository: Path, name: str, *, instances: int = 1) -> None:
    """A model that sleeps."""
    _python(repository, name, "timed.py", instances=instances)


def add_noop(repository: Path, name: str) -> None:
    """A model that does nothing."""
    _python(repository, name, "noop.py", instances=1)


def add_busy(repository: Path, name: str) -> None:
    """A model that computes for a millisecond."""
    _python(repository, name, "busy.py", instances=1)


def add_caller(repository: Path, name: str, calls: str, *, instances: int = 1) -> None:
    """A BLS pipeline that calls one model."""
    _python(repository, name, "caller.py", instances=instances, calls=calls)


def add_ensemble(repository: Path, name: str, *models: str) -> None:
    """These models one after the other."""
    names = ["SECONDS", *(f"between_{number}" for number in range(len(models) - 1)), "TOOK"]
    steps = ",\n".join(
        _STEP.format(model=model, given=names[place], made=names[place + 1])
        for place, model in enumerate(models)
    )
    text = f'platform: "ensemble"\nensemble_scheduling {{ step [\n{steps}\n] }}\n'
    _folder(repository, name, text)


def _python(repository: Path, name: str, source: str, *, instances: int, calls: str = "") -> None:
    folder = _folder(repository, name, _PYTHON.format(instances=instances, calls=calls))
    shutil.copy(SOURCES / source, folder / "model.py")


def _folder(repository: Path, name: str, more: str) -> Path:
    folder = repository / name / "1"
    folder.mkdir(parents=True)
    (repository / name / "config.pbtxt").write_text(_TENSORS.format(name=name) + more)
    return folder
