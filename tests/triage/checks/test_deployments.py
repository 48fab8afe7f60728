"""A deployment that is worse than what was there before."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tritonobs.clients.prometheus import Series

if TYPE_CHECKING:
    from conftest import Fleet

    from tritonobs.extensions.triage.judge import Verdict


BORN = 9_700.0
MODEL = {"model": "nms", "version": "1"}


def _deploy(fleet: Fleet, model: str = "nms", version: str = "1") -> None:
    """Both workers are new since `BORN`."""
    for replica in ("a", "b"):
        labels = {"instance": f"{replica}:8002", "model": model, "version": version}
        old, new = f"{model}_0_0-7{replica}-1a", f"{model}_0_0-9{replica}-3c"
        if version == "1":
            fleet.now.put("heartbeats", None, **labels, worker=old)
            fleet.now.put("alive", None, **labels, worker=old)
        fleet.now.put("heartbeats", 9_999.0, **labels, worker=new)
        fleet.now.put("alive", 4.0, **labels, worker=new)
        fleet.now.put("first_beats", BORN, **labels, worker=new)


def _trend(fleet: Fleet, name: str, before: float, *after: float, **labels: str) -> None:
    """Points every 5 s: `before` up to `BORN`, then the levels after it, each as long as the others."""
    times = [9_000.0 + 5.0 * step for step in range(201)]
    late = [time for time in times if time > BORN]
    values = [before] * (len(times) - len(late))
    values += [after[place * len(after) // len(late)] for place in range(len(late))]
    series = Series(labels=labels or MODEL, points=tuple(zip(times, values, strict=True)))
    fleet.trends = {**fleet.trends, name: (*fleet.trends.get(name, ()), series)}


def _verdict(fleet: Fleet) -> Verdict:
    from tritonobs.extensions.triage.judge import triage  # noqa: PLC0415 (the fixture judges without a window)

    return triage(replace(fleet.snapshot(), trend_seconds=20.0))


def test_errors_that_last_since_a_load_are_rolled_back(fleet: Fleet) -> None:
    """21 % from their first heartbeat on: the deployment is the headline, the errors follow."""
    _deploy(fleet)
    fleet.now.outcome("nms", error=2.1, ok=7.9)
    _trend(fleet, "requests", 10.0, 10.0)
    _trend(fleet, "told", 0.0, 2.1, **MODEL, outcome="error")

    verdict = _verdict(fleet)

    assert verdict.sentence == (
        "nms version 1 was reloaded at 02:41:41 UTC (2 new workers) "
        "and fails more: error ratio 21.0% (was 0.0%)"
    )
    assert verdict.causes[0].since == BORN + 1
    assert verdict.causes[0].next_steps[0].startswith("roll back nms: restore the earlier files")
    assert [cause.check for cause in verdict.following] == ["error_surge", "reload"]


def test_time_that_stays_since_a_load_is_rolled_back(fleet: Fleet) -> None:
    """15 ms more for every request, long after the first ones."""
    _deploy(fleet)
    fleet.now.slow(0.015, "nms", "suppress")
    _trend(fleet, "request", 0.004, 0.019)

    verdict = _verdict(fleet)

    assert "and takes longer: mean time without queueing 19 ms (was 4 ms)" in verdict.sentence
    assert [cause.check for cause in verdict.causes] == ["bad_deploy"]


def test_slow_first_requests_are_a_warm_up(fleet: Fleet) -> None:
    """A minute later everything is as it was: loaded again, and nothing to roll back."""
    _deploy(fleet)
    fleet.now.slow(0.015, "nms", "suppress")
    _trend(fleet, "request", 0.004, 0.050, 0.004, 0.004)

    assert [cause.check for cause in _verdict(fleet).causes] == ["reload"]


@pytest.mark.parametrize(
    ("levels", "first"),
    [
        pytest.param([0.050] * 57 + [0.045, 0.035, 0.020], "reload", id="it falls"),
        pytest.param([0.050] * 50 + [0.005] * 10, "reload", id="nearly as before"),
        pytest.param([0.050] * 59 + [0.030], "bad_deploy", id="one point lower"),
        pytest.param([0.050] * 57 + [0.049, 0.048, 0.047], "bad_deploy", id="a little lower"),
        pytest.param(
            [0.050] * 30 + [0.030, 0.050] * 13 + [0.050, 0.043, 0.037, 0.032],
            "bad_deploy",
            id="it goes up and down",
        ),
        pytest.param([0.300] * 4 + [0.019] * 56, "bad_deploy", id="steady after the first requests"),
    ],
)
def test_what_settles_is_not_rolled_back(fleet: Fleet, levels: list[float], first: str) -> None:
    """Forty slow requests of a model that gets one a second are slow for most of a minute."""
    _deploy(fleet)
    fleet.now.slow(0.015, "nms", "suppress")
    _trend(fleet, "request", 0.004, *levels)

    assert _verdict(fleet).causes[0].check == first


def test_a_load_into_trouble_did_not_cause_it(fleet: Fleet) -> None:
    """It was as slow for minutes before somebody loaded it again."""
    _deploy(fleet)
    fleet.now.slow(0.015, "nms", "suppress")
    _trend(fleet, "request", 0.019, 0.019)

    assert "bad_deploy" not in [cause.check for cause in _verdict(fleet).causes]


def test_larger_inputs_are_not_held_against_a_deployment(fleet: Fleet) -> None:
    """It came at the same time as five times the boxes."""
    _deploy(fleet)
    fleet.now.slow(0.015, "nms", "suppress")
    fleet.now.size("nms", "suppress", "boxes", 25.0)
    _trend(fleet, "request", 0.004, 0.019)

    verdict = _verdict(fleet)

    assert verdict.causes[0].check == "more_boxes"
    assert "bad_deploy" not in [cause.check for cause in (*verdict.causes, *verdict.following)]


def test_a_callee_that_is_slow_is_not_held_against_its_caller(fleet: Fleet) -> None:
    """Inspect is loaded again; what takes longer is the detector it calls."""
    _deploy(fleet, "inspect")
    fleet.now.slow(0.050, "detector", "infer")
    _trend(fleet, "request", 0.050, 0.100, model="inspect", version="1")

    assert "bad_deploy" not in [cause.check for cause in _verdict(fleet).causes]


@pytest.mark.parametrize("errors", [0.0, 2.0])
def test_a_new_version_that_fails_is_compared_with_the_old_one(fleet: Fleet, errors: float) -> None:
    """Version 2 takes over and answers 20 % with an error; version 1 answered none."""
    _deploy(fleet, "nms", "2")
    fleet.now.model("nms", rate=0.0)
    fleet.now.model("nms", version="2")
    fleet.now.outcome("nms", version="2", error=errors, ok=10.0 - errors)
    labels = {"model": "nms", "version": "2"}
    _trend(fleet, "requests", 0.0, 10.0, **labels)
    _trend(fleet, "told", 0.0, errors, **labels, outcome="error")

    checks = [cause.check for cause in _verdict(fleet).causes]

    assert ("bad_deploy" in checks) == bool(errors)


def test_a_few_slow_requests_right_after_a_load_are_no_finding(fleet: Fleet) -> None:
    """Half a minute later nothing is to be seen of it."""
    _deploy(fleet)
    fleet.now.slow(0.015, "nms", "suppress")
    _trend(fleet, "request", 0.004, 0.050, *[0.004] * 14)

    checks = [cause.check for cause in _verdict(fleet).causes]

    assert "reload" not in checks
    assert "bad_deploy" not in checks


@pytest.mark.parametrize(("earlier", "blamed"), [(2.0, False), (0.0, True)])
def test_a_new_version_deployed_into_trouble_is_not_blamed(
    fleet: Fleet,
    earlier: float,
    blamed: bool,  # noqa: FBT001 (parametrised)
) -> None:
    """Version 1 failed as often in the minutes before: version 2 may be what was to help."""
    _deploy(fleet, "nms", "2")
    fleet.now.model("nms", rate=5.0)
    fleet.now.model("nms", version="2")
    fleet.now.outcome("nms", version="2", error=2.0, ok=8.0)
    new, old = {"model": "nms", "version": "2"}, MODEL
    _trend(fleet, "requests", 0.0, 10.0, **new)
    _trend(fleet, "told", 0.0, 2.0, **new, outcome="error")
    _trend(fleet, "requests", 10.0, 0.0, **old)
    _trend(fleet, "told", earlier, 0.0, **old, outcome="error")

    assert ("bad_deploy" in [cause.check for cause in _verdict(fleet).causes]) == blamed


def _counted(fleet: Fleet, model: str = "nms", *, begin_again: bool = True) -> None:
    """Triton's successes of both replicas, 5 a second each, which may begin again at `BORN`."""
    for replica in ("a:8002", "b:8002"):
        times = [9_000.0 + 5.0 * step for step in range(201)]
        values = [5.0 * (time - (BORN if begin_again and time > BORN else 0.0)) for time in times]
        labels = {"instance": replica, "model": model, "version": "1"}
        series = Series(labels=labels, points=tuple(zip(times, values, strict=True)))
        fleet.trends = {**fleet.trends, "counted": (*fleet.trends.get("counted", ()), series)}


