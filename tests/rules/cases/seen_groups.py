"""Groups of rules that fail or come late once: told each by name, or as one row where they are many.

Each instance is a Prometheus of its own, whose groups all had a fault at minute 5.
"""

from support.case import Case, all_fire, silent
from support.simulate import World

COUNTERS = {
    "TritonobsRulesFailing": "prometheus_rule_evaluation_failures_total",
    "TritonobsRulesLate": "prometheus_rule_group_iterations_missed_total",
}
ONCE, TWICE = [(5, 0), (99, 1)], [(5, 0), (15, 1), (99, 2)]
# By instance: what each group has counted.
PROMETHEUS = {
    "three": 3 * [ONCE],
    "four": 4 * [ONCE],
    "one_again": [TWICE, ONCE, ONCE, ONCE],
}


def of_group(instance, number):
    """What is said of one group."""
    name = f"tritonobs.{number}"
    return {"instance": instance, "group": name, "rule_group": f"/r.yml;{name}", "severity": "warning"}


def once(alert):
    """All groups of each Prometheus."""
    world = World(minutes=16)
    for instance, groups in PROMETHEUS.items():
        for number, counted in enumerate(groups):
            rule_group = of_group(instance, number)["rule_group"]
            world.gauge(COUNTERS[alert], counted, instance=instance, rule_group=rule_group)
    told = (
        *(of_group("three", number) for number in range(3)),
        *({"instance": instance, "severity": "warning"} for instance in ("four", "one_again")),
    )
    return Case(
        says=f"groups with a single fault are told for ten minutes, and four of them as one: {alert}",
        world=world,
        rules=(alert,),
        checks=(
            silent(alert, 5.75),
            all_fire(alert, 6, *told),
            all_fire(alert, 14.75, *told),
            silent(alert, 15.75, since=15),
            # The faults of ten minutes ago make no crowd of it.
            all_fire(alert, 16, of_group("one_again", 0)),
        ),
    )


CASES = tuple(once(alert) for alert in COUNTERS)
