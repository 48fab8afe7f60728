"""Every benchmark can be started: what it uses of tritonobs is still there."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

BENCH = Path(__file__).parent.parent / "bench"


@pytest.mark.parametrize("script", sorted(BENCH.glob("*.py")), ids=lambda path: path.name)
def test_a_benchmark_can_be_read(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes an hour until the next one is run."""
    monkeypatch.syspath_prepend(str(BENCH))
    assert runpy.run_path(str(script), run_name="read")["__doc__"]