def _without_stages(fleet: Fleet, model: str = "nms") -> None:
    """A backend that is not ours: no workers, no stages, no outcomes."""
    for window in (fleet.now, fleet.before):
        for question in ("heartbeats", "alive", "outcomes", "count", "sum", "p50", "p95", "p99"):
            rows = window.answers[question]
            for key in [key for key in rows if ("model", model) in key]:
                del rows[key]


def test_a_load_of_before_the_window_is_a_deployment(fleet: Fleet) -> None:
    """Asked about the time since the page: the workers were new shortly before, and the baseline moved."""
    early = 9_380.0
    fleet.now.slow(0.012, "nms", "total")
    times = [9_000.0 + 5.0 * step for step in range(201)]
    for replica in ("a:8002", "b:8002"):
        points = tuple((time, 1.0 if early < time <= early + 20 else 0.0) for time in times)
        series = Series(labels={**MODEL, "instance": replica}, points=points)
        fleet.trends = {**fleet.trends, "arrived": (*fleet.trends.get("arrived", ()), series)}
    request = tuple((time, 0.004 if time <= early else 0.016) for time in times)
    fleet.trends["request"] = (Series(labels=MODEL, points=request),)

    cause = _verdict(fleet).causes[0]

    assert cause.check == "bad_deploy"
    assert "(2 new workers) and takes longer: mean time without queueing 16 ms (was 4 ms)" in cause.sentence
    assert cause.since == pytest.approx(early, abs=5.0)
    assert cause.next_steps[0].startswith("roll back nms")


