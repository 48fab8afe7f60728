"""What is done to serve, in the short form; `python bench/faults.py` plays the whole table."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from support.serve_faults import FAULTS, ServeFault, play
from support.serve_rig import Rig

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.short], ids=str)
def test_nothing_is_lost_all_is_shown_and_over_when_it_is_over(fault: ServeFault, tmp_path: Path) -> None:
    """Three alerts told once, health answers and says what is wrong, and says nothing any more afterwards."""
    if fault.root and os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    with Rig(folder=tmp_path) as rig:
        seen = play(rig, fault)
        assert seen.good, (seen, rig.get("/readyz"), rig.serve.log.read_text()[-3000:])
