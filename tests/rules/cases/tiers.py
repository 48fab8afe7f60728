"""When a burn begins, goes on and ends: shares, counts, samples and pauses, from records of them."""

from support.case import Case, reads
from support.simulate import World

BUDGET, TIGHTEST = "slo:error_budget:ratio", "cluster:slo_error_budget:min"
BAD, SAMPLES = "slo:sli_bad_requests:increase", "slo:sli_bad_samples:increase"
BEGINS, FAST = "slo:error_budget_burn_fast:begins", 14.4
CALLS = "pipeline_stage_model:tritonobs_pipeline_calls:held"
TARGETS = "subject_slo:tritonobs_latency_target_seconds:held"
OWN, TIGHT = 0.02, 0.01
# Name, factor, hours of the long window, long and short window, what the long window is summed of.
TIERS = (
    ("fast", FAST, 1, "1h", "5m", "increase"),
    ("medium", 6, 6, "6h", "30m", "sampled"),
    ("slow", 3, 24, "1d", "2h", "sampled"),
    ("long", 1, 72, "3d", "6h", "sampled"),
)
# How many minutes an SLO must be old.
AGES = {"slow": 720, "long": 1440}
MINUTES = {"5m": 5, "30m": 30, "2h": 120, "6h": 360}


def slo(model):
    """The only SLO of a model."""
    return {"model": model, "slo": "a"}


def fleet(minutes, scrape_seconds=15):
    """A cluster whose tightest budget is half of what the models here have."""
    return World(minutes=minutes, scrape_seconds=scrape_seconds).gauge(TIGHTEST, TIGHT)


def share(world, model, window, level):
    """The share of bad requests over a window."""
    return world.gauge(f"slo:sli_error:ratio_rate{window}", level, **slo(model), sloth_window=window)


def there(record, minute, *models):
    """The record has a row of exactly these models."""
    return reads(f"count by (model) ({record})", minute, *(({"model": model}, 1) for model in models))


def begins(tier):
    """What begins to burn, and what does not for want of one thing."""
    name, factor, _, long, short, summed = tier
    limit = factor * OWN
    between = factor * (OWN + TIGHT) / 2
    total, samples = f"slo:sli_bad_requests:sum{long}", f"slo:sli_bad_samples:{summed}"
    age = AGES.get(name, 0)
    world = fleet(10 + age)
    # The fast tier sums the bad requests of its long window itself: of 41 scrapes.
    own_sum = name == "fast"

    def late(level):
        """Nothing until the last ten minutes."""
        steps = level if isinstance(level, list) else [(99, level)]
        return [(age, None), *((age + until, value) for until, value in steps)] if age else steps

    # Shares of both windows, bad requests of the long one and of each scrape, samples of each scrape.
    for model, shares, bad, last, seen in (
        ("burns", (1.05 * limit, 1.05 * limit), 5, 0.3, None),
        ("too_slow", (between, 1.05 * limit), 50, 1, None),
        ("over", (1.05 * limit, between), 50, 1, None),
        ("chance", (2 * limit, 2 * limit), 4.9, 1, None),
        ("sampled", (2 * limit, 2 * limit), 50, 1, 0.3),
        ("sampled_little", (2 * limit, 2 * limit), 50, 1, 0.2),
        ("pauses", (2 * limit, 2 * limit), 50, [(9, 1), (99, 0)], None),
        *([("young", (2 * limit, 2 * limit), 50, 1, None)] if age else []),
    ):
        promised = [(15, None), (1e9, OWN)] if model == "young" else OWN
        world.gauge(BUDGET, promised, **slo(model))
        if own_sum:
            world.gauge(
                BAD, [(9, bad / 41), (99, 0)] if model == "pauses" else 1.0001 * bad / 41, **slo(model)
            )
        else:
            world.gauge(total, late(bad), **slo(model)).gauge(BAD, late(last), **slo(model))
        for window, level in zip((long, short), shares, strict=True):
            share(world, model, window, late(min(level, 0.95)))
        if seen is not None:
            world.gauge(samples, late(seen), **slo(model))
    record = f"slo:error_budget_burn_{name}:begun"
    return Case(
        says=f"{name}: a burn begins with a bad request, where both windows burn and enough were seen",
        world=world,
        rules=(record,),
        given=(BUDGET, TIGHTEST, BAD, SAMPLES, *(() if own_sum else (total,)), samples, *SHARES),
        checks=(there(record, 10 + age, "burns", "sampled"),),
    )