@pytest.mark.parametrize("again", [True, False])
def test_counters_that_begin_again_are_a_deployment_of_any_backend(
    fleet: Fleet,
    again: bool,  # noqa: FBT001 (parametrised)
) -> None:
    """An ONNX model, unloaded and loaded: nothing but Triton's own numbers tells it."""
    _without_stages(fleet)
    _counted(fleet, begin_again=again)
    fleet.now.put("request", 0.016 * 10.0 * 1e6, model="nms", version="1")
    _trend(fleet, "request", 0.004, 0.016)

    causes = [cause for cause in _verdict(fleet).causes if cause.check == "bad_deploy"]

    assert bool(causes) == again
    if again:
        assert "(its counters were reset on 2 replicas) and takes longer: mean" in causes[0].sentence
        assert causes[0].since == pytest.approx(BORN, abs=5.0)
        assert any("were reset" in evidence.what for evidence in causes[0].evidence)


def test_another_load_time_is_a_deployment_of_any_backend(fleet: Fleet) -> None:
    """Loaded in place, counters go on; since 24.11 Triton tells how long the load took."""
    _without_stages(fleet)
    _counted(fleet, begin_again=False)
    _trend(fleet, "load_seconds", 1.25, 2.5, **MODEL, instance="a:8002")
    _trend(fleet, "requests", 10.0, 8.5)
    _trend(fleet, "failed", 0.0, 1.5, **MODEL, reason="BACKEND")
    for replica in ("a:8002", "b:8002"):
        fleet.now.put("failures", 0.75, **MODEL, instance=replica, reason="BACKEND")

    cause = _verdict(fleet).causes[0]

    assert cause.check == "bad_deploy"
    assert "and fails more: error ratio 15.0% (was 0.0%)" in cause.sentence
    (load,) = [evidence for evidence in cause.evidence if evidence.what == "load time of nms"]
    assert (load.before, load.now) == (1.25, 2.5)


def test_requests_that_wait_since_a_load_are_rolled_back(fleet: Fleet) -> None:
    """One instance less: each request takes as long as before, and waits."""
    _deploy(fleet)
    fleet.now.wait("nms", 0.030)
    _trend(fleet, "request", 0.004, 0.034)
    _trend(fleet, "queue", 0.001, 0.031)

    verdict = _verdict(fleet)

    assert verdict.causes[0].check == "bad_deploy"
    assert "), and its requests wait longer: mean queue time 31 ms (was 1 ms)" in verdict.sentence


def test_a_rush_beside_a_load_is_not_held_against_it(fleet: Fleet) -> None:
    """Twice the requests came in the same second, and they wait."""
    _deploy(fleet)
    fleet.now.wait("nms", 0.030)
    _trend(fleet, "request", 0.004, 0.034)
    _trend(fleet, "queue", 0.001, 0.031)
    _trend(fleet, "requests", 10.0, 20.0)

    assert "bad_deploy" not in _all(fleet)


def test_a_slow_machine_beside_a_load_is_not_held_against_it(fleet: Fleet) -> None:
    """The other models take as many times as long, though none of them was loaded."""
    _deploy(fleet)
    _trend(fleet, "request", 0.004, 0.008)
    for model, before in (("preprocess", 0.019), ("detector", 0.023)):
        _trend(fleet, "request", before, 2 * before, model=model, version="1")

    assert "bad_deploy" not in _all(fleet)


