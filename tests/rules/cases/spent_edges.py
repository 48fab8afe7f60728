"""When a budget is spent, and until when: what is left of it, for how long, of how many requests, how young.

Each subject is a model of its own; the world is as old as an SLO must be, and a day older.
"""

from support.case import Case, reads
from support.simulate import World

SPENT, LEFT = "slo:period_error_budget_spent:ratio", "slo:period_error_budget_remaining:ratio"
BAD, BUDGET = "slo:sli_bad_requests:sum30d", "slo:error_budget:ratio"
HOUR = 60
NOW = 96 * HOUR


def since(hours, before, after):
    """One value until so many hours ago and another one from then on."""
    return [(NOW - hours * HOUR, before), (1e9, after)]


# By model: what is left of its budget, its bad requests, since when it has one, and what is said to be left.
MODELS = {
    "overspent": (-0.5, 100, 1, -0.5),
    "just_spent": (0, 100, 1, 0),
    "hardly_left": (0.001, 100, 1, None),
    # It was spent, and a little is left again since five or seven hours.
    "a_little_again": (since(5, -0.1, 0.019), 100, 1, 0.019),
    "a_little_after_nothing": (since(5, 0, 0.019), 100, 1, 0.019),
    "a_little_after_little": (since(5, 0.001, 0.019), 100, 1, None),
    "a_little_since_long": (since(7, -0.1, 0.019), 100, 1, None),
    "enough_again": (since(5, -0.1, 0.02), 100, 1, None),
    "much_again": (since(5, -0.1, 0.5), 100, 1, None),
    "five_bad": (-0.5, 5, 1, -0.5),
    "four_bad": (-0.5, 4, 1, None),
    "old_enough": (-0.5, 100, since(72, None, 1), -0.5),
    "too_young": (-0.5, 100, since(71, None, 1), None),
}


def edges():
    """All models, an hour between samples."""
    world, rows = World(minutes=NOW, scrape_seconds=60 * HOUR), []
    for model, (left, bad, budget, said) in MODELS.items():
        own = {"model": model, "slo": "a"}
        world.gauge(LEFT, left, **own).gauge(BAD, bad, **own).gauge(BUDGET, budget, **own)
        rows += [] if said is None else [(own, said)]
    return Case(
        says="a budget is spent until two percent are left, or something for six hours",
        world=world,
        rules=(SPENT,),
        given=(LEFT, BAD, BUDGET),
        checks=(reads(SPENT, NOW, *rows),),
    )


CASES = (edges(),)
