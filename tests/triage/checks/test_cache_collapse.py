"""The response cache answers fewer requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Fleet


def _cache(fleet: Fleet, before: float, now: float) -> None:
    for window, ratio in ((fleet.before, before), (fleet.now, now)):
        window.put("cache_hits", 10 * ratio, model="inspect", version="1")
        window.put("cache_misses", 10 * (1 - ratio), model="inspect", version="1")


def test_a_cache_that_stopped_answering_is_the_cause(fleet: Fleet) -> None:
    """From 80 % to 5 %: the models under it get five times the work."""
    _cache(fleet, 0.8, 0.05)
    fleet.now.wait("detector", 0.090)

    verdict = fleet.verdict()

    assert [cause.check for cause in verdict.causes] == ["cache_collapse"]
    assert [cause.check for cause in verdict.following] == ["queue_saturation"]


def test_a_cache_that_never_helped_cannot_collapse(fleet: Fleet) -> None:
    """Ten per cent or two makes no difference."""
    _cache(fleet, 0.10, 0.02)

    assert fleet.checks() == []