def test_a_load_that_is_worse_than_the_machine_is_still_rolled_back(fleet: Fleet) -> None:
    """Everything takes half as long again, and nms five times as long."""
    _deploy(fleet)
    fleet.now.slow(0.016, "nms", "suppress")
    _trend(fleet, "request", 0.004, 0.020)
    for model, before in (("preprocess", 0.019), ("detector", 0.023)):
        _trend(fleet, "request", before, 1.5 * before, model=model, version="1")

    assert "bad_deploy" in _all(fleet)


def test_bad_input_beside_a_load_is_not_held_against_it(fleet: Fleet) -> None:
    """A client began to send broken images in the second of a harmless load."""
    _deploy(fleet)
    fleet.now.outcome("nms", error=1.5, ok=8.5)
    fleet.now.put("stage_errors", 1.5, **MODEL, stage="decode", reason="corrupt_image", outcome="")
    _trend(fleet, "requests", 10.0, 10.0)
    _trend(fleet, "told", 0.0, 1.5, **MODEL, outcome="error")

    assert _verdict(fleet).causes[0].check == "error_surge"
    assert "bad_deploy" not in _all(fleet)


def test_what_came_a_minute_after_a_load_is_not_held_against_it(fleet: Fleet) -> None:
    """Well for two of five minutes, then slow: something else happened."""
    _deploy(fleet)
    fleet.now.slow(0.015, "nms", "suppress")
    _trend(fleet, "request", 0.004, *[0.004] * 4, *[0.019] * 6)

    assert "bad_deploy" not in _all(fleet)


def test_errors_of_a_callee_are_not_held_against_its_caller(fleet: Fleet) -> None:
    """Inspect was loaded again; what fails is the detector that it calls."""
    _deploy(fleet, "inspect")
    for model in ("inspect", "detector"):
        labels = {"model": model, "version": "1"}
        fleet.now.outcome(model, error=2.0, ok=8.0)
        _trend(fleet, "requests", 10.0, 10.0, **labels)
        _trend(fleet, "told", 0.0, 2.0, **labels, outcome="error")

    assert "bad_deploy" not in _all(fleet)


def test_a_load_explains_nothing_of_what_the_model_calls(fleet: Fleet) -> None:
    """Preprocess was loaded and is slow at first; the detector is slow for a reason of its own."""
    _deploy(fleet, "preprocess")
    fleet.now.slow(0.050, "detector", "infer")

    assert "slow_stage" in [cause.check for cause in _verdict(fleet).causes]


def _all(fleet: Fleet) -> list[str]:
    verdict = _verdict(fleet)
    return [cause.check for cause in (*verdict.causes, *verdict.following)]


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
        "preprocess version 1 was reloaded at 02:41:41 UTC (2 new workers): "
        "first requests after a load are slow, and caches are empty"
    )
    assert verdict.causes[0].since == 9_701.0


def _loop(fleet: Fleet, *models: str) -> None:
    """Four more workers of each model instance, one after the other; only the last lives."""
    for model in models:
        labels = {"instance": "a:8002", "model": model, "version": "1"}
        fleet.now.put("heartbeats", None, **labels, worker=f"{model}_0_0-7a-1a")
        fleet.now.put("alive", None, **labels, worker=f"{model}_0_0-7a-1a")
        for number in range(4):
            fleet.now.put("first_beats", 9_700.0 + 60 * number, **labels, worker=f"{model}_0_0-9{number}-3c")
        fleet.now.put("heartbeats", 9_999.0, **labels, worker=f"{model}_0_0-93-3c")
        fleet.now.put("alive", 4.0, **labels, worker=f"{model}_0_0-93-3c")


def test_a_model_that_is_loaded_again_and_again_is_told_also_where_nobody_felt_it(fleet: Fleet) -> None:
    """Loads that are quick cost little, and go on until someone finds what causes them."""
    _loop(fleet, "preprocess")

    verdict = fleet.verdict()

    assert [cause.check for cause in verdict.causes] == ["reload"]
    assert verdict.sentence == "preprocess version 1 was reloaded 4 times since 02:41:41 UTC"


def test_a_server_that_starts_again_and_again_is_no_loop_of_its_models(fleet: Fleet) -> None:
    """The twin: it loads all of them."""
    _loop(fleet, "preprocess", "detector", "nms", "inspect")

    assert "reload" not in fleet.checks()


def test_a_reload_nobody_felt_is_no_cause(fleet: Fleet) -> None:
    """Deployments are daily work."""
    _reloaded(fleet)

    assert fleet.checks() == []
