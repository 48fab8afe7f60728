"""A model was loaded again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Fleet


def _reloaded(fleet: Fleet) -> None:
    for replica in ("a", "b"):
        labels = {"instance": f"{replica}:8002", "model": "preprocess", "version": "1"}
        fleet.now.put("heartbeats", None, **labels, worker=f"preprocess_0_0-7{replica}-1a")
        fleet.now.put("alive", None, **labels, worker=f"preprocess_0_0-7{replica}-1a")
        new = {**labels, "worker": f"preprocess_0_0-9{replica}-3c"}
        fleet.now.put("heartbeats", 9_999.0, **new)
        fleet.now.put("alive", 4.0, **new)
        fleet.now.put("first_beats", 9_700.0, **new)


def test_new_workers_and_slower_requests_are_a_reload(fleet: Fleet) -> None:
    """Both workers are new, and requests have been slower since."""
    _reloaded(fleet)
    fleet.now.slow(0.020, "preprocess", "decode")

    verdict = fleet.verdict()

    assert [cause.check for cause in verdict.causes] == ["reload"]
    assert verdict.sentence == (
        "preprocess version 1 was loaded again at 02:41:41 UTC (2 new workers): "
        "first requests after a load are slow, and caches are empty"
    )
    assert verdict.causes[0].since == 9_701.0


def test_a_reload_nobody_felt_is_no_cause(fleet: Fleet) -> None:
    """Deployments are daily work."""
    _reloaded(fleet)

    assert fleet.checks() == []
