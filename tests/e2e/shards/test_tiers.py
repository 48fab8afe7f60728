"""Four shards and a global Prometheus see what one Prometheus sees, and miss nothing falsely."""

import pytest

from support.shards_rig import Tiers
from support.shards_seen import live
from tritonobs import programs

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
TOLERANCE = 0.05
"""Scrapes of a busy machine are late or lost; bench/shards.py tells what is equal within 0.1 %."""
EXPECTED = {"TritonErrorBudgetBurnFast", "TritonModelUnloaded", "TritonServerDown", "Watchdog"}
"""Of those that fire in one Prometheus."""


@pytest.fixture(name="seen", scope="module")
def _seen(tmp_path_factory):
    if programs.look("prometheus") is None:
        pytest.skip("no prometheus here; get it with: tritonobs tools")
    with Tiers(tmp_path_factory.mktemp("tiers")) as tiers:
        yield live(tiers, calm=94, over=16, stopped=35, tolerance=TOLERANCE, patience=45, expected=EXPECTED)


def test_records_are_alike(seen):
    """Of all models, pools and servers, also of servers that are on all shards."""
    assert seen.different == {}
    assert seen.compared > 1500


def test_the_same_alerts_fire(seen):
    """With all their labels, and each kind that was to be expected."""
    assert seen.apart == frozenset()
    assert {dict(labels)["alertname"] for labels in seen.one} >= EXPECTED


def test_an_overflow_is_told_hardly_later(seen):
    """At most 20 s after one Prometheus told it."""
    one, tiers = seen.overflow

    assert tiers - one <= 20


def test_a_shard_that_is_lost_is_one_alert(seen):
    """Nothing that it had is missed."""
    assert seen.false == (), "\n".join(seen.false)
    assert [dict(labels)["alertname"] for labels in seen.told] == ["TritonobsShardMissing"]
