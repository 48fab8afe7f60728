"""More than a limit, much more than before, far less."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.clients.prometheus import Series

if TYPE_CHECKING:
    from conftest import Fleet

    Stages = dict[str, dict[str, float]]


def test_traffic_above_the_limit_is_the_cause(fleet: Fleet) -> None:
    """Whatever is slow then is slow because of it."""
    fleet.now.model("inspect", rate=120.0)
    fleet.now.wait("detector", 0.300)

    verdict = fleet.verdict()

    assert verdict.causes[0].check == "qps_limit"
    assert verdict.sentence == "inspect receives 120 requests/s; its limit is 100 requests/s"
    assert "queue_saturation" in [cause.check for cause in verdict.following]


def test_a_short_peak_above_the_limit_is_a_cause(fleet: Fleet) -> None:
    """The mean is within; half a minute was not."""
    fleet.now.put("peak", 130.0, model="inspect", version="1")

    assert fleet.verdict().sentence == "inspect receives 130 requests/s at peak; its limit is 100 requests/s"


def test_what_arrives_above_the_limit_is_a_cause_though_servers_answer_less(fleet: Fleet) -> None:
    """A busy machine answers 90 of 160 requests/s: its queue is long, and the rule pages for the limit."""
    fleet.now.model("inspect", rate=90.0)
    fleet.now.wait("detector", 0.300)
    assert "qps_limit" not in fleet.checks()

    fleet.now.put("offered", 160.0, model="inspect", version="")

    assert fleet.verdict().sentence == "inspect receives 160 requests/s at peak; its limit is 100 requests/s"
    assert fleet.verdict().causes[0].check == "qps_limit"


def test_bursts_are_a_cause_though_no_average_shows_them(fleet: Fleet) -> None:
    """Half as much again between two scrapes, and by a number that chance does not give."""
    fleet.now.put("burst", 160.0, model="inspect", version="1")

    assert (
        fleet.verdict().sentence == "inspect receives 160 requests/s in bursts; its limit is 100 requests/s"
    )


def test_a_few_requests_at_once_are_no_burst(fleet: Fleet) -> None:
    """A model that gets one in a while gets two at once now and then."""
    for window in (fleet.now, fleet.before):
        window.put("limits", 0.5, model="nms", version="")
        window.model("nms", rate=0.2)
    fleet.now.put("burst", 1.0, model="nms", version="1")

    assert "qps_limit" not in fleet.checks()


def test_a_limit_over_all_versions_counts_them_together(fleet: Fleet) -> None:
    """60 and 50 are 110, and each alone is within."""
    for version, rate in (("1", 60.0), ("2", 50.0)):
        fleet.now.model("inspect", rate=rate, version=version)
        fleet.before.model("inspect", rate=rate, version=version)

    assert fleet.checks() == ["qps_limit"]


def test_peaks_at_different_moments_are_not_one(fleet: Fleet) -> None:
    """A rollout: each version had 80/s for a while, and the model never more than 85/s."""
    for version in ("1", "2"):
        for window in (fleet.now, fleet.before):
            window.model("inspect", rate=40.0, version=version)
        fleet.now.put("peak", 80.0, model="inspect", version=version)
        fleet.now.put("burst", 80.0, model="inspect", version=version)
    fleet.now.put("peak", 85.0, model="inspect")
    fleet.now.put("burst", 90.0, model="inspect")

    assert "qps_limit" not in fleet.checks()


def test_the_peak_of_all_versions_is_a_cause(fleet: Fleet) -> None:
    """As Prometheus added them up, moment by moment."""
    for version in ("1", "2"):
        for window in (fleet.now, fleet.before):
            window.model("inspect", rate=40.0, version=version)
    fleet.now.put("peak", 130.0, model="inspect")

    assert fleet.verdict().sentence == "inspect receives 130 requests/s at peak; its limit is 100 requests/s"


def test_traffic_at_the_limit_is_within_it(fleet: Fleet) -> None:
    """The limit is what is agreed."""
    for window in (fleet.now, fleet.before):
        window.model("inspect", rate=100.0)

    assert fleet.checks() == []


def test_a_limit_is_told_once(fleet: Fleet) -> None:
    """A version inherits its model's limit: one cause, that of the model; a narrower one is a cause too."""
    fleet.now.model("inspect", rate=120.0)
    fleet.now.put("limits", 100.0, model="inspect", version="1")
    assert [cause.place for cause in fleet.verdict().causes] == [("inspect", "")]

    fleet.now.put("limits", 60.0, model="inspect", version="1")
    assert [cause.place for cause in fleet.verdict().causes] == [("inspect", ""), ("inspect", "1")]


