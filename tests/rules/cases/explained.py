"""What faster tiers have reported explains a burn of a slower one, unless the rest alone would burn, too."""

from support.case import Case, reads
from support.simulate import World, of_slo

OVER, AGAIN = "slo:error_budget_burn:threshold_ratio", "slo:error_budget_burn:threshold_ratio_again"
SUSPECTED, FRESH = "slo:sli_bad_requests:suspected", "slo:sli_bad_requests:suspected_fresh"
BURST, BUDGET = "slo:error_budget_burn:burst", "slo:error_budget:ratio"
SAMPLES = "slo:sli_bad_samples:sampled"
NAMES = ("fast", "medium", "slow", "long")
# Hours of the long window, the windows as Prometheus writes them (long, short, of what comes again), and in
# 24ths of the long window: how long a burn that comes again is remembered, and how old an SLO must be.
TIERS = {
    "medium": (6, "6h", "30m", "2h", 96, 0),
    "slow": (24, "1d", "2h", "6h", 72, 12),
    "long": (72, "3d", "6h", "1d", 56, 8),
}
# Now, in 24ths of the long window.
NOW = 110
# Bad requests of the long window, which is at twice its threshold or four times it.
BAD, TWICE, FOUR_TIMES = 100, 2, 4


class Fleet:
    """Models with a burn of one tier, and what faster tiers have reported of them."""

    def __init__(self, tier):
        hours, self.long, self.short, self.again, *_ = TIERS[tier]
        self.tier, self.faster = tier, NAMES[: NAMES.index(tier)]
        self.step = 2.5 * hours
        self.now = NOW * self.step
        self.world = World(minutes=self.now, scrape_seconds=hours * 150)
        self.models: set[str] = set()

    def at(self, ago, value):
        """A level that is this value so many steps before now, and nothing else."""
        begin, end = (self.now - (ago + part) * self.step for part in (0.5, -0.5))
        return [(begin, None), (end, value), (1e9, None)]

    def burns(self, model, over=TWICE, bad=BAD, short=TWICE):
        """A model of which both windows exceed their thresholds so many times."""
        self.models.add(model)
        own = of_slo(model) | {"burn_tier": self.tier}
        self.world.gauge(OVER, over, **own, sloth_window=self.long)
        self.world.gauge(OVER, short, **own, sloth_window=self.short)
        return self.world.gauge(SUSPECTED, bad, **own)

    def reported(self, model, value, tier, ago=1):
        """What a faster tier has reported, in parts of which the last came so many steps before now."""
        begin, end = (self.now - (ago + part) * self.step for part in (1.5, -0.5))
        level = [(begin, None), (end, value / 2), (1e9, None)]
        self.world.gauge(f"slo:error_budget_burn_{tier}:reported", level, **of_slo(model), burn_tier=tier)

    def explain(self, part):
        """Burns that are explained and burns that are not, each by its name; returns the latter.

        The rest burns while it is as much as this part of the threshold would be.
        """
        much = BAD - part * BAD / TWICE
        self.burns("unreported")
        there = {"unreported"}
        for tier in self.faster:
            for model, value, ago in (
                ("nearly", much - 1, 1),
                ("enough", much + 1, 1),
                ("before", much + 1, 25),
            ):
                name = f"{model}_{tier}"
                self.burns(name)
                self.reported(name, value, tier, ago)
                there |= {name} - {f"enough_{tier}"}
        # Of eight bad requests two would be the threshold: fewer than five are chance, whatever is reported.
        for model, value in (("four_left", 4), ("six_left", 2)):
            self.burns(model, over=FOUR_TIMES, bad=8)
            self.reported(model, value, self.faster[-1])
            there |= {model} - {"four_left"}
        if len(self.faster) > 1:
            self.burns("together")
            for tier in self.faster:
                self.reported("together", (much + 1) / len(self.faster), tier)
        return there


def records(tier, *names):
    """Records of the tiers up to this one."""
    return [f"slo:error_budget_burn_{one}:{name}" for one in NAMES[: NAMES.index(tier) + 1] for name in names]


def begins(tier):
    """Burns that may begin: with a bad request, of enough, of an SLO that is old enough."""
    fleet = Fleet(tier)
    there = fleet.explain(1)
    fleet.burns("five", bad=5)
    fleet.burns("four", bad=4.9)
    fleet.burns("young")
    fleet.burns("old_enough")
    world, age = fleet.world, TIERS[tier][-1]
    there |= {"five", "old_enough"} | (set() if age else {"young"})
    since = {"old_enough": age + 1, "young": age - 1}
    for model in sorted(fleet.models):
        begin = fleet.now - (since.get(model, NOW) + 0.5) * fleet.step
        world.gauge(BUDGET, [(begin, None), (1e9, 0.01)], **of_slo(model)).gauge(FRESH, 1, **of_slo(model))
    name = f"slo:error_budget_burn_{tier}:begun"
    return Case(
        says=f"{tier}: a burn begins unless faster tiers reported it, in its window and all together",
        world=world,
        rules=(name,),
        given=(OVER, SUSPECTED, FRESH, BURST, BUDGET, SAMPLES, *records(tier, "reported", "ratio")),
        checks=(
            reads(
                f"count by (model) ({name})", fleet.now, *(({"model": model}, 1) for model in sorted(there))
            ),
        ),
    )


def goes_on(tier):
    """Burns that go on while the short window burns, and burns that came again and go on a while longer."""
    fleet = Fleet(tier)
    there = fleet.explain(0.8)
    world, share, lately = fleet.world, f"slo:sli_error:ratio_rate{fleet.long}", TIERS[tier][-2]
    for model in sorted(fleet.models):
        world.gauge(f"slo:error_budget_burn_{tier}:begun", fleet.at(0, TWICE), **of_slo(model))
    # The window of what comes again, in parts of its threshold, and the steps before now at which it began.
    for model, part, begun in (
        ("again", 0.6, (5, 1)),
        ("again_and_calm", 0.4, (5, 1)),
        ("once", 0.6, (1,)),
        ("again_since_long", 0.6, (lately - 1, 1)),
        ("again_after_long", 0.6, (lately + 1, 1)),
    ):
        fleet.burns(model, short=0.6)
        own = of_slo(model) | {"burn_tier": tier}
        world.gauge(AGAIN, part, **own, sloth_window=fleet.again)
        levels = [level for ago in begun for level in fleet.at(ago, TWICE)[:-1]]
        world.gauge(f"slo:error_budget_burn_{tier}:begins", [*levels, (1e9, None)], **of_slo(model))
    there |= {"again", "again_since_long"}
    for model in sorted(fleet.models):
        world.gauge(BUDGET, 0.01, **of_slo(model)).gauge(share, 0.5, **of_slo(model), sloth_window=fleet.long)
    name = f"slo:error_budget_burn_{tier}:ratio"
    given = {*records(tier, "reported", "ratio", "begun", "begins")} - {name}
    return Case(
        says=f"{tier}: a burn goes on unless faster tiers reported it, and longer where it came again lately",
        world=world,
        rules=(name,),
        given=(OVER, AGAIN, SUSPECTED, BUDGET, share, *sorted(given)),
        checks=(reads(name, fleet.now, *((of_slo(model), 50) for model in sorted(there))),),
    )


CASES = (
    *(begins(tier) for tier in TIERS),
    *(goes_on(tier) for tier in TIERS),
)