def old_samples(tier):
    """Many samples of bad requests before the long window, few in it."""
    name, factor, hours, long, short, summed = tier
    total, samples = f"slo:sli_bad_requests:sum{long}", f"slo:sli_bad_samples:{summed}"
    world = fleet(3 * hours * 60, hours * 150)
    for model, before, now in (("seen_now", 0.1, 0.6), ("seen_before", 2, 0.3)):
        world.gauge(BUDGET, OWN, **slo(model)).gauge(BAD, 1, **slo(model))
        if name != "fast":
            world.gauge(total, 50, **slo(model))
        world.gauge(samples, [(1.9 * hours * 60, before), (1e9, now)], **slo(model))
        for window in (long, short):
            share(world, model, window, min(2 * factor * OWN, 0.95))
    record = f"slo:error_budget_burn_{name}:begun"
    return Case(
        says=f"{name}: samples from before the long window are none of this burn",
        world=world,
        rules=(record,),
        given=(BUDGET, TIGHTEST, BAD, SAMPLES, *(() if name == "fast" else (total,)), samples, *SHARES),
        checks=(there(record, 3 * hours * 60, "seen_now"),),
    )


def faster():
    """Medium burns, of which the last five minutes are those of a fast one, or hardly."""
    total, world = "slo:sli_bad_requests:sum6h", fleet(25)
    fast, slow = 1.05 * FAST * OWN, FAST * (OWN + TIGHT) / 2
    # The share of five minutes, bad requests of each scrape then and before, samples of each scrape.
    for model, five, bad, before, seen in (
        ("fast", fast, 0.35, 0, None),
        ("six_hours_before", fast, 0.35, 0, None),
        ("too_slow", slow, 1, 1, None),
        ("chance", fast, 0.2, 1, None),
        ("sampled", fast, 1, 1, [(99, 0.6)]),
        ("sampled_little", fast, 1, 1, [(19, 2), (99, 0.4)]),
    ):
        world.gauge(BUDGET, OWN, **slo(model)).gauge(total, 50, **slo(model))
        world.gauge(BAD, [(19, before), (99, bad)], **slo(model))
        # What had burned for six hours before the last minutes is not left to a faster tier.
        long = 0.9 if model == "six_hours_before" else [(19, 0), (99, 0.9)]
        for window, level in (("6h", long), ("30m", 0.9), ("5m", five)):
            share(world, model, window, level)
        if seen is not None:
            world.gauge(SAMPLES, seen, **slo(model)).gauge("slo:sli_bad_samples:sampled", 1, **slo(model))
    record = "slo:error_budget_burn_medium:begun"
    return Case(
        says="a medium burn does not begin where a fast one does, by share, count and samples",
        world=world,
        rules=(record,),
        given=(BUDGET, TIGHTEST, BAD, SAMPLES, total, "slo:sli_bad_samples:sampled", *SHARES),
        checks=(there(record, 25, "six_hours_before", "too_slow", "chance", "sampled_little"),),
    )


def goes_on(tier):
    """What goes on to burn: what does so in both windows, and began within the short one."""
    name, factor, _, long, short, _ = tier
    limit, between = min(1.05 * factor * OWN, 0.95), factor * (OWN + TIGHT) / 2
    length = MINUTES[short]
    world = fleet(2 * length, length * 3)
    begun = f"slo:error_budget_burn_{name}:begun"
    for model, shares, began in (
        ("burns", (limit, limit), 1.5),
        ("began_before", (limit, limit), 0.5),
        ("too_slow", (between, limit), 1.5),
        ("over", (limit, between), 1.5),
    ):
        world.gauge(BUDGET, OWN, **slo(model))
        world.gauge(begun, [(began * length, None), (1.1 * began * length, 7), (1e9, None)], **slo(model))
        for window, level in zip((long, short), shares, strict=True):
            share(world, model, window, level)
    record = f"slo:error_budget_burn_{name}:ratio"
    return Case(
        says=f"{name}: a burn goes on while both windows burn, for as long as the short one after it began",
        world=world,
        rules=(record,),
        given=(BUDGET, TIGHTEST, begun, *SHARES),
        checks=(there(record, 2 * length, "burns"),),
    )


def begins_once(name, length):
    """A burn that begins at minute 10, after a pause within the short window, and after a longer one."""
    record, soon, later = f"slo:error_budget_burn_{name}:begins", 12 + length - 4, 20 + 3 * length
    levels = [level for at in (10, soon, later) for level in ((at, None), (at + 2, 20))]
    begun = f"slo:error_budget_burn_{name}:begun"
    end = later + 30
    return Case(
        says=f"{name}: a burn begins once, and again after a pause longer than its short window",
        world=World(minutes=end, scrape_seconds=60).gauge(begun, [*levels, (1e9, None)], **slo("nms")),
        rules=(record,),
        given=(begun,),
        checks=(
            reads(f"count_over_time({record}[9m])", 10),
            reads(f"count_over_time({record}[9m])", 12, (slo("nms"), 1)),
            reads(f"count_over_time({record}[{end}m])", later, (slo("nms"), 1)),
            reads(f"count_over_time({record}[{end}m])", end, (slo("nms"), 2)),
        ),
    )


