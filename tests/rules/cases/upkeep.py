"""What tritonobs says of itself at the edges: tasks and rules; and of versions that make tokens."""

from support.case import Case, fires, reads, silent
from support.simulate import World

TASK, LATE = "TritonobsTaskFailing", "TritonobsRulesLate"
ABOVE, NEAR = "TritonTokensAboveLimit", "TritonTokensNearLimit"
SERVE = {"job": "tritonobs", "instance": "serve:9900"}
TASKS = {**SERVE, "task": "limits log"}
GROUP = {"instance": "p:9090", "rule_group": "/r.yml;tritonobs.slo"}
RATE = "model_version_kind:tritonobs_tokens:rate1m"
LIMIT = "subject_kind:tritonobs_tokens_per_second_limit:held"
OWNER = "subject:tritonobs_owner:info"
SPENT = {"model": "llm", "kind": "tokens_out"}


def slow(groups):
    """So many groups leave evaluations out."""
    world = World(minutes=20)
    for number in range(groups):
        own = {**GROUP, "rule_group": f"/r.yml;tritonobs.{number}"}
        world.counter("prometheus_rule_group_iterations_missed_total", [(10, 0), (99, 1 / 60)], **own)
    return world


def failing(times):
    """A task that works between its failures, of which there are so many in a quarter of an hour."""
    return (
        World(minutes=70)
        .gauge("tritonobs_task_up", 1, **TASKS)
        .counter("tritonobs_task_failures_total", times / 900, **TASKS)
    )


def versions(limit, first, second):
    """Two versions of a language model, both with its limit; what each makes."""
    world = World(minutes=10).gauge(LIMIT, limit, **SPENT).gauge(OWNER, 1, model="llm", tier="low")
    for version, made in (("1", first), ("2", second)):
        world.gauge(RATE, made, **SPENT, version=version).gauge(LIMIT, limit, **SPENT, version=version)
        world.gauge(OWNER, 1, model="llm", version=version, tier="low")
    return world


def both(alert, minute):
    """The alert fires for the model and for its first version."""
    firing = f'ALERTS{{alertname="{alert}", alertstate="firing"}}'
    return reads(f"count by (version) ({firing})", minute, ({}, 1), ({"version": "1"}, 1))


CASES = (
    Case(
        says="a task that fails eight times in a quarter of an hour is told",
        world=failing(8),
        rules=(TASK,),
        checks=(fires(TASK, 20, severity="warning", **TASKS),),
    ),
    Case(
        says="a task that fails four times in each quarter of an hour is not",
        world=failing(4),
        rules=(TASK,),
        checks=(silent(TASK, 70),),
    ),
    Case(
        says="an evaluation that was left out is told a minute later, until ten minutes after",
        world=World(minutes=40).counter(
            "prometheus_rule_group_iterations_missed_total", [(10, 0), (10.25, 1 / 15), (99, 0)], **GROUP
        ),
        rules=(LATE,),
        checks=(
            silent(LATE, 11),
            fires(LATE, 12, severity="warning", group="tritonobs.slo", **GROUP),
            fires(LATE, 19, severity="warning", group="tritonobs.slo", **GROUP),
            silent(LATE, 40, since=22),
        ),
    ),
    Case(
        says="a Prometheus that is too slow for twelve groups is told once",
        world=slow(12),
        rules=(LATE,),
        checks=(silent(LATE, 11), fires(LATE, 13, severity="warning", instance="p:9090")),
    ),
    Case(
        says="three groups that are late are told each",
        world=slow(3),
        rules=(LATE,),
        checks=(reads(f'count(ALERTS{{alertname="{LATE}", alertstate="firing", group!=""}})', 13, ({}, 3)),),
    ),
    *(
        Case(
            says=f"a version that is most of its model is told beside it where both are too much: {alert}",
            world=versions(100, share * 108, share * 5),
            rules=(alert,),
            given=(RATE, LIMIT, OWNER),
            checks=(both(alert, 8),),
        )
        for alert, share in ((ABOVE, 1), (NEAR, 0.8))
    ),
)
