"""What slower tiers compare: SLOs near a threshold, bursts of faster tiers, bad requests of suspects."""

from support.case import Case, reads
from support.simulate import World, of_slo

BUDGET, TIGHTEST = "slo:error_budget:ratio", "cluster:slo_error_budget:min"
OVER, AGAIN = "slo:error_budget_burn:threshold_ratio", "slo:error_budget_burn:threshold_ratio_again"
NEAR, FAST = "slo:error_budget_burn_fast:near", "slo:error_budget_burn_fast:ratio"
BURST, CALLS = "slo:error_budget_burn:burst", "pipeline_stage_model:tritonobs_pipeline_calls:held"
BAD, SAMPLES = "slo:sli_bad_requests:increase", "slo:sli_bad_samples:increase"
SAMPLED = "slo:sli_bad_samples:sampled"
SUSPECTED = "slo:sli_bad_requests:suspected"
SUMS = {
    tier: f"slo:sli_bad_requests:sum{long}"
    for tier, long in (("medium", "6h"), ("slow", "1d"), ("long", "3d"))
}
# The budget of the models here, of the cluster's tightest objective, and of a weak one.
OWN, TIGHT, WEAK = 0.02, 0.01, 0.5
# Shares of bad requests over a window, and their part of the threshold of each tier that reads this window.
# Thresholds are 0.12, 0.06 and 0.02.
SHARES = {
    "medium_long": ("6h", 0.102, {"medium": 0.85, "long": 5.1}),
    "medium_long_below": ("6h", 0.09, {"long": 4.5}),
    "medium_short": ("30m", 0.102, {"medium": 0.85}),
    "medium_short_below": ("30m", 0.09, {}),
    "slow_long": ("1d", 0.051, {"slow": 0.85}),
    "slow_long_below": ("1d", 0.045, {}),
    "slow_short": ("2h", 0.051, {"slow": 0.85}),
    "slow_short_below": ("2h", 0.045, {}),
    "long_long": ("3d", 0.017, {"long": 0.85}),
    "long_long_below": ("3d", 0.015, {}),
    "long_short": ("6h", 0.017, {"long": 0.85}),
    "long_short_below": ("6h", 0.015, {}),
    # A threshold is at most 0.9.
    "weak": ("6h", 0.81, {"medium": 0.9, "long": 1.62}),
}
# The same of the windows of burns that come again.
SHARES_AGAIN = {
    "medium": ("2h", 0.072, {"medium": 0.6}),
    "medium_below": ("2h", 0.048, {}),
    "slow": ("6h", 0.036, {"slow": 0.6}),
    "slow_below": ("6h", 0.024, {}),
    "long": ("1d", 0.012, {"long": 0.6}),
    "long_below": ("1d", 0.008, {}),
    "no_window_near": ("1d", 0.012, {}),
}
WINDOWS = ("30m", "2h", "6h", "1d", "3d")


def near_thresholds(record, shares):
    """SLOs with their share of bad requests over one window each."""
    world = World(minutes=2).gauge(TIGHTEST, TIGHT)
    rows = []
    for model, (window, share, parts) in shares.items():
        world.gauge(BUDGET, WEAK if model == "weak" else OWN, **of_slo(model))
        world.gauge(f"slo:sli_error:ratio_rate{window}", share, **of_slo(model), sloth_window=window)
        for tier, part in parts.items():
            rows.append(({**of_slo(model), "sloth_window": window, "burn_tier": tier}, part))
        if record == AGAIN and model != "no_window_near":
            world.gauge(OVER, 0.9, **of_slo(model), sloth_window="6h", burn_tier="long")
    return Case(
        says=f"SLOs near a threshold are compared with their own, window by window: {record}",
        world=world,
        rules=(record,),
        given=(
            TIGHTEST,
            BUDGET,
            *(f"slo:sli_error:ratio_rate{window}" for window in WINDOWS),
            *([OVER] if record == AGAIN else []),
        ),
        checks=(reads(record, 1, *rows),),
    )


