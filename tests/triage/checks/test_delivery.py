"""Alerts do not reach people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Fleet

    from tritonobs.clients.prometheus import Target


def test_serve_that_does_not_answer_is_a_cause(fleet: Fleet, make_target: Callable[..., Target]) -> None:
    """Alerts fire, and nobody is told."""
    fleet.targets[-1] = make_target("tritonobs", "c:9900", health="down", error="connection refused")

    assert fleet.verdict().sentence == "tritonobs at c:9900 does not answer: connection refused"


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
