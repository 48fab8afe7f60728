"""Of two `tritonobs serve` the one that delivers is killed: the other goes on, and nobody is told less."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.kubernetes import KubernetesDouble
from support.leaders import hand_over

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.e2e


def test_a_leader_killed_in_a_burst_loses_nothing(tmp_path: Path) -> None:
    """Of 100 alerts none is lost, none told more than twice; the other takes over within 20 s."""
    with KubernetesDouble() as cluster:
        done = hand_over(tmp_path, {"fleet": {"api": cluster.url}, "token": cluster.token})

    assert (done.sent, done.lost) == (100, ())
    assert done.most_times <= 2
    assert done.takeover_seconds <= 20
    assert done.most_in_a_minute <= 20
