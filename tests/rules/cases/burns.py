"""Every tier of burn by itself, from recorded shares: both windows, enough bad requests, the wait."""

from tritonobs.testing.promtool import Case, fires, silent
from tritonobs.testing.simulate import World

SUBJECT = {"model": "nms", "version": "1"}
SLO = {**SUBJECT, "slo": "a"}
OWNER, BUDGET = "subject:tritonobs_owner:info", "slo:error_budget:ratio"
LEFT = "slo:period_error_budget_remaining:ratio"
HOUR, STEP = 60, 300
# Name, severity, the hours of both windows as Prometheus writes them, factor, minutes of wait.
TIERS = (
    ("fast", "critical", ("1h", 1), "5m", 14.4, 2),
    ("medium", "critical", ("6h", 6), "30m", 6, 15),
    ("slow", "warning", ("1d", 24), "2h", 3, 60),
    ("long", "warning", ("3d", 72), "6h", 1, 180),
)


def burn(tier, says, *, shares, bad, begin=0, budget=0.01, fired=None):
    """A case of one tier.

    `shares` are those of the long and the short window in error budgets; the long window has `bad` requests,
    all of them from before `begin` hours ago; the alert fires or does not.
    """
    name, severity, (long, hours), short, factor, wait = tier
    counted = "slo:sli_bad_requests:rate5m" + ("" if hours < 24 else "_sampled")
    since = 2 * hours * HOUR
    end = since + wait + 60
    world = World(minutes=end, scrape_seconds=STEP)
    pace = bad / (hours * 3600)
    paces = pace if not begin else [(end - begin * HOUR, pace), (1e6, 0)]
    world.gauge(OWNER, 1, **SUBJECT, team="vision").gauge(BUDGET, budget, **SLO).gauge(counted, paces, **SLO)
    world.gauge(LEFT, 0.4, **SLO)
    for window, share in zip((long, short), shares, strict=True):
        level = [(since, 0), (1e6, min(share * factor * budget, 0.95))]
        world.gauge(f"slo:sli_error:ratio_rate{window}", level, **SLO, sloth_window=window)
    alert = f"TritonErrorBudgetBurn{name.capitalize()}"
    labels = {**SLO, "severity": severity, "burn_tier": name, "team": "vision"}
    soon = since + (wait - 5 if wait > 5 else 0)
    return Case(
        says=f"{name}: {says}",
        world=world,
        rules=(alert,),
        given=(
            OWNER,
            BUDGET,
            LEFT,
            counted,
            *(f"slo:sli_error:ratio_rate{window}" for window in (long, short)),
        ),
        checks=(silent(alert, soon), fires(alert, since + wait + 10, **labels))
        if fired
        else (silent(alert, end),),
    )


CASES = tuple(
    case
    for tier in TIERS
    for case in (
        burn(tier, "both windows burn, after its wait", shares=(1.1, 1.1), bad=7, fired=True),
        burn(tier, "just not fast enough", shares=(0.95, 0.95), bad=100),
        burn(tier, "over already", shares=(1.1, 0.9), bad=100),
        burn(tier, "not for long", shares=(0.9, 1.1), bad=100),
        burn(tier, "three bad requests are chance", shares=(1.1, 1.1), bad=3),
        burn(
            tier,
            "bad requests from before the window do not count",
            shares=(2, 2),
            bad=40,
            begin=tier[2][1] + 4,
        ),
        burn(tier, "a weak objective", shares=(9, 9), bad=7, budget=0.2, fired=True),
    )
)
