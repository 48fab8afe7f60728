"""Alerts do not reach people; a budget burns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tritonobs.clients.prometheus import FiringAlert
from tritonobs.extensions.triage.judge import triage
from tritonobs.extensions.triage.tables import verdict_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Fleet

    from tritonobs.clients.prometheus import Target
    from tritonobs.extensions.triage.judge import Verdict


def test_serve_that_does_not_answer_is_a_cause(fleet: Fleet, make_target: Callable[..., Target]) -> None:
    """Alerts fire, and nobody is told."""
    fleet.targets[-1] = make_target("tritonobs", "c:9900", health="down", error="connection refused")

    assert fleet.verdict().sentence == "tritonobs at c:9900 does not respond: connection refused"
    assert fleet.verdict().causes[0].area == "serve"


def test_a_muted_robot_is_a_cause(fleet: Fleet) -> None:
    """Ten minutes of silence after twenty messages."""
    fleet.now.put("robot_muted", 1.0, robot="oncall")

    assert fleet.verdict().sentence == "robot oncall is muted by its chat: too many messages"


def test_refused_messages_are_a_cause(fleet: Fleet) -> None:
    """With the robot's own code."""
    fleet.now.put("delivery_errors", 4.0, robot="oncall", code="310000")

    assert fleet.checks() == ["delivery"]


def test_a_fleet_file_that_cannot_be_used_is_a_cause(fleet: Fleet) -> None:
    """Yesterday's limits are still in force."""
    fleet.now.put("config_valid", 0.0, instance="c:9900")

    assert fleet.checks() == ["delivery"]


def test_rules_that_cannot_be_evaluated_are_a_cause(fleet: Fleet) -> None:
    """Named by their group, without the path of its file."""
    fleet.now.put("rule_failures", 5.0, rule_group="/etc/rules/alerts.rules.yml;tritonobs.alerts.slo")

    assert fleet.verdict().sentence == (
        "rules of tritonobs.alerts.slo cannot be evaluated: their alerts cannot fire"
    )


@pytest.mark.parametrize(
    ("answer", "area"),
    [
        (("robot_muted", 1.0, {"robot": "oncall"}), "delivery"),
        (("delivery_errors", 4.0, {"robot": "oncall", "code": "310000"}), "delivery"),
        (("config_valid", 0.0, {"instance": "c:9900"}), "serve"),
        (("rule_failures", 5.0, {"rule_group": "/r.yml;tritonobs.alerts.slo"}), "prometheus"),
        (("gpu_memory", 0.99, {"gpu_uuid": "GPU-1", "instance": "a:8002"}), "accelerators"),
        (("limits", 12.0, {"model": "", "version": ""}), "traffic"),
        (("peak", 130.0, {"model": "inspect"}), ""),
    ],
)
def test_a_cause_says_what_of_the_fleet_it_is_about(
    fleet: Fleet, answer: tuple[str, float, dict[str, str]], area: str
) -> None:
    """An incident joins it to the alerts about the same; what has a model needs no area."""
    question, value, labels = answer
    fleet.now.put(question, value, **labels)
    if question == "limits":
        fleet.now.model("nms", rate=15.0)

    assert fleet.verdict().causes[0].area == area


def test_a_robot_that_works_is_no_cause(fleet: Fleet) -> None:
    """Not muted, nothing refused, the file in use, every rule evaluated."""
    fleet.now.put("rule_failures", 0.0, rule_group="/etc/rules/alerts.rules.yml;tritonobs.alerts.slo")
    fleet.now.put("robot_muted", 0.0, robot="oncall")
    fleet.now.put("delivery_errors", 0.0, robot="oncall", code="310000")
    fleet.now.put("config_valid", 1.0, instance="c:9900")

    assert fleet.checks() == []


def test_a_target_of_somebody_else_is_none_of_ours(fleet: Fleet, make_target: Callable[..., Target]) -> None:
    """In a shared Prometheus there is always one that is down."""
    fleet.targets.append(make_target("node", "z:9100", health="down", error="connection refused"))

    assert fleet.checks() == []


