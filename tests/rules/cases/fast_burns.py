"""Fast burns that page, and those that others explain: members, availability, versions, each as it begins."""

from support.case import Case, reads
from support.simulate import World

OWNER, BUDGET, PROMISED = "subject:tritonobs_owner:info", "slo:error_budget:ratio", "slo:objective:ratio"
BURNS, NEAR = "slo:error_budget_burn_fast:ratio", "slo:error_budget_burn_fast:near"
REPORTED, COUNTED = "slo:error_budget_burn_fast:reported", "slo:tritonobs_counted:info"
CALLS, ALERT = "pipeline_stage_model:tritonobs_pipeline_calls:held", "TritonErrorBudgetBurnFast"
NOW, LONG_AGO, LATELY = 130, 60, 10
ALWAYS, BEGINS = 1, [(NOW, None), (999, 1)]
# What burns ten times as fast as it may. By model, SLO and version: since when, bad requests of the hour.
BURNING = {
    # Of 100 bad requests 10 may be; members account for 95 or for 85.
    ("told_by_members", "a", ""): (ALWAYS, 100),
    ("more_than_members", "a", ""): (ALWAYS, 100),
    ("member", "a", ""): (ALWAYS, 50),
    ("member", "b", ""): (ALWAYS, 20),
    ("member_too", "a", ""): (ALWAYS, 45),
    ("member_of_less", "a", ""): (ALWAYS, 35),
    # A member was reported by two tiers within the hour, or long ago.
    ("told_lately", "a", ""): (ALWAYS, 60),
    ("told_long_ago", "a", ""): (ALWAYS, 60),
    # It begins while its members have half as many, though they do not burn yet.
    ("begins", "a", ""): (BEGINS, 100),
    ("begins_alone", "a", ""): (BEGINS, 111),
    # Late requests, beside failures: of 54 and of 60, 5.4 and 6 may be.
    ("fails", "availability", ""): (ALWAYS, 50),
    ("fails", "other", ""): (ALWAYS, 20),
    ("fails", "late", ""): (ALWAYS, 54),
    ("fails", "later", ""): (ALWAYS, 60),
    ("failed_lately", "late", ""): (ALWAYS, 60),
    ("failed_long_ago", "late", ""): (ALWAYS, 60),
    # A version burned an hour ago; another one lately, with few of the bad requests.
    ("changed", "a", ""): (ALWAYS, 100),
    ("changed", "a", "1"): ([(NOW - 60, 1), (999, None)], 95),
    ("changed", "a", "2"): ([(NOW - LATELY, 1), (999, None)], 5),
    # A version alone, whose model burned an hour ago; and one that begins where the model has an objective.
    ("ended", "a", ""): ([(NOW - 60, 1), (999, None)], 100),
    ("ended", "a", "1"): (ALWAYS, 50),
    ("version_begins", "a", "1"): (BEGINS, 50),
}
# What does not burn: bad requests of the hour.
CALM = {
    ("quiet_member", "a", ""): 30,
    ("quiet_member", "b", ""): 5,
    ("quiet_member_too", "a", ""): 25,
    ("version_begins", "a", ""): 60,
}
MEMBERS = {
    "told_by_members": ("member", "member_too"),
    "more_than_members": ("member", "member_of_less"),
    "told_lately": ("reported",),
    "told_long_ago": ("reported_long_ago",),
    "begins": ("quiet_member", "quiet_member_too"),
    "begins_alone": ("quiet_member", "quiet_member_too"),
}
# Bad requests that tiers reported, at a minute.
TOLD = {
    ("reported", "fast"): (NOW - LATELY, 30),
    ("reported", "medium"): (NOW - LATELY, 25),
    ("reported_long_ago", "fast"): (NOW - 100, 100),
    ("failed_lately", "fast"): (NOW - LATELY, 30),
    ("failed_lately", "medium"): (NOW - LATELY, 25),
    ("failed_long_ago", "fast"): (NOW - 100, 100),
}
AVAILABILITY = {"fails": ("availability", "other"), "failed_lately": ("a",), "failed_long_ago": ("a",)}
LATENCY = {"fails": ("late", "later"), "failed_lately": ("late",), "failed_long_ago": ("late",)}
SILENT = {
    ("told_by_members", "a", ""),
    ("told_lately", "a", ""),
    ("fails", "late", ""),
    ("failed_lately", "late", ""),
}
OVER = {("changed", "a", "1"), ("changed", "a", "2"), ("ended", "a", "")}
AT_FIRST = {("begins", "a", ""), ("version_begins", "a", "1")}


def fleet():
    """All of them side by side."""
    world = World(minutes=NOW + 1)
    for model, slo, version in {**BURNING, **CALM}:
        labels = {"model": model, "version": version, "slo": slo}
        since, bad = BURNING.get((model, slo, version), (None, CALM.get((model, slo, version))))
        burn = [(at, one and 10) for at, one in since] if isinstance(since, list) else since and 10
        world.gauge(BURNS, burn, **labels).gauge(BUDGET, 0.01, **labels)
        world.gauge(NEAR, bad, **labels, near="bad").gauge(NEAR, 10, **labels, sloth_window="1h")
        world.gauge(OWNER, 1, model=model, version=version)
    world.gauge(PROMISED, 0.99, model="version_begins", slo="a")
    for pipeline, members in MEMBERS.items():
        for member in members:
            for stage in ("one", "another"):
                world.gauge(CALLS, 1, pipeline=pipeline, stage=stage, model=member)
    for (model, tier), (at, bad) in TOLD.items():
        world.gauge(
            REPORTED, [(at, None), (at + 0.25, bad), (999, None)], model=model, slo="a", burn_tier=tier
        )
    for slos, stage in ((AVAILABILITY, {}), (LATENCY, {"stage": "total"})):
        for model, those in slos.items():
            for slo in those:
                world.gauge(COUNTED, 1, model=model, slo=slo, **stage)
    return world


def told(minute, without=frozenset()):
    """Who pages at this minute."""
    asked = f'count by (model, slo, version) (ALERTS{{alertname="{ALERT}",alertstate="firing"}})'
    rows = (
        ({"model": model, "slo": slo, "version": version}, 1)
        for model, slo, version in BURNING
        if (model, slo, version) not in SILENT | OVER | without
    )
    return reads(asked, minute, *rows)


CASES = (
    Case(
        says="fast: what members or failures explain does not page, nor what only begins with them",
        world=fleet(),
        rules=(ALERT,),
        given=(OWNER, BUDGET, PROMISED, BURNS, NEAR, REPORTED, COUNTED, CALLS),
        checks=(told(NOW, AT_FIRST), told(NOW + 0.25), told(NOW + 0.5)),
    ),
)
