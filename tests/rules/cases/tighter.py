"""Which subject of a burn is told, the model or a version of it, each SLO apart; and one tier at a time."""

from support.case import Case, fires, reads, silent
from support.simulate import World

OWNER, BUDGET = "subject:tritonobs_owner:info", "slo:error_budget:ratio"
TIERS = ("fast", "medium", "slow", "long")
# Bad requests of the long window, as the alert of the tier reads them.
BAD = {tier: ("slo:sli_bad_requests:suspected", {"burn_tier": tier}) for tier in TIERS}
BAD["fast"] = ("slo:error_budget_burn_fast:near", {"near": "bad"})
PROMISED, CALLS = "slo:objective:ratio", "pipeline_stage_model:tritonobs_pipeline_calls:held"
MODEL, FIRST, SECOND = "", "1", "2"
# Burns of the model and of its versions, with their bad requests in the long window, and who of them is told.
INCIDENTS = {
    "alone": ({MODEL: (3, 100)}, {MODEL}),
    "one_of_several": ({MODEL: (3, 100), FIRST: (4, 80)}, {MODEL}),
    "nearly_all": ({MODEL: (3, 100), FIRST: (4, 95)}, {FIRST}),
    "only_one": ({MODEL: (3, 100), FIRST: (3, 100)}, {FIRST}),
    "worst_of_two": ({MODEL: (3, 100), FIRST: (2, 30), SECOND: (5, 70)}, {MODEL}),
    "both": ({MODEL: (3, 100), FIRST: (4, 45), SECOND: (5, 55)}, {MODEL}),
    "first": ({FIRST: (4, 100)}, {FIRST}),
    "versions": ({FIRST: (4, 60), SECOND: (5, 40)}, {FIRST, SECOND}),
}


def incidents(tier, *, minutes=4):
    """Every incident as the SLO `a` of a model of its name, and as the SLO `b` of a model of another's."""
    world = World(minutes=minutes)
    owned = set()
    told = []
    for slo, models in (("a", tuple(INCIDENTS)), ("b", tuple(reversed(INCIDENTS)))):
        for model, (burns, subjects) in zip(models, INCIDENTS.values(), strict=True):
            for version, (burn, bad) in burns.items():
                labels = {"model": model, "version": version, "slo": slo}
                world.gauge(f"slo:error_budget_burn_{tier}:ratio", burn, **labels)
                record, only = BAD[tier]
                world.gauge(BUDGET, 0.01, **labels).gauge(record, bad, **labels, **only)
                owned.add((model, version))
            told += [({"model": model, "version": subject, "slo": slo}, 1) for subject in sorted(subjects)]
    for model, version in sorted(owned):
        world.gauge(OWNER, 1, model=model, version=version)
    return world, told


def one_subject(tier):
    """Whom the alert of a tier names, incident by incident."""
    alert = f"TritonErrorBudgetBurn{tier.capitalize()}"
    world, told = incidents(tier)
    asked = f'count by (model, version, slo) (ALERTS{{alertname="{alert}",alertstate="firing"}})'
    return Case(
        says=f"{tier}: a model is told, unless one version has nearly all of its bad requests",
        world=world,
        rules=(alert,),
        given=(
            OWNER,
            BUDGET,
            *(f"slo:error_budget_burn_{tier}:ratio" for tier in TIERS),
            *(f"slo:sli_error:ratio_rate{window}" for window in ("5m", "30m", "1h", "2h", "6h", "1d", "3d")),
            "slo:period_error_budget_remaining:ratio",
            *(f"slo:error_budget_burn_{tier}:reported" for tier in TIERS),
            *(record for record, _ in BAD.values()),
            PROMISED,
            CALLS,
        ),
        checks=(reads(asked, 3, *told),),
    )


FAST, MEDIUM = (f"slo:error_budget_burn_{tier}:ratio" for tier in ("fast", "medium"))
NMS, SLO = {"model": "nms"}, {"model": "nms", "slo": "a"}
ALERT = "TritonErrorBudgetBurnMedium"

CASES = (
    *(one_subject(tier) for tier in TIERS),
    Case(
        says="what paged as a fast burn pages as a medium one only half an hour after the fast one is over",
        world=World(minutes=90)
        .gauge(OWNER, 1, **NMS)
        .gauge(OWNER, 1, **NMS, version="1")
        .gauge(BUDGET, 0.01, **SLO)
        .gauge(BUDGET, 0.01, **SLO | {"slo": "b"})
        .gauge(MEDIUM, 7, **SLO)
        .gauge(MEDIUM, [(80, None), (99, 7)], **SLO | {"slo": "b"})
        .gauge(FAST, [(20, None), (30, 15), (99, None)], **SLO, version="1"),
        rules=(ALERT,),
        given=(
            OWNER,
            BUDGET,
            FAST,
            MEDIUM,
            *(f"slo:sli_error:ratio_rate{window}" for window in ("5m", "30m", "6h")),
            "slo:period_error_budget_remaining:ratio",
            *(f"slo:error_budget_burn_{tier}:reported" for tier in TIERS),
            *(record for record, _ in BAD.values()),
            PROMISED,
            CALLS,
        ),
        checks=(
            fires(ALERT, 19, severity="critical", burn_tier="medium", **SLO),
            silent(ALERT, 59, since=20),
            fires(ALERT, 61, severity="critical", burn_tier="medium", **SLO),
            fires(ALERT, 79, severity="critical", burn_tier="medium", **SLO),
        ),
    ),
)
