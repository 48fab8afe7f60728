"""What the rules make of a bad night on real servers, against what clients counted outside of them."""

import pytest

from support.real_fleet import A, B

# The whole night is lived through before the first test: about seven minutes.
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

ABOVE, FAST = "TritonQpsAboveLimit", "TritonErrorBudgetBurnFast"


def test_every_failure_of_a_server_that_hung_is_charged(night):
    """It stood still under failing load: nobody could scrape it, its counters told it afterwards (D1)."""
    failed = night.loads["gapped failing"].failed.total()

    assert failed == night.loads["gapped failing"].sent > 100
    assert night.charged["gapped"] == pytest.approx(failed, rel=0.02)


def test_a_short_life_is_charged_what_it_failed(night):
    """Version 2 failed all it got, and was rolled back; version 1 failed nothing (D2)."""
    failed = night.loads["short failing"].failed.total()

    assert failed > 100
    assert night.loads["short"].failed.total() == 0
    assert night.charged["short"] == pytest.approx(failed, rel=0.03)


def test_a_blind_server_blinds_nobody_else(night):
    """A model of server B is gone while nothing is known about server A (D3)."""
    assert 0 < night.after("lonely unloaded", "TritonModelUnloaded", model="lonely") <= 120


def test_a_model_missing_on_one_of_its_servers_is_named(night):
    """Model and server; the other one answers, and 404s are counted nowhere (D4)."""
    assert 0 < night.after("shared unloaded", "TritonModelMissing", model="shared", replica=B) <= 250
    assert night.after("calm", "TritonModelMissing", model="shared", replica=A) is None


def test_a_fleet_that_vanishes_from_discovery_is_told_within_a_minute(night):
    """An empty answer: no target is down, none is there (D5)."""
    assert 0 < night.after("discovery empty", "TritonServersLost") <= 60


def test_random_traffic_below_its_limit_pages_nobody(night):
    """Poisson at nine tenths of the limit, all night (D6)."""
    assert night.loads["near"].ok > 0
    assert night.after("calm", ABOVE, model="near") is None
    assert night.after("calm", "TritonQpsSpike", model="near") is None


def test_a_total_outage_pages_within_two_minutes_and_once(night):
    """Every request fails: one page for the model, none for its only version (D9, D10)."""
    assert 0 < night.after("outage", FAST, model="outage") <= 120
    pages = [one.labels for one in night.fired[FAST] if one.labels["model"] == "outage"]
    assert len(pages) == 1
    assert night.charged["outage"] == pytest.approx(night.loads["outage failing"].failed.total(), rel=0.02)


def test_an_overload_that_only_arrivals_show_pages(night):
    """24 requests/s come, 10 are answered, the limit is 12 (D15)."""
    assert 0 < night.after("over", ABOVE, model="over") <= 30
