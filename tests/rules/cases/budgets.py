"""Error budgets: burn tiers, guards, exhaustion, what is missing; labels that Sloth's boards select on."""

from support.case import Case, fires, reads, silent
from support.simulate import World

FAST, MEDIUM = "TritonErrorBudgetBurnFast", "TritonErrorBudgetBurnMedium"
SLOW, LONG = "TritonErrorBudgetBurnSlow", "TritonErrorBudgetBurnLong"
GONE = "TritonErrorBudgetExhausted"
TIERS = (FAST, MEDIUM, SLOW, LONG)
HOUR, DAY = 60, 24 * 60

SUBJECT = {"model": "nms", "version": "1", "slo": "availability"}
SLOTH = {"sloth_id": "nms-availability-v1", "sloth_service": "nms", "sloth_slo": "availability-v1"}
ROW = {**SUBJECT, **SLOTH}
OWNED = {**ROW, "team": "vision", "tier": "critical"}


def service(good, bad=0, *, minutes, objective=0.999, scrape_seconds=60, workers=True):
    """A model with an availability SLO; `bad` are error replies, which Triton takes for successes."""
    world = World(minutes=minutes, scrape_seconds=scrape_seconds)
    total = _sum(good, bad)
    world.triton("nms", qps=total)
    if workers:
        world.worker("nms", outcomes={"ok": good, "error": bad})
    world.info("nms", "1", team="vision", tier="critical")
    return world.gauge("tritonobs_slo_objective_ratio", objective, **SUBJECT, tier="critical")


GIVEN = ("slo:sli_valid_requests:increase", "slo:sli_bad_requests:increase")
STEP = 300


def burning(times, *, minutes, qps=10, objective=0.999):
    """Days of a service whose errors are so many times what is allowed, as its records show them."""
    steps = times if isinstance(times, list) else [(1e9, times)]
    world = World(minutes=minutes, scrape_seconds=STEP).info("nms", "1", team="vision", tier="critical")
    world.gauge("tritonobs_slo_objective_ratio", objective, **SUBJECT)
    world.gauge("slo:sli_valid_requests:increase", qps * STEP, **ROW)
    bad = [(until, qps * STEP * (1 - objective) * value) for until, value in steps]
    return world.gauge("slo:sli_bad_requests:increase", bad, **ROW)


def _sum(good, bad):
    """The level of two levels together; absent where one of them is."""
    steps = [level if isinstance(level, list) else [(1e9, level)] for level in (good, bad)]
    edges = sorted({until for level in steps for until, _ in level})
    both = [
        [next((value for end, value in level if until <= end), level[-1][1]) for level in steps]
        for until in edges
    ]
    return [(until, None if None in pair else sum(pair)) for until, pair in zip(edges, both, strict=True)]


