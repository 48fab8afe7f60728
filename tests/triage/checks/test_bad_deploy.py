"""A deployment that is worse than what was there before."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tritonobs.clients.prometheus import Series

if TYPE_CHECKING:
    from conftest import Fleet

    from tritonobs.triage.judge import Verdict

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
    from tritonobs.triage.judge import triage  # noqa: PLC0415 (the fixture judges without a window)

    return triage(replace(fleet.snapshot(), trend_seconds=20.0))


def test_errors_that_last_since_a_load_are_rolled_back(fleet: Fleet) -> None:
    """21 % from their first heartbeat on: the deployment is the headline, the errors follow."""
    _deploy(fleet)
    fleet.now.outcome("nms", error=2.1, ok=7.9)
    _trend(fleet, "requests", 10.0, 10.0)
    _trend(fleet, "told", 0.0, 2.1, **MODEL, outcome="error")

    verdict = _verdict(fleet)

    assert verdict.sentence == (
        "nms version 1 was loaded again at 02:41:41 UTC (2 new workers) "
        "and answers 21.0% of requests with an error since; before 0.0%"
    )
    assert verdict.causes[0].since == BORN + 1
    assert verdict.causes[0].next_steps[0].startswith("roll back nms: put back the files")
    assert [cause.check for cause in verdict.following] == ["error_surge", "reload"]


def test_time_that_stays_since_a_load_is_rolled_back(fleet: Fleet) -> None:
    """15 ms more for every request, long after the first ones."""
    _deploy(fleet)
    fleet.now.slow(0.015, "nms", "suppress")
    _trend(fleet, "request", 0.004, 0.019)

    verdict = _verdict(fleet)

    assert "takes 19 ms since; before 4 ms" in verdict.sentence
    assert [cause.check for cause in verdict.causes] == ["bad_deploy"]


def test_slow_first_requests_are_a_warm_up(fleet: Fleet) -> None:
    """A minute later everything is as it was: loaded again, and nothing to roll back."""
    _deploy(fleet)
    fleet.now.slow(0.015, "nms", "suppress")
    _trend(fleet, "request", 0.004, 0.050, 0.004, 0.004)

    assert [cause.check for cause in _verdict(fleet).causes] == ["reload"]


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
