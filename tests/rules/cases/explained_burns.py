"""Burns that page, and those that others explain: members, availability, versions, each as it begins.

All subjects of a tier stand side by side in one world, those that have a past in another.
"""

from dataclasses import dataclass

from support.case import Case, reads
from support.simulate import World

OWNER, BUDGET, PROMISED = "subject:tritonobs_owner:info", "slo:error_budget:ratio", "slo:objective:ratio"
COUNTED, CALLS = "slo:tritonobs_counted:info", "pipeline_stage_model:tritonobs_pipeline_calls:held"
NEAR = "slo:error_budget_burn_fast:near"
SUSPECTED, THRESHOLD = "slo:sli_bad_requests:suspected", "slo:error_budget_burn:threshold_ratio"
GIVEN = (OWNER, BUDGET, PROMISED, COUNTED, CALLS)
SCRAPE = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """Its windows in minutes: of the bad requests, and of what burned lately; and how long a burn waits."""

    name: str
    long: int
    lately: int
    wait: float
    faster: tuple[str, ...]
    step_seconds: int

    @property
    def alert(self):
        """The name of its alert."""
        return f"TritonErrorBudgetBurn{self.name.capitalize()}"

    @property
    def tiers(self):
        """Those that have reported before it, and itself."""
        return (*self.faster, self.name)

    @property
    def given(self):
        """What a world brings along."""
        burns = (
            f"slo:error_budget_burn_{tier}:{what}" for tier in self.tiers for what in ("ratio", "reported")
        )
        return (*GIVEN, *burns, *((NEAR,) if not self.faster else (SUSPECTED, THRESHOLD)))

    def subject(self, world, labels, burn, bad, *, tier=None):
        """A subject that burns at these times, by this tier unless said, with so many bad requests."""
        world.gauge(f"slo:error_budget_burn_{tier or self.name}:ratio", burn, **labels)
        world.gauge(BUDGET, 0.01, **labels)
        world.gauge(OWNER, 1, model=labels["model"], version=labels["version"])
        window = {
            "sloth_window": f"{self.long // 60 % 24 or self.long // 1440}{'h' if self.long < 1440 else 'd'}"
        }
        if self.faster:
            world.gauge(SUSPECTED, bad, **labels, burn_tier=self.name)
            world.gauge(THRESHOLD, 10, **labels, burn_tier=self.name, **window)
        else:
            world.gauge(NEAR, bad, **labels, near="bad").gauge(NEAR, 10, **labels, **window)

    def told(self, minute, *models):
        """Exactly these page at this minute."""
        asked = f'count by (model, slo, version) (ALERTS{{alertname="{self.alert}",alertstate="firing"}})'
        rows = (
            ({"model": model, "slo": slo, "version": version}, 1)
            for model, slo, version in sorted(set(models))
        )
        return reads(asked, minute, *rows)


TIERS = (
    Tier(name="fast", long=60, lately=30, wait=SCRAPE, faster=(), step_seconds=15),
    Tier(name="medium", long=360, lately=120, wait=1, faster=("fast",), step_seconds=60),
    Tier(name="slow", long=1440, lately=360, wait=1, faster=("fast", "medium"), step_seconds=300),
    Tier(name="long", long=4320, lately=1440, wait=1, faster=("fast", "medium", "slow"), step_seconds=300),
)
NOW = 5
ALWAYS, BEGINS = 10, [(NOW, None), (999, 10)]
# What burns ten times as fast as it may. By model, SLO and version: since when, and its bad requests.
BURNING = {
    # Of 100 bad requests 10 may be; members account for 95 or for 85.
    ("told_by_members", "a", ""): (ALWAYS, 100),
    ("more_than_members", "a", ""): (ALWAYS, 100),
    ("member", "a", ""): (ALWAYS, 50),
    ("member", "b", ""): (ALWAYS, 20),
    ("member_too", "a", ""): (ALWAYS, 45),
    ("member_of_less", "a", ""): (ALWAYS, 35),
    # It begins while its members have half as many, though they do not burn yet.
    ("begins", "a", ""): (BEGINS, 100),
    ("begins_alone", "a", ""): (BEGINS, 111),
    # Late requests, beside failures: of 54 and of 60, 5.4 and 6 may be.
    ("fails", "availability", ""): (ALWAYS, 50),
    ("fails", "other", ""): (ALWAYS, 20),
    ("fails", "late", ""): (ALWAYS, 54),
    ("fails", "later", ""): (ALWAYS, 60),
    # One that begins where the model has an objective.
    ("version_begins", "a", "1"): (BEGINS, 50),
}
# What does not burn: bad requests.
CALM = {
    ("quiet_member", "a", ""): 30,
    ("quiet_member", "b", ""): 5,
    ("quiet_member_too", "a", ""): 25,
    ("version_begins", "a", ""): 60,
}
MEMBERS = {
    "told_by_members": ("member", "member_too"),
    "more_than_members": ("member", "member_of_less"),
    "begins": ("quiet_member", "quiet_member_too"),
    "begins_alone": ("quiet_member", "quiet_member_too"),
}
EXPLAINED = {("told_by_members", "a", ""), ("fails", "late", "")}
AT_FIRST = {("begins", "a", ""), ("version_begins", "a", "1")}