def bursts():
    """What burns in a short window, by more than chance, and what does not for want of one thing."""
    end = 200
    world = World(minutes=end, scrape_seconds=60)
    rows = []
    for tier, short, ago, samples in (
        ("fast", "5m", 10, SAMPLES),
        ("medium", "30m", 45, SAMPLES),
        ("slow", "2h", 180, SAMPLED),
    ):

        def counted(before, now, ago=ago):
            """So many a while before the window, and so many in it."""
            return [(end - ago, 0), (end - ago + 1, before), (end - 2, 0), (end - 1, now), (999, 0)]

        # How many times the threshold, bad requests in the window and before, and samples.
        for what, over, bad, seen in (
            ("burns", 1.1, (5, 0), None),
            ("too_slow", 0.95, (50, 0), None),
            ("chance", 1.1, (4.9, 50), None),
            ("sampled", 1.1, (50, 0), (11, 0)),
            ("sampled_little", 1.1, (50, 0), (9, 50)),
        ):
            own = of_slo(f"{tier}_{what}")
            over_of = (NEAR, {}) if tier == "fast" else (OVER, {"burn_tier": tier})
            world.gauge(over_of[0], over, **own, **over_of[1], sloth_window=short)
            if tier == "fast":
                world.gauge(BAD, counted(bad[1], bad[0]), **own)
            else:
                world.gauge(f"slo:sli_bad_requests:sum{short}", bad[0], **own)
            if seen is not None:
                world.gauge(samples, counted(seen[1], seen[0]), **own)
            if what in {"burns", "sampled"}:
                rows.append(({**own, "burn_tier": tier}, 1))
    return Case(
        says="a short window burns fast enough for its tier where enough bad requests were seen in it",
        world=world,
        rules=(BURST,),
        given=(
            NEAR,
            OVER,
            BAD,
            SAMPLES,
            SAMPLED,
            "slo:sli_bad_requests:sum30m",
            "slo:sli_bad_requests:sum2h",
        ),
        checks=(reads(BURST, end, *rows),),
    )


def suspects():
    """Models that burn, or of which a version nearly does, a member that one of them calls, and others."""
    world = World(minutes=10).gauge(CALLS, 1, pipeline="near", stage="s", model="member")
    world.gauge(CALLS, 1, pipeline="calm", stage="s", model="calm_too")
    world.gauge(OVER, 0.9, **of_slo("near", "1"), sloth_window="6h", burn_tier="long")
    world.gauge(FAST, 15, **of_slo("burns"))
    for model in ("near", "burns", "member", "calm", "calm_too"):
        for times, (_, record) in enumerate(SUMS.items(), 1):
            world.gauge(record, 7 * times, **of_slo(model))
    there = ("near", "burns", "member")
    return Case(
        says="bad requests of each long window are told of models near a threshold and of their members",
        world=world,
        rules=(SUSPECTED,),
        given=(*SUMS.values(), OVER, FAST, CALLS),
        checks=(
            reads(
                SUSPECTED,
                9,
                *(
                    ({**of_slo(model), "burn_tier": tier}, 7 * times)
                    for model in there
                    for times, tier in enumerate(SUMS, 1)
                ),
            ),
        ),
    )


def recent():
    """Bad requests of a suspect by the scrape in which they came, and of another model."""
    world = World(minutes=10)
    for model, levels in (
        ("now", [(6.5, 90), (6.75, 3), (7.75, 0), (8, 0.5), (99, 40)]),
        ("before", [(7, 0), (7.25, 6), (99, 0)]),
        ("calm", 5),
    ):
        world.gauge(BAD, levels, **of_slo(model))
    for model in ("now", "before"):
        world.gauge(SUSPECTED, 9, **of_slo(model), burn_tier="long")
    increase, fresh = f"{SUSPECTED}_increase", f"{SUSPECTED}_fresh"
    return Case(
        says="bad requests of a suspect are summed over a minute, and fresh for two scrapes",
        world=world,
        rules=(increase, fresh),
        given=(BAD, SUSPECTED),
        checks=(
            reads(increase, 7.5, (of_slo("now"), 3), (of_slo("before"), 6)),
            reads(increase, 8, (of_slo("now"), 0.5), (of_slo("before"), 6)),
            reads(increase, 8.25, (of_slo("now"), 40.5), (of_slo("before"), 0)),
            reads(fresh, 7.75, (of_slo("now"), 1)),
        ),
    )


CASES = (
    near_thresholds(OVER, SHARES),
    near_thresholds(AGAIN, SHARES_AGAIN),
    bursts(),
    suspects(),
    recent(),
)
