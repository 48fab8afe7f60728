"""Budgets that are spent, and whose message that is: that of members, of availability, or of a version.

All subjects stand side by side in one world, which is as long as the message waits.
"""

from support.case import Case, absent, reads
from support.simulate import World

ALERT = "TritonErrorBudgetExhausted"
SPENT, BURNED = "slo:period_error_budget_spent:ratio", "slo:period_error_budget_spent:burn_rate"
BAD, RATIO = "slo:sli_bad_requests:sum30d", "slo:sli_error:ratio_rate30d"
OWNER, BUDGET = "subject:tritonobs_owner:info", "slo:error_budget:ratio"
COUNTED, CALLS = "slo:tritonobs_counted:info", "pipeline_stage_model:tritonobs_pipeline_calls:held"
QUOTED = ("slo:period_error_budget_remaining:ratio", "slo:time_to_exhaustion:seconds")
GIVEN = (SPENT, BURNED, BAD, RATIO, OWNER, BUDGET, COUNTED, CALLS, *QUOTED)
WAIT, SCRAPE = 10, 0.25
# One in a hundred requests may be bad, and twice as many were: half of the bad requests are allowed.
BUDGET_RATIO, ERROR_RATIO = 0.01, 0.02
# Spent budgets, by model, SLO and version: bad requests.
EXHAUSTED = {
    # Of 100 bad requests 50 are too many; members account for 51 of them, or for 49.
    ("of_members", "a", ""): 100,
    ("more_than_members", "a", ""): 100,
    ("member", "a", ""): 30,
    ("member", "b", ""): 10,
    ("member_too", "a", ""): 21,
    ("member_of_less", "a", ""): 19,
    # Others in its pipeline have budget left.
    ("of_calm_members", "a", ""): 100,
    # Of 9 bad requests 5 are too few to be told, and a member accounts for the 4 others, or for 3 of them.
    ("few", "a", ""): 8,
    ("few_more", "a", ""): 9,
    ("member_of_few", "a", ""): 4,
    # Late requests, beside failures: of 98 and of 102, 49 and 51 are too many.
    ("fails", "availability", ""): 50,
    ("fails", "other", ""): 20,
    ("fails", "late", ""): 98,
    ("fails", "later", ""): 102,
    # Failures of a model explain nothing of its version, nor failures or late requests each other.
    ("fails_elsewhere", "availability", ""): 100,
    ("fails_elsewhere", "late", "1"): 98,
    ("fails_twice", "availability", ""): 100,
    ("fails_twice", "other", ""): 98,
    ("late_only", "late", ""): 98,
    ("late_only", "later", ""): 100,
    # Its failures have budget left.
    ("fails_little", "late", ""): 98,
    # 90 and 89 of 100 are of one version.
    ("of_a_version", "a", ""): 100,
    ("of_a_version", "a", "1"): 90,
    ("of_a_version", "a", "2"): 10,
    ("of_versions", "a", ""): 100,
    ("of_versions", "a", "1"): 89,
    ("of_versions", "a", "2"): 11,
    # The version with nearly all bad requests has budget left.
    ("of_a_calm_version", "a", ""): 100,
    # The model has budget left, or no objective.
    ("of_a_calm_model", "a", "1"): 50,
    ("version_alone", "a", "1"): 50,
}
# Budgets that are not spent: bad requests.
CALM = {
    ("calm_member", "a", ""): 90,
    ("fails_little", "availability", ""): 90,
    ("of_a_calm_version", "a", "1"): 95,
    ("of_a_calm_model", "a", ""): 100,
}
# Nothing burned while this was spent.
NEVER_BURNED = {("reached_its_age", "a", ""): 100}
MEMBERS = {
    "of_members": ("member", "member_too"),
    "more_than_members": ("member", "member_of_less"),
    "of_calm_members": ("calm_member",),
    "few": ("member_of_few",),
    "few_more": ("member_of_few",),
}
FAILURES = {
    ("fails", "availability", ""),
    ("fails", "other", ""),
    ("fails_little", "availability", ""),
    ("fails_twice", "availability", ""),
    ("fails_twice", "other", ""),
    ("fails_elsewhere", "availability", ""),
}
LATE = {
    ("fails", "late", ""),
    ("fails", "later", ""),
    ("fails_elsewhere", "late", "1"),
    ("fails_little", "late", ""),
    ("late_only", "late", ""),
    ("late_only", "later", ""),
}
EXPLAINED = {
    ("of_members", "a", ""),
    ("few", "a", ""),
    ("fails", "late", ""),
    ("of_a_version", "a", ""),
    ("of_a_version", "a", "2"),
    ("of_versions", "a", "1"),
    ("of_versions", "a", "2"),
}


def spent():
    """Every subject, and who calls whom."""
    world = World(minutes=WAIT)
    for (model, slo, version), bad in (EXHAUSTED | CALM | NEVER_BURNED).items():
        subject = {"model": model, "version": version}
        own = {**subject, "slo": slo}
        world.gauge(BAD, bad, **own).gauge(BUDGET, BUDGET_RATIO, **own).gauge(OWNER, 1, **subject)
        world.gauge(RATIO, ERROR_RATIO, **own, sloth_window="30d")
        if (model, slo, version) not in CALM:
            world.gauge(SPENT, 1 - ERROR_RATIO / BUDGET_RATIO, **own)
        if (model, slo, version) in EXHAUSTED:
            world.gauge(BURNED, 2, **own)
    for which, stage in ((FAILURES, ""), (LATE, "total")):
        for model, slo, version in which:
            world.gauge(COUNTED, 1, model=model, slo=slo, version=version, stage=stage)
    for pipeline, models in MEMBERS.items():
        for model in models:
            for stage in ("one", "another"):
                world.gauge(CALLS, 1, pipeline=pipeline, stage=stage, model=model)
    told = f'count by (model, slo, version) (ALERTS{{alertname="{ALERT}",alertstate="firing"}})'
    rows = (
        ({"model": model, "slo": slo, "version": version}, 1)
        for model, slo, version in sorted({*EXHAUSTED} - EXPLAINED)
    )
    return Case(
        says="a spent budget is told once: not where that of members, availability or a version says it",
        world=world,
        rules=(ALERT,),
        given=GIVEN,
        checks=(reads(told, WAIT, *rows), absent(told, WAIT - SCRAPE)),
    )


CASES = (spent(),)