def test_one_of_two_serves_may_have_a_wrong_fleet_file(fleet: Fleet) -> None:
    """It is named."""
    for instance, valid in (("a:9900", 0.0), ("b:9900", 1.0)):
        fleet.now.put("config_valid", valid, instance=instance, job="tritonobs")

    assert "is not valid on a:9900" in fleet.verdict().sentence


LABELS = {"model": "inspect", "version": "", "slo": "latency"}


def _judged(fleet: Fleet, bad: float | None, state: str = "firing", *, valid: float = 6_000.0) -> Verdict:
    """The alert of a promise for 99 of 100 requests, and how many of the window's requests broke it."""
    fleet.now.put("burning", 23.34, **LABELS)
    fleet.now.put("budgets", 0.01, **LABELS)
    fleet.now.put("slo_valid", None if bad is None else valid, **LABELS)
    fleet.now.put("slo_bad", bad, **LABELS)
    alert = FiringAlert(
        name="TritonErrorBudgetBurnFast",
        state=state,
        active_at="1970-01-01T02:30:00.123456789Z",
        value=0.2,
        labels={**LABELS, "severity": "critical"},
        annotations={},
    )
    return triage(replace(fleet.snapshot(), alerts=(alert,)))


def test_a_promise_that_is_missed_all_day_is_no_healthy_fleet(fleet: Fleet) -> None:
    """Nothing changed, and an objective is missed: the alert stands in the ranking, with its beginning."""
    verdict = _judged(fleet, 1_320.0)

    assert verdict.sentence == (
        "inspect misses its objective latency: the error budget burns 22 times as fast as allowed"
    )
    assert (verdict.causes[0].check, verdict.causes[0].since) == ("budget_burn", 9_000.123456)


@pytest.mark.parametrize(
    ("bad", "valid"),
    [
        pytest.param(0.0, 6_000.0, id="nothing is bad any more"),
        pytest.param(60.0, 6_000.0, id="as many as are allowed"),
        pytest.param(80.0, 6_000.0, id="more by chance"),
        pytest.param(2.0, 80.0, id="two of a few requests"),
        pytest.param(0.0, 0.0, id="no requests"),
    ],
)
def test_what_this_window_keeps_still_burns_and_is_no_cause(fleet: Fleet, bad: float, valid: float) -> None:
    """The alert fires for what was before the window: that is said, and is not the verdict."""
    verdict = _judged(fleet, bad, valid=valid)

    assert verdict.status == "healthy"
    (still,) = verdict.still_burning
    assert still == (
        "the error budget of inspect, objective latency, still burns 23.3 times as fast as allowed "
        "because of earlier requests; "
        f"{bad:.0f} of this window's {valid:.0f} requests missed it"
    )
    assert still in verdict_text(verdict)


@pytest.mark.parametrize(
    ("bad", "valid"),
    [
        pytest.param(90.0, 6_000.0, id="more than chance"),
        pytest.param(6.0, 80.0, id="six of a few requests"),
    ],
)
def test_what_this_window_misses_is_a_cause(fleet: Fleet, bad: float, valid: float) -> None:
    """By more than chance, however slowly it burns."""
    verdict = _judged(fleet, bad, valid=valid)

    assert [cause.check for cause in verdict.causes] == ["budget_burn"]
    assert verdict.still_burning == ()


def test_a_pending_alert_is_no_finding(fleet: Fleet) -> None:
    """It may never fire."""
    verdict = _judged(fleet, 1_320.0, "pending")

    assert (verdict.status, verdict.still_burning) == ("healthy", ())


def test_whatever_explains_it_stands_above_it(fleet: Fleet) -> None:
    """A slow stage burns the budget."""
    fleet.now.slow(0.070, "preprocess", "decode")

    verdict = _judged(fleet, 1_320.0)

    assert [cause.check for cause in verdict.causes] == ["slow_stage"]
    assert [cause.check for cause in verdict.following] == ["budget_burn"]


def test_a_budget_that_was_not_read_is_not_told_to_be_kept(fleet: Fleet) -> None:
    """With --model only some models are asked about; the alerts are of all."""
    verdict = _judged(fleet, None)

    assert verdict.still_burning == ()
    assert "budget_burn" not in [cause.check for cause in verdict.causes]
