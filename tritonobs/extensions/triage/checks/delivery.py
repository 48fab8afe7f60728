"""Alerts do not reach people: rules, serve, a robot or the fleet file are the reason."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs import names
from tritonobs.extensions.triage.check import check
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence

_ON_THE_WAY = frozenset({"tritonobs", "tritonobs-traces", "prometheus", "alertmanager", names.AGENTS_JOB})
"""Jobs of `prometheus.yml` as built."""


@check(order=260)
def judge(view: View) -> Iterator[Cause]:
    """Every break on the way from an alert to a person."""
    for target in view.snapshot.targets:
        job = target.labels.get("job", "")
        # Others are no part of the way from an alert to a person.
        if target.health == "down" and job in _ON_THE_WAY and not view.is_replica(target):
            yield _cause(
                f"{job} at {target.labels.get('instance', target.url)} does not answer: {target.last_error}",
                job,
                (Evidence(f"up of {job}", None, 0.0),),
                "start it again; Alertmanager repeats alerts that were not delivered",
                ("up",),
            )
    for (group,), failures in view.rows("rule_failures", names.RULE_GROUP).items():
        if failures >= 1:
            # Prometheus' label is the path of the rules file, a semicolon and the name of the group.
            rules = group.rpartition(";")[2]
            yield _cause(
                f"rules of {rules} cannot be evaluated: their alerts cannot fire",
                rules,
                (Evidence("failed evaluations", None, failures, "count"),),
                "Prometheus' page Status, Rules shows the error; "
                "build the rules again: tritonobs build fleet.yaml -o built",
                ("rule_failures",),
            )
    for (robot,), muted in view.rows("robot_muted", names.ROBOT).items():
        if muted:
            yield _cause(
                f"robot {robot} is muted by its chat: too many messages",
                robot,
                (Evidence("muted", None, muted),),
                "wait (ten minutes in DingTalk); find who else sends through it, or give alerts their own",
                ("robot_muted",),
            )
    for (robot, code), errors in view.rows("delivery_errors", names.ROBOT, "code").items():
        if errors >= 1:
            yield _cause(
                f"robot {robot} refused {errors:.0f} messages with {code}",
                robot,
                (Evidence(f"messages refused with {code}", None, errors, "count"),),
                f"send a test message: tritonobs notify test {robot}; "
                "check webhook, secret and the robot's settings",
                ("delivery_errors",),
            )
    yield from _refused_files(view)


def _refused_files(view: View) -> Iterator[Cause]:
    """Fleet files that were changed and are not in use, of any serve."""
    for (instance,), valid in view.rows("config_valid", names.INSTANCE).items():
        if valid:
            continue
        at = f" on {instance}" if instance else ""
        yield _cause(
            f"the changed fleet file is not valid{at}; serve keeps the last valid one",
            f"fleet file{at}",
            (Evidence("fleet file in use", None, 0.0),),
            "see what is wrong with it: tritonobs validate fleet.yaml",
            ("config_valid",),
        )


def _cause(
    sentence: str, what: str, evidence: tuple[Evidence, ...], step: str, asked: tuple[str, ...]
) -> Cause:
    return Cause(
        place=("", "", what),
        sentence=sentence,
        confidence=0.9,
        evidence=evidence,
        next_steps=(step,),
        asked=asked,
    )
