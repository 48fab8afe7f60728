"""What a judgement costs grows with the fleet, not with its square: lines of Python run, not seconds."""

from __future__ import annotations

import sys
from pathlib import Path

from support.effort import lines_run
from tritonobs.extensions.triage.judge import Verdict, triage

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))
from triage_models import fleet

FEW, MANY = 20, 80


def _lines_run(models: int) -> int:
    """How many lines a judgement of so many models runs through, each time round a loop."""
    snapshot, verdicts = fleet(models), list[Verdict]()
    count = lines_run(lambda: verdicts.append(triage(snapshot)))
    assert verdicts[0].causes[0].check == "slow_stage"
    return count


def test_four_times_the_models_cost_four_times_as_much() -> None:
    """Of two versions each; 400 models took 15 times as long as 100."""
    assert _lines_run(MANY) / _lines_run(FEW) < 4.6
