"""SIGKILL at random moments: the successor knows what it must, and Alertmanager's repeats do the rest."""

from __future__ import annotations

import os
import random
import time
from typing import TYPE_CHECKING

import pytest

from support.serve_rig import Rig
from tritonobs.limits.log import LimitsLog

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.e2e

KILLS = int(os.environ.get("TRITONOBS_KILLS", "6"))
"""How often; 100 take half an hour."""


def test_a_killed_serve_loses_nothing(tmp_path: Path) -> None:
    """Every alert is told; the log of limits is whole and ends with what the fleet file says."""
    chance = random.Random(15)  # noqa: S311 (a repeatable experiment, no secret)
    with Rig(folder=tmp_path) as rig:
        for turn in range(KILLS):
            caller = rig.tell(f"a{turn}", f"b{turn}")
            rig.fleet["models"]["inspect"]["qps_limit"] += 1
            rig.write()
            time.sleep(chance.uniform(0, 2.0))
            rig.serve.kill()
            rig.serve.start()
            caller.join()
            assert rig.wait(rig.well)
        assert [one for one in rig.sent if one not in rig.named()] == []
        # An acceptance that was killed before it was answered is told again: once for each kill at most.
        assert max(rig.named().count(one) for one in rig.sent) <= 2
        log = LimitsLog(tmp_path / "fleet.limits.jsonl")
        limit = str(rig.fleet["models"]["inspect"]["qps_limit"])
        assert rig.wait(lambda: log.read()[0][-1].new == limit)
        assert log.read()[1] == ()
