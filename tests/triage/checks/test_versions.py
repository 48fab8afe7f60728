"""A new version is slower; a model was loaded again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Fleet


def _second_version(fleet: Fleet, mean: float) -> None:
    fleet.now.model("preprocess", version="2")
    fleet.now.stage("preprocess", "total", mean, version="2")
    fleet.now.put("request", (mean + 0.001) * 10 * 1e6, model="preprocess", version="2")
    fleet.now.model("preprocess", rate=0.0, version="1")


def test_a_new_version_that_takes_longer_is_the_cause(fleet: Fleet) -> None:
    """Version 2 came, and with it 40 ms."""
    _second_version(fleet, 0.058)
    fleet.now.stage("preprocess", "decode", 0.052, version="2")
    for part in ("preprocess", "total"):
        fleet.now.stage("inspect", part, {"preprocess": 0.060, "total": 0.090}[part])

    verdict = fleet.verdict()

    assert verdict.causes[0].check == "slow_version"
    assert verdict.sentence == "version 2 of preprocess takes 59 ms, version 1 took 19 ms"
    assert "slow_stage" not in [cause.check for cause in verdict.causes]


def test_a_new_version_as_fast_as_the_old_is_no_cause(fleet: Fleet) -> None:
    """A rollout that nobody notices."""
    _second_version(fleet, 0.018)

    assert fleet.checks() == []


def test_the_first_requests_of_a_version_say_nothing(fleet: Fleet) -> None:
    """A dozen of them, cold: nobody goes back for that."""
    _second_version(fleet, 0.058)
    fleet.now.put("requests", 0.02, model="preprocess", version="2")
    fleet.now.put("request", 0.059 * 0.02 * 1e6, model="preprocess", version="2")
    for stage in ("total", "decode", "normalise"):
        fleet.now.put("count", 0.02, model="preprocess", version="2", stage=stage)

    assert "slow_version" not in fleet.checks()


def test_a_version_may_have_any_number_of_digits(fleet: Fleet) -> None:
    """It is a label, which whoever is scraped writes."""
    fleet.now.model("preprocess", version="9" * 5000)

    assert fleet.checks() == []


def test_versions_are_numbers_not_words(fleet: Fleet) -> None:
    """Version 10 is newer than version 9."""
    for window in (fleet.now, fleet.before):
        for version in ("9", "10"):
            window.model("nms", version=version)
    fleet.now.put("request", 0.100 * 10 * 1e6, model="nms", version="10")

    assert fleet.verdict().causes[0].place == ("nms", "10")


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
