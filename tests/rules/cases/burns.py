"""Every tier of burn by itself, from recorded shares: both windows, enough bad requests, the wait."""

from support.promtool import Case, fires, silent
from support.simulate import World

SUBJECT = {"model": "nms", "version": "1"}
SLO = {**SUBJECT, "slo": "a"}
OWNER, BUDGET = "subject:tritonobs_owner:info", "slo:error_budget:ratio"
LEFT = "slo:period_error_budget_remaining:ratio"
HOUR, STEP = 60, 300
RECENT = "slo:sli_bad_requests:increase"
WINDOWS = ("5m", "30m", "1h", "2h", "6h", "1d", "3d")
# Name, severity, the hours of both windows as Prometheus writes them, factor.
TIERS = (
    ("fast", "critical", ("1h", 1), "5m", 14.4),
    ("medium", "critical", ("6h", 6), "30m", 6),
    ("slow", "warning", ("1d", 24), "2h", 3),
    ("long", "warning", ("3d", 72), "6h", 1),
)


def burn(tier, says, *, shares, bad, begin=0, budget=0.01, fired=None, fresh=True):
    """A case of one tier.

    `shares` are those of the long and the short window in error budgets; the long window has `bad` requests,
    nearly all of them from before `begin` hours ago; the alert fires or does not. `fresh` is whether the
    last bad request was just counted.
    """
    name, severity, (long, hours), short, factor = tier
    counted = RECENT if hours == 1 else "slo:sli_bad_requests:sampled"
    since = min(2 * hours, hours + 5) * HOUR
    end = since + 60
    world = World(minutes=end, scrape_seconds=STEP)
    each = bad / (hours * 3600) * STEP
    world.gauge(OWNER, 1, **SUBJECT, team="vision").gauge(BUDGET, budget, **SLO)
    world.gauge(LEFT, 0.4, **SLO).gauge(RECENT, [(since - 11, 1), (1e6, 0.01 if fresh else 0)], **SLO)
    world.gauge(counted, [(end - begin * HOUR if begin else end + 1, each), (1e6, 1e-4)], **SLO)
    for window, share in zip((long, short), shares, strict=True):
        level = [(since, 0), (1e6, min(share * factor * budget, 0.95))]
        world.gauge(f"slo:sli_error:ratio_rate{window}", level, **SLO, sloth_window=window)
    alert = f"TritonErrorBudgetBurn{name.capitalize()}"
    labels = {**SLO, "severity": severity, "burn_tier": name, "team": "vision"}
    return Case(
        says=f"{name}: {says}",
        world=world,
        rules=(alert,),
        given=(
            OWNER,
            BUDGET,
            LEFT,
            counted,
            RECENT,
            *(f"slo:sli_error:ratio_rate{window}" for window in WINDOWS),
        ),
        checks=(silent(alert, since - 5), fires(alert, since + 10, **labels))
        if fired
        else (silent(alert, end),),
    )


CASES = tuple(
    case
    for tier in TIERS
    for case in (
        burn(tier, "both windows burn", shares=(1.1, 1.1), bad=7, fired=True),
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
        *(
            [burn(tier, "no bad request any more", shares=(1.1, 1.1), bad=100, fresh=False)]
            if tier[0] != "fast"
            else []
        ),
        burn(tier, "a weak objective", shares=(9, 9), bad=7, budget=0.2, fired=True),
    )
)