def test_the_fleet_has_a_limit_too(fleet: Fleet) -> None:
    """Only what clients ask counts: inspect calls the other three, which get 30 requests/s more."""
    for window in (fleet.now, fleet.before):
        window.put("limits", 12.0, model="", version="")

    assert "qps_limit" not in fleet.checks()

    fleet.now.model("nms", rate=15.0)

    assert fleet.verdict().sentence == "the fleet receives 15 requests/s; its limit is 12 requests/s"
    fleet.model = "nms"
    assert "qps_limit" not in fleet.checks()


def test_the_limit_of_the_fleet_is_passed_where_the_rule_says_so(fleet: Fleet) -> None:
    """What arrives, not what is answered, as for a model."""
    for window in (fleet.now, fleet.before):
        window.put("limits", 12.0, model="", version="")
    fleet.now.put("offered", 20.0, model="", version="")

    assert fleet.verdict().sentence == "the fleet receives 20 requests/s; its limit is 12 requests/s"


def test_what_was_not_measured_is_not_shown_as_none(fleet: Fleet) -> None:
    """Scrapes may be too rare for a burst."""
    for window in (fleet.now, fleet.before):
        window.answers.pop("peak", None)
    fleet.now.put("limits", 5.0, model="inspect", version="")

    (cause, *_) = fleet.verdict().causes

    assert [one.now for one in cause.evidence if one.what.startswith(("busiest", "peak rate"))] == [
        None,
        None,
    ]


def test_more_traffic_that_is_served_worse_is_the_cause(fleet: Fleet) -> None:
    """Four times the requests, and the detector's queue grows: the queue follows from the traffic."""
    fleet.now.model("inspect", rate=40.0)
    fleet.now.stage("inspect", "total", 0.150, rate=40.0)
    fleet.now.stage("inspect", "detector", 0.125, rate=40.0)
    fleet.now.wait("detector", 0.100)
    fleet.now.stage("inspect", "detector", 0.125, rate=40.0)
    fleet.now.stage("inspect", "total", 0.150, rate=40.0)

    verdict = fleet.verdict()

    assert verdict.causes[0].check == "traffic_surge"
    assert "queue_saturation" in [cause.check for cause in verdict.following]


def test_more_traffic_that_is_served_well_is_good_news(fleet: Fleet) -> None:
    """That is what the fleet is for."""
    fleet.now.model("inspect", rate=40.0)

    assert fleet.checks() == []


def test_a_rush_that_comes_every_few_minutes_is_no_surge(fleet: Fleet) -> None:
    """Three of ten parts of the baseline had as much."""
    fleet.now.model("inspect", rate=40.0)
    fleet.now.stage("inspect", "total", 0.150, rate=40.0)
    points = tuple((60.0 * at, 42.0 if at % 3 == 0 else 2.0) for at in range(10))
    fleet.usual["requests"] = (Series(labels={"model": "inspect", "version": "1"}, points=points),)

    assert "traffic_surge" not in fleet.checks()


def _more_and_failing(fleet: Fleet, reason: str) -> None:
    fleet.now.model("inspect", rate=40.0)
    fleet.now.outcome("inspect", ok=30.0, error=10.0)
    labels = {"version": "1", "reason": reason}
    fleet.now.put("stage_errors", 10.0, model="preprocess", stage="decode", **labels)
    fleet.now.put("stage_errors", 10.0, model="inspect", stage="preprocess", **labels)


def test_images_are_not_corrupt_because_there_are_more(fleet: Fleet) -> None:
    """No request takes longer, and what fails is input that cannot be used: traffic is no cause."""
    _more_and_failing(fleet, "corrupt_image")

    assert fleet.checks() == ["error_surge"]


def test_more_traffic_that_fails_more_often_is_served_worse(fleet: Fleet) -> None:
    """What is worse is shown: errors, where no request takes longer."""
    _more_and_failing(fleet, "timeout")

    verdict = fleet.verdict()

    (surge,) = [one for one in (*verdict.causes, *verdict.following) if one.check == "traffic_surge"]
    assert surge.sentence == "inspect version 1 receives 40 requests/s (was 10), and more of them fail"
    assert [one.what for one in surge.evidence] == ["requests", "error ratio of inspect"]


