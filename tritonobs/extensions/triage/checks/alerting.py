"""Alerts: they do not reach people, or one fires for an error budget and nothing else explains it."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs import names
from tritonobs.extensions.triage.check import (
    burning_alerts,
    check,
    figure,
    stages_command,
    titled,
    triage_command,
)
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Area, Cause, Evidence
from tritonobs.timings.promql import Scope, over, summed

_SERVE = "tritonobs"
_ON_THE_WAY = frozenset({_SERVE, "tritonobs-traces", "prometheus", "alertmanager", names.AGENTS_JOB})
"""Jobs of `prometheus.yml` as built."""


def _failed(scope: Scope, seconds: float) -> str:
    return summed(over("increase", names.DELIVERY_ERRORS, scope.around(), seconds), (names.ROBOT, "code"))


def _not_evaluated(scope: Scope, seconds: float) -> str:
    # Prometheus writes a rule group as its file and its name: `…/records.rules.yml;tritonobs.traffic`.
    ours = scope.around(f'{names.RULE_GROUP}=~".+;tritonobs[.].+"')
    return summed(over("increase", names.RULE_FAILURES, ours, seconds), (names.RULE_GROUP,))


@check(order=260, asks={"delivery_errors": _failed, "rule_failures": _not_evaluated})
def delivery(view: View) -> Iterator[Cause]:
    """Every break on the way from an alert to a person: rules, serve, a robot or the fleet file."""
    for target in view.snapshot.targets:
        job = target.labels.get("job", "")
        # Others are no part of the way from an alert to a person.
        if target.health == "down" and job in _ON_THE_WAY and not view.is_replica(target):
            yield _break(
                job,
                f"{job} at {target.labels.get('instance', target.url)} does not respond: {target.last_error}",
                Evidence(f"up of {job}", None, 0.0),
                "restart it; Alertmanager repeats alerts that were not delivered",
                "up",
                area="serve" if job == _SERVE else "prometheus",
            )
    for (group,), failures in view.rows("rule_failures", names.RULE_GROUP).items():
        if failures >= 1:
            # Prometheus' label is the path of the rules file, a semicolon and the name of the group.
            rules = group.rpartition(";")[2]
            yield _break(
                rules,
                f"rules of {rules} cannot be evaluated: their alerts cannot fire",
                Evidence("failed evaluations", None, failures, "count"),
                "Prometheus' page Status, Rules shows the error; "
                "build the rules again: tritonobs build fleet.yaml -o built",
                "rule_failures",
                area="prometheus",
            )
    for (robot,), muted in view.rows("robot_muted", names.ROBOT).items():
        if muted:
            yield _break(
                robot,
                f"robot {robot} is muted by its chat: too many messages",
                Evidence("muted", None, muted),
                "wait (ten minutes in DingTalk); find who else sends through it, or give alerts their own",
                "robot_muted",
                area="delivery",
            )
    for (robot, code), errors in view.rows("delivery_errors", names.ROBOT, "code").items():
        if errors >= 1:
            yield _break(
                robot,
                f"robot {robot} refused {errors:.0f} messages with {code}",
                Evidence(f"messages refused with {code}", None, errors, "count"),
                f"send a test message: tritonobs notify test {robot}; "
                "check webhook, secret and the robot's settings",
                "delivery_errors",
                area="delivery",
            )
    yield from _refused_files(view)


def _refused_files(view: View) -> Iterator[Cause]:
    """Fleet files that were changed and are not in use, of any serve."""
    for (instance,), valid in view.rows("config_valid", names.INSTANCE).items():
        if not valid:
            at = f" on {instance}" if instance else ""
            yield _break(
                f"fleet file{at}",
                f"the changed fleet file is not valid{at}; serve keeps the last valid one",
                Evidence("fleet file in use", None, 0.0),
                "find the mistake: tritonobs validate fleet.yaml",
                "config_valid",
                area="serve",
            )


def _break(what: str, sentence: str, evidence: Evidence, step: str, asked: str, *, area: Area) -> Cause:
    return Cause(
        place=("", "", what),
        area=area,
        sentence=sentence,
        confidence=0.9,
        evidence=(evidence,),
        next_steps=(step,),
        asked=(asked,),
    )


# It says that something is wrong, not what, so nearly every other finding takes precedence.
_CONFIDENCE = 0.5


@check(order=270)
def budget_burn(view: View) -> Iterator[Cause]:
    """Objectives whose alert fires and which the requests of this window missed."""
    for burn in burning_alerts(view):
        if not burn.missed:
            continue
        yield Cause(
            place=(*burn.subject, burn.slo),
            sentence=(
                f"{titled(burn.subject)} misses its objective {burn.slo}: "
                f"the error budget burns {figure(burn.rate)} times as fast as allowed"
            ),
            confidence=_CONFIDENCE,
            evidence=(
                Evidence(f"burn rate of {burn.slo} in this window", None, burn.rate),
                Evidence(f"requests that missed {burn.slo}", None, burn.bad),
            ),
            next_steps=(
                f"see since when the objective is missed: {triage_command(burn.subject[0], '1h')}",
                f"see where the time goes: {stages_command(burn.subject[0])}",
            ),
            asked=("slo_bad", "slo_valid", "budgets"),
            since=burn.since,
        )