def comes_again():
    """Burns that began so many minutes ago, once or again."""
    world = fleet(500)
    limit, between = 1.05 * FAST * OWN, FAST * (OWN + TIGHT) / 2
    for model, shares, ago in (
        ("twice", (limit, limit), (50, 10)),
        ("once", (limit, limit), (10,)),
        ("again_within_six_hours", (limit, limit), (350, 10)),
        ("again_after_seven", (limit, limit), (420, 10)),
        ("too_slow", (between, limit), (50, 10)),
        ("calm", (0.45 * FAST * OWN, limit), (50, 10)),
    ):
        world.gauge(BUDGET, OWN, **slo(model))
        steps = [step for minutes in ago for step in ((500 - minutes, None), (500.25 - minutes, 20))]
        world.gauge(BEGINS, [*steps, (999, None)], **slo(model))
        for window, level in zip(("1h", "5m"), shares, strict=True):
            share(world, model, window, level)
    record = "slo:error_budget_burn_fast:ratio"
    return Case(
        says="a burn that began twice in six hours goes on while the hour burns",
        world=world,
        rules=(record,),
        given=(BUDGET, TIGHTEST, BEGINS, "slo:error_budget_burn_fast:begun", *SHARES),
        checks=(there(record, 500, "again_within_six_hours", "twice"),),
    )


def near_fast():
    """What the fast tier compares: of SLOs near their threshold, and the bad requests of what may burn."""
    world = fleet(200, 60)
    world.gauge(CALLS, 1, pipeline="burns", stage="s", model="member")
    # In parts of the threshold (0.288), which for the tightest budget is half of that.
    for model, hour, minutes in (
        ("burns", 2, 1.5),
        ("nearly", 0.85, 0.75),
        ("below", 0.75, 0.85),
        ("suspect", 0.45, 0),
        ("calm", 0.35, 0),
        ("member", 0, 0),
    ):
        world.gauge(BUDGET, OWN, **slo(model)).gauge(BAD, [(139.5, 5), (999, 0.1)], **slo(model))
        for window, part in (("1h", hour), ("5m", minutes)):
            share(world, model, window, part * FAST * OWN)
    record = "slo:error_budget_burn_fast:near"

    def over(model, window, value):
        return ({**slo(model), "sloth_window": window}, value)

    return Case(
        says="fast: what is near its threshold is compared, with bad requests where the least budget burns",
        world=world,
        rules=(record,),
        given=(BUDGET, TIGHTEST, BAD, CALLS, *SHARES),
        checks=(
            reads(
                f'{record}{{near=""}}',
                200,
                over("burns", "1h", 2),
                over("burns", "5m", 1.5),
                over("nearly", "1h", 0.85),
                over("below", "5m", 0.85),
            ),
            reads(
                f'round({record}{{near="bad"}})',
                200,
                *(
                    ({**slo(model), "near": "bad"}, 6)
                    for model in ("burns", "nearly", "below", "suspect", "member")
                ),
            ),
        ),
    )


SHARES = tuple(f"slo:sli_error:ratio_rate{window}" for window in ("5m", "30m", "1h", "2h", "6h", "1d", "3d"))
BURNS = [(10, None), (12, 20), (14, None), (15, 20), (21, None), (22, 20), (99, None)]

CASES = (
    *(begins(tier) for tier in TIERS),
    near_fast(),
    *(old_samples(tier) for tier in TIERS),
    faster(),
    *(goes_on(tier) for tier in TIERS),
    comes_again(),
    *(begins_once(name, MINUTES[short]) for name, _, _, _, short, _ in TIERS[1:]),
    Case(
        says="a burn begins once, and again after a pause of more than five minutes",
        world=World(minutes=30).gauge("slo:error_budget_burn_fast:begun", BURNS, **slo("nms")),
        rules=(BEGINS,),
        given=("slo:error_budget_burn_fast:begun",),
        checks=(
            reads(f"count_over_time({BEGINS}[9m])", 10),
            reads(f"count_over_time({BEGINS}[5m])", 12, (slo("nms"), 1)),
            reads(f"count_over_time({BEGINS}[20m])", 20, (slo("nms"), 1)),
            reads(f"count_over_time({BEGINS}[30m])", 30, (slo("nms"), 2)),
        ),
    ),
    Case(
        says="bad requests that traces saw are told by what the heaviest of them stand for",
        world=World(minutes=5)
        .gauge(BAD, 12, **slo("nms"))
        .gauge(BAD, 12, **slo("ocr"))
        .gauge("tritonobs_trace_weight", 3, job="tritonobs-traces", instance="a", model="nms")
        .gauge("tritonobs_trace_weight", 4, job="tritonobs-traces", instance="b", model="nms")
        .gauge("tritonobs_trace_weight", 4, job="tritonobs-traces", instance="b", model="ocr")
        .gauge(TARGETS, 1, **slo("nms"), stage="traces:request")
        .gauge(TARGETS, 1, **slo("ocr"), stage="total"),
        rules=(SAMPLES,),
        given=(BAD, TARGETS),
        checks=(reads(SAMPLES, 4, (slo("nms"), 3)),),
    ),
)