def test_requests_that_fail_are_traffic_too(fleet: Fleet) -> None:
    """Three times the requests; the model answers as many as before, and raises in the rest."""
    for replica in ("a:8002", "b:8002"):
        labels = {"model": "inspect", "version": "1", "instance": replica}
        fleet.now.put("failures", 10.0, **labels, reason="BACKEND")

    found = {cause.check: cause.sentence for cause in fleet.verdict().causes}

    assert "inspect version 1 receives 30 requests/s (was 10)" in found["traffic_surge"]


def test_traffic_that_stops_is_a_cause(fleet: Fleet) -> None:
    """The fleet is well, and nobody asks it."""
    for model in ("inspect", "preprocess", "detector", "nms"):
        fleet.now.model(model, rate=0.0)

    (cause,) = fleet.verdict().causes

    assert (cause.check, cause.confidence) == ("upstream_drop", 0.8)
    assert cause.sentence.startswith("inspect version 1 receives 0 requests/s (was 10)")


def test_traffic_that_moved_to_another_version_did_not_drop(fleet: Fleet) -> None:
    """A rollout is no outage."""
    fleet.now.model("inspect", rate=0.0)
    fleet.now.model("inspect", rate=10.0, version="2")

    assert "upstream_drop" not in fleet.checks()


def test_half_the_traffic_is_within_a_days_rhythm(fleet: Fleet) -> None:
    """Five instead of ten."""
    for model in ("inspect", "preprocess", "detector", "nms"):
        fleet.now.model(model, rate=5.0)

    assert fleet.checks() == []


def _slow_stage_in_a_surge(fleet: Fleet, *, slow_at: float, grows_at: float | None = None) -> None:
    """Four times the requests since 9,500 s; a stage becomes slow at some moment, with or without more."""
    fleet.now.model("inspect", rate=40.0)
    fleet.now.slow(0.100, "detector", "infer")
    _surge_and_slow_stage(fleet, slow_at=slow_at, grows_at=grows_at)


def _surge_and_slow_stage(fleet: Fleet, *, slow_at: float, grows_at: float | None = None) -> None:
    times = [8_800.0 + 15 * at for at in range(81)]
    rates = tuple(
        (t, 10.0 if t < 9_500 else 40.0 if grows_at is None or t < grows_at else 60.0) for t in times
    )
    labels = {"model": "inspect", "version": "1"}
    fleet.trends["requests"] = (Series(labels=labels, points=rates),)
    labels = {"model": "detector", "version": "1", "stage": "infer"}
    means = tuple((t, 0.021 if t < slow_at else 0.121) for t in times)
    fleet.trends["stage"] = (Series(labels=labels, points=means),)


def test_a_stage_that_becomes_slow_after_a_surge_is_the_cause(fleet: Fleet) -> None:
    """The traffic was served well for four minutes, and is the same since."""
    _slow_stage_in_a_surge(fleet, slow_at=9_740)

    verdict = fleet.verdict()

    assert [cause.check for cause in verdict.causes] == ["slow_stage"]
    assert "traffic_surge" in [cause.check for cause in verdict.following]


def test_a_surge_that_takes_the_processors_stays_the_cause(fleet: Fleet, stages: Stages) -> None:
    """It explains the processors, they explain the stage that is slow later: no circle without a cause."""
    fleet.now.model("inspect", rate=40.0)
    for model, parts in stages.items():
        for stage, mean in parts.items():
            fleet.now.stage(model, stage, mean * (4 if stage in {"infer", "detector"} else 1.6))
    for model in ("inspect", "detector"):
        fleet.now.stage(model, "total", 3 * stages[model]["total"])
    for replica in ("a:8002", "b:8002"):
        fleet.now.put("cpu", 0.99, instance=replica)
    _surge_and_slow_stage(fleet, slow_at=9_740)

    verdict = fleet.verdict()

    assert {"cpu_starved", "slow_stage"} <= {cause.check for cause in verdict.following}
    assert [cause.check for cause in verdict.causes] == ["traffic_surge"]


def test_a_stage_that_becomes_slow_with_a_surge_follows_from_it(fleet: Fleet) -> None:
    """At once, or when still more came."""
    for when in ({"slow_at": 9_500}, {"slow_at": 9_740, "grows_at": 9_740}):
        _slow_stage_in_a_surge(fleet, **when)

        verdict = fleet.verdict()

        assert [cause.check for cause in verdict.causes] == ["traffic_surge"]
        assert "slow_stage" in [cause.check for cause in verdict.following]
