"""Bad requests that burn alerts have reported: those that came while one fired, and those that began it."""

from support.case import Case, reads
from support.simulate import World, of_slo

TIERS = ("fast", "medium", "slow", "long")
BAD = "slo:sli_bad_requests:increase"
# Bad requests of a minute and of the long window, as tiers other than the first read them.
MINUTE, SUSPECTED = "slo:sli_bad_requests:suspected_increase", "slo:sli_bad_requests:suspected"
# Hours of the long window.
HOURS = {"fast": 1, "medium": 6, "slow": 24, "long": 72}


def ratio(tier):
    """The record of what a tier fires for."""
    return f"slo:error_budget_burn_{tier}:ratio"


def told(model, version, value, tier):
    """What was bad of an SLO, as reported by a tier; a model has no version."""
    own = {label: text for label, text in of_slo(model, version).items() if text}
    return ({**own, "burn_tier": tier}, value)


# Subjects with an alert, bad requests of each subject, and what of them was reported.
ALERTS = {
    "model": ({""}, {"": 9, "1": 2, "2": 4}, {"": 9, "1": 2, "2": 4}),
    "version": ({"1"}, {"": 9, "1": 2, "2": 4}, {"1": 2, "": 2}),
    "versions": ({"1", "2"}, {"": 9, "1": 2, "2": 4}, {"1": 2, "2": 4, "": 6}),
    "model_and_version": ({"", "2"}, {"": 9, "1": 2, "2": 4}, {"": 9, "1": 2, "2": 4}),
    "other_slo": (set(), {"": 9, "1": 2}, {}),
    "calm": (set(), {"": 9, "1": 2}, {}),
}


def while_firing(tier):
    """Bad requests that came in the scrape before this one, of subjects with an alert and without."""
    name = f"slo:error_budget_burn_{tier}:bad"
    record, world = BAD if tier == "fast" else MINUTE, World(minutes=11)

    def level(value):
        """The first tier reads the sample of the evaluation before, the others a record of this one."""
        return [(9.75, 70), (10, value), (99, 80)] if tier == "fast" else value

    for model, (firing, bad, _) in ALERTS.items():
        for version in firing:
            world.gauge(ratio(tier), 15, **of_slo(model, version))
        for version, value in bad.items():
            world.gauge(record, level(value), **of_slo(model, version))
    world.gauge(ratio(tier), 15, **of_slo("other_slo") | {"slo": "b"})
    # What fires for a faster tier is reported by that, whichever version it names.
    for one in TIERS[: TIERS.index(tier)]:
        world.gauge(ratio(tier), 15, **of_slo(one)).gauge(record, 5, **of_slo(one))
        world.gauge(ratio(one), 15, **of_slo(one, "3"))
    return Case(
        says=f"{tier}: a model's alert reports its versions, one of versions their part of the model",
        world=world,
        rules=(name,),
        given=(record, *(ratio(one) for one in TIERS)),
        checks=(
            reads(
                name,
                10,
                *(
                    told(model, version, value, tier)
                    for model, (_, _, reported) in ALERTS.items()
                    for version, value in reported.items()
                ),
            ),
        ),
    )


def began(tier):
    """Burns in their first three evaluations, the first of which reports what came before."""
    name, during = (f"slo:error_budget_burn_{tier}:{what}" for what in ("reported", "bad"))
    scrape = 15 if tier == "fast" else 60
    world, step = World(minutes=24, scrape_seconds=scrape), scrape / 60
    # Since when each subject burns, and how many bad requests of the long window it has had at minute 20.
    for model, version, since, bad in (
        ("begins", "", 20, 50),
        ("begins", "1", 20, 30),
        ("joins", "1", 18, 50),
        ("joins", "2", 20, 40),
    ):
        own = of_slo(model, version)
        world.gauge(during, [(since, None), (99, 3)], **own, burn_tier=tier)
        # The first tier sums what came until the evaluation before.
        world.gauge(BAD, [(5, 0), (5 + step, bad - 3), (20 - step, 0), (99, 3)], **own)
        for one in TIERS:
            world.gauge(SUSPECTED, bad if one == tier else 1000, **own, burn_tier=one)
    going_on = [told(model, version, 3, tier) for model, version in (("begins", ""), ("begins", "1"))]
    joined = [told("joins", version, 3, tier) for version in ("1", "2")]
    return Case(
        says=f"{tier}: what was bad before an alert is reported once, when it begins for the first subject",
        world=world,
        rules=(name,),
        given=(BAD, SUSPECTED, during),
        checks=(
            reads(name, 19, told("joins", "1", 3, tier)),
            reads(name, 20, told("begins", "", 50, tier), told("begins", "1", 30, tier), *joined),
            *(reads(name, 20 + after * step, *going_on, *joined) for after in (1, 2, 3)),
        ),
    )


# What was bad and what of it was reported while an alert fired, in 24ths of the long window before now; and
# what is reported now.
STORIES = {
    "for_the_first_time": ({10: 30, 1: 3}, {0: 3}, 33),
    "after_another_window": ({31: 40, 10: 30, 1: 3}, {30: 15, 0: 3}, 33),
    "after_a_pause": ({10: 30, 7: 8, 1: 3}, {6: 8, 0: 3}, 33),
    "more_was_reported": ({7: 8, 1: 3}, {6: 20, 0: 3}, 3),
    "goes_on": ({10: 30, 2: 5, 1: 3}, {1: 5, 0: 3}, 3),
    "after_a_moment": ({10: 30, 3: 5, 1: 3}, {2: 5, 0: 3}, 3),
}


def again(tier):
    """Burns with a past."""
    name, during = (f"slo:error_budget_burn_{tier}:{what}" for what in ("reported", "bad"))
    hours = HOURS[tier]
    step, now = 2.5 * hours, 40 * 2.5 * hours
    world = World(minutes=now, scrape_seconds=hours * 150)

    def moments(values, other):
        """These values, so many steps before now."""
        levels = [
            level
            for ago, value in sorted(values.items(), reverse=True)
            for level in ((now - (ago + 0.5) * step, other), (now - (ago - 0.5) * step, value))
        ]
        return [*levels, (1e9, other)]

    for model, (bad, fired, _) in STORIES.items():
        world.gauge(during, moments(fired, None), **of_slo(model), burn_tier=tier)
        if tier == "fast":
            world.gauge(BAD, moments(bad, 0), **of_slo(model))
        total = sum(value for ago, value in bad.items() if ago <= 24)
        world.gauge(SUSPECTED, total, **of_slo(model), burn_tier=tier)
    return Case(
        says=f"{tier}: an alert that begins again reports what the long window has beyond what was reported",
        world=world,
        rules=(name,),
        given=(BAD, SUSPECTED, during),
        checks=(reads(name, now, *(told(model, "", value, tier) for model, (*_, value) in STORIES.items())),),
    )


CASES = (
    *(while_firing(tier) for tier in TIERS),
    *(began(tier) for tier in TIERS),
    *(again(tier) for tier in TIERS),
)