def now(tier):
    """What burns now, and what others explain of it."""
    world = World(minutes=NOW + tier.wait)
    for (model, slo, version), (since, bad) in BURNING.items():
        tier.subject(world, {"model": model, "slo": slo, "version": version}, since, bad)
    for (model, slo, version), bad in CALM.items():
        tier.subject(world, {"model": model, "slo": slo, "version": version}, None, bad)
    members, pages = dict(MEMBERS), {*BURNING} - EXPLAINED
    # A member that a faster tier told of, or tells of now.
    for faster in tier.faster:
        pipeline, member = f"with_{faster}", f"burns_{faster}"
        tier.subject(world, {"model": pipeline, "slo": "a", "version": ""}, ALWAYS, 100)
        tier.subject(world, {"model": member, "slo": "a", "version": ""}, ALWAYS, 95, tier=faster)
        members[pipeline] = (member,)
        # So do failures of the model itself, of its late requests.
        late = {"model": f"late_{faster}", "version": ""}
        tier.subject(world, {**late, "slo": "late"}, ALWAYS, 100)
        tier.subject(world, {**late, "slo": "availability"}, ALWAYS, 95, tier=faster)
        world.gauge(COUNTED, 1, **late, slo="late", stage="total").gauge(
            COUNTED, 1, **late, slo="availability"
        )
    world.gauge(PROMISED, 0.99, model="version_begins", slo="a")
    called(world, members)
    for slo in ("availability", "other"):
        world.gauge(COUNTED, 1, model="fails", slo=slo)
    for slo in ("late", "later"):
        world.gauge(COUNTED, 1, model="fails", slo=slo, stage="total")
    return Case(
        says=f"{tier.name}: what members or failures explain does not page, nor what only begins with them",
        world=world,
        rules=(tier.alert,),
        given=tier.given,
        checks=(
            tier.told(NOW, *(pages - AT_FIRST)),
            tier.told(NOW + tier.wait - SCRAPE, *(pages - AT_FIRST)),
            tier.told(NOW + tier.wait, *pages),
        ),
    )


def called(world, members):
    """Which pipelines call which models, each in two stages."""
    for pipeline, models in members.items():
        for model in models:
            for stage in ("one", "another"):
                world.gauge(CALLS, 1, pipeline=pipeline, stage=stage, model=model)


def past(tier):
    """What burned or was told within the windows, and before them."""
    step = tier.step_seconds / 60
    end = 2 * tier.long
    lately, before = end - tier.lately + 2 * step, end - 2 * tier.lately
    told_lately, told_before = end - tier.long + 2 * step, end - tier.long - 2 * step
    world, members, pages = World(minutes=end, scrape_seconds=tier.step_seconds), {}, set()

    def burned(model, version, bad, until=None):
        burn = 10 if until is None else [(until, 10), (1e6, None)]
        tier.subject(world, {"model": model, "slo": "a", "version": version}, burn, bad)

    def reported(labels, which, at, bad):
        steps = [(at, None), (at + step, bad), (1e6, None)]
        world.gauge(f"slo:error_budget_burn_{which}:reported", steps, **labels, burn_tier=which)

    # A version burned before; another one lately, with few of the bad requests.
    burned("changed", "", 100)
    burned("changed", "1", 95, before)
    burned("changed", "2", 5, lately)
    pages.add(("changed", "a", ""))
    # A version that has nearly all of them burned lately: the model is not named instead.
    burned("of_a_version", "", 100)
    burned("of_a_version", "1", 95, lately)
    # A version alone, whose model burned before or lately.
    for model, until in (("ended", before), ("ended_lately", lately)):
        burned(model, "", 100, until)
        burned(model, "1", 50)
    pages.add(("ended", "a", "1"))
    for which in tier.tiers:
        for when, at in (("lately", told_lately), ("long_ago", told_before)):
            # A member accounts for 95 of 100, and failures for 95 of 100 late requests.
            pipeline, member, late = (f"{what}_{which}_{when}" for what in ("pipeline", "member", "late"))
            burned(pipeline, "", 100)
            reported({"model": member, "slo": "a"}, which, at, 95)
            members[pipeline] = (member,)
            tier.subject(world, {"model": late, "slo": "late", "version": ""}, 10, 100)
            reported({"model": late, "slo": "availability"}, which, at, 95)
            world.gauge(COUNTED, 1, model=late, slo="late", stage="total")
            world.gauge(COUNTED, 1, model=late, slo="availability")
            if when == "long_ago":
                pages |= {(pipeline, "a", ""), (late, "late", "")}
    # Two tiers together, of which neither would do.
    if tier.faster:
        burned("pipeline", "", 100)
        for which, bad in ((tier.faster[-1], 50), (tier.name, 45)):
            reported({"model": "member", "slo": "a"}, which, told_lately, bad)
        members["pipeline"] = ("member",)
    called(world, members)
    return Case(
        says=f"{tier.name}: what burned or was told within the windows explains, and not what did before",
        world=world,
        rules=(tier.alert,),
        given=tier.given,
        checks=(tier.told(end, *pages),),
    )


CASES = tuple(case for tier in TIERS for case in (now(tier), past(tier)))
