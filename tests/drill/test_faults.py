"""Models take faults from a file, and none without one."""

from __future__ import annotations

import json
import math
import os
import time
from typing import TYPE_CHECKING

import pytest

from tritonobs.faults import VARIABLE, Faults, InjectedFault, faults_of

if TYPE_CHECKING:
    from pathlib import Path


def _write(path: Path, faults: object) -> None:
    path.write_text(json.dumps(faults))
    # Two writes within a tick of the clock are two changes all the same.
    os.utime(path, ns=(time.time_ns(), time.time_ns()))


def test_an_ordinary_server_has_no_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the variable there is nothing to ask in a request."""
    monkeypatch.delenv(VARIABLE, raising=False)

    assert faults_of("nms", "1") is None


def test_faults_come_and_go_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read again when it changes; without it all is well."""
    file = tmp_path / "faults.json"
    monkeypatch.setenv(VARIABLE, str(file))
    faults = faults_of("nms", "1")
    assert faults is not None

    faults.strike("suppress")
    _write(file, {"nms": {"suppress": {"share": 1.0}, "settings": {"confidence": 0.0}}})
    with pytest.raises(InjectedFault, match="suppress"):
        faults.strike("suppress")
    faults.strike("filter")
    assert faults.settings() == {"confidence": 0.0}
    file.unlink()
    faults.strike("suppress")
    assert faults.settings() == {}


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