CASES = (
    Case(
        says="an outage of ten minutes pages by the fast tier before it is over, and not for long after",
        world=service(
            [(3 * HOUR, 10), (3 * HOUR + 10, 0), (9999, 10)],
            [(3 * HOUR, 0), (3 * HOUR + 10, 10), (9999, 0)],
            minutes=5 * HOUR,
        ),
        rules=TIERS,
        checks=(
            silent(FAST, 3 * HOUR),
            fires(FAST, 3 * HOUR + 9, severity="critical", burn_tier="fast", **OWNED),
            silent(FAST, 5 * HOUR, since=3 * HOUR + 25),
        ),
    ),
    Case(
        says="errors at eight times the sustainable pace page by the medium tier, not the fast one",
        world=burning([(10 * HOUR, 0), (1e9, 8)], minutes=18 * HOUR),
        rules=TIERS,
        given=GIVEN,
        checks=(
            silent(FAST, 18 * HOUR),
            silent(MEDIUM, 13 * HOUR),
            fires(MEDIUM, 17 * HOUR, severity="critical", burn_tier="medium", **OWNED),
        ),
    ),
    Case(
        says="errors at four times the sustainable pace are a ticket of the slow tier",
        world=burning([(30 * HOUR, 0), (1e9, 4)], minutes=60 * HOUR),
        rules=TIERS,
        given=GIVEN,
        checks=(
            silent(FAST, 60 * HOUR),
            silent(MEDIUM, 60 * HOUR),
            silent(SLOW, 40 * HOUR),
            fires(SLOW, 52 * HOUR, severity="warning", burn_tier="slow", **OWNED),
        ),
    ),
    Case(
        says="errors at one and a half times the sustainable pace are a ticket of the long tier",
        world=burning(1.5, minutes=100 * HOUR),
        rules=TIERS,
        given=GIVEN,
        checks=(
            silent(FAST, 100 * HOUR),
            silent(MEDIUM, 100 * HOUR),
            silent(SLOW, 100 * HOUR),
            fires(LONG, 90 * HOUR, severity="warning", burn_tier="long", **OWNED),
        ),
    ),
    Case(
        says="errors at half the sustainable pace are what the budget is for",
        world=burning(0.5, minutes=100 * HOUR),
        rules=(*TIERS, GONE),
        given=GIVEN,
        checks=tuple(silent(alert, 100 * HOUR) for alert in (*TIERS, GONE)),
    ),
    Case(
        says="what burned this morning was one page of the medium tier, and no slower tier says it again",
        world=burning([(10 * HOUR, 0), (16 * HOUR, 12), (1e9, 0)], minutes=30 * HOUR),
        rules=(MEDIUM, SLOW, LONG),
        given=GIVEN,
        checks=(
            fires(MEDIUM, 16 * HOUR, severity="critical", burn_tier="medium", **OWNED),
            silent(MEDIUM, 30 * HOUR, since=17 * HOUR),
            silent(SLOW, 30 * HOUR),
            silent(LONG, 30 * HOUR),
        ),
    ),
    Case(
        says="four bad requests are too few for a ticket, whatever their share",
        world=burning([(10 * HOUR, 0), (10 * HOUR + 10, 200), (1e9, 0)], minutes=16 * HOUR, qps=0.033),
        rules=(MEDIUM, SLOW, LONG, GONE),
        given=GIVEN,
        checks=tuple(silent(alert, 16 * HOUR) for alert in (MEDIUM, SLOW, LONG, GONE)),
    ),
    Case(
        says="a few failures of a model that hardly anyone asks are chance",
        world=service(0.01, [(3 * HOUR, 0), (3 * HOUR + 6, 0.01), (9999, 0)], minutes=6 * HOUR),
        rules=(FAST, MEDIUM),
        checks=(silent(FAST, 6 * HOUR), silent(MEDIUM, 6 * HOUR)),
    ),
    Case(
        says="a model that hardly anyone asks, and that fails all the time, pages",
        world=service([(3 * HOUR, 0.01), (9999, 0)], [(3 * HOUR, 0), (9999, 0.01)], minutes=6 * HOUR),
        rules=(FAST, MEDIUM),
        checks=(fires(FAST, 4 * HOUR, severity="critical", burn_tier="fast", **OWNED),),
    ),
    Case(
        says="the first failure of a new version pages nobody",
        world=service(
            [(2 * HOUR, None), (9999, 0.02)],
            [(2 * HOUR, None), (2 * HOUR + 2, 0.02), (9999, 0)],
            minutes=4 * HOUR,
            workers=True,
        ),
        rules=(FAST, MEDIUM),
        checks=(silent(FAST, 4 * HOUR), silent(MEDIUM, 4 * HOUR)),
    ),
    Case(
        says="an outage that is over pages no more, though the hour still remembers it",
        world=service(
            [(2 * HOUR, 10), (2 * HOUR + 20, 0), (9999, 10)],
            [(2 * HOUR, 0), (2 * HOUR + 20, 10), (9999, 0)],
            minutes=4 * HOUR,
        ),
        rules=(FAST,),
        checks=(
            fires(FAST, 2 * HOUR + 20, severity="critical", burn_tier="fast", **OWNED),
            silent(FAST, 4 * HOUR, since=2 * HOUR + 35),
            # 20 bad minutes of 60, or of 61: Prometheus 2 counts the first moment of a window too.
            reads(
                "round(slo:sli_error:ratio_rate1h, 0.01)",
                2 * HOUR + 40,
                ({**ROW, "sloth_window": "1h"}, 0.33),
            ),
        ),
    ),
    Case(
        says="an objective of 90 percent can be missed too: everything failing pages",
        world=service(
            [(2 * HOUR, 10), (9999, 0)], [(2 * HOUR, 0), (9999, 10)], minutes=4 * HOUR, objective=0.9
        ),
        rules=(FAST,),
        checks=(fires(FAST, 3 * HOUR + 10, severity="critical", burn_tier="fast", **OWNED),),
    ),
    Case(
        says="half of the requests failing is not yet the fast tier of an objective of 90 percent",
        world=service(
            [(2 * HOUR, 10), (9999, 5)], [(2 * HOUR, 0), (9999, 5)], minutes=4 * HOUR, objective=0.9
        ),
        rules=(FAST,),
        checks=(silent(FAST, 4 * HOUR),),
    ),
    Case(
        says="a model over its versions has an SLO of its own",
        world=World(minutes=2 * HOUR)
        .triton("nms", "1", qps=2)
        .worker("nms", "1", outcomes={"ok": 2})
        .triton("nms", "2", qps=2)
        .worker("nms", "2", slot="1", outcomes={"ok": 1, "error": 1})
        .info("nms", team="vision")
        .gauge("tritonobs_slo_objective_ratio", 0.99, model="nms", slo="availability"),
        rules=(FAST, "slo:sli_error:ratio_rate5m"),
        checks=(
            reads(
                "slo:sli_error:ratio_rate5m",
                90,
                (
                    {
                        "model": "nms",
                        "slo": "availability",
                        "sloth_id": "nms-availability",
                        "sloth_service": "nms",
                        "sloth_slo": "availability",
                        "sloth_window": "5m",
                    },
                    0.25,
                ),
            ),
            fires(
                FAST,
                90,
                severity="critical",
                burn_tier="fast",
                model="nms",
                slo="availability",
                team="vision",
                sloth_id="nms-availability",
                sloth_service="nms",
                sloth_slo="availability",
            ),
        ),
    ),
    Case(
        says="a budget that is spent is said, from a tenth of the period on, and not for the first failures",
        world=burning([(76 * HOUR, 0.5), (78 * HOUR, 40), (1e9, 0)], minutes=82 * HOUR),
        rules=(GONE,),
        given=GIVEN,
        checks=(silent(GONE, 76 * HOUR), fires(GONE, 80 * HOUR, severity="warning", **OWNED)),
    ),
    Case(
        says="a younger SLO has no budget to spend",
        world=burning([(60 * HOUR, 0.5), (62 * HOUR, 40), (1e9, 0)], minutes=71 * HOUR),
        rules=(GONE,),
        given=GIVEN,
        checks=(silent(GONE, 71 * HOUR),),
    ),
    Case(
        says="four failures do not exhaust a budget",
        world=service(0.1, [(2 * HOUR, 0), (2 * HOUR + 1, 0.067), (9999, 0)], minutes=5 * HOUR),
        rules=(GONE,),
        checks=(silent(GONE, 5 * HOUR),),
    ),
)
