"""Every tier of burn by itself, from recorded shares: both windows, enough bad requests, the wait."""

from support.case import Case, all_fire, reads, silent
from support.simulate import World

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
# By model: the shares of both windows in error budgets, and how many bad requests the long window has.
MODELS = {
    "both windows burn": {"shares": (1.1, 1.1), "bad": 7, "fires": True},
    "just not fast enough": {"shares": (0.95, 0.95), "bad": 100},
    "over already": {"shares": (1.1, 0.9), "bad": 100},
    "not for long": {"shares": (0.9, 1.1), "bad": 100},
    "three bad requests are chance": {"shares": (1.1, 1.1), "bad": 3},
    # Nearly all of them four hours before the window.
    "bad requests from before the window do not count": {"shares": (2, 2), "bad": 40, "begins": 4},
    # None was counted just now. The fast tier does not ask.
    "no bad request any more": {"shares": (1.1, 1.1), "bad": 100, "fresh": False},
    "a weak objective": {"shares": (9, 9), "bad": 7, "budget": 0.2, "fires": True},
}


def burns(tier):
    """The models side by side: which of them burn, and which do not."""
    name, severity, (long, hours), short, factor = tier
    counted = RECENT if hours == 1 else "slo:sli_bad_requests:sampled"
    since = min(2 * hours, hours + 5) * HOUR
    end = since + 60
    world = World(minutes=end, scrape_seconds=STEP)
    models = {model: row for model, row in MODELS.items() if row.get("fresh", True) or counted != RECENT}
    for model, row in models.items():
        subject = {"model": model, "version": "1"}
        slo = {**subject, "slo": "a"}
        budget, begins = row.get("budget", 0.01), row.get("begins")
        each = row["bad"] / (hours * 3600) * STEP
        ends = end + 1 if begins is None else end - (hours + begins) * HOUR
        world.gauge(OWNER, 1, **subject, team="vision").gauge(BUDGET, budget, **slo).gauge(LEFT, 0.4, **slo)
        world.gauge(RECENT, [(since - 11, 1), (1e6, 0.01 if row.get("fresh", True) else 0)], **slo)
        world.gauge(counted, [(ends, each), (1e6, 1e-4)], **slo)
        for window, share in zip((long, short), row["shares"], strict=True):
            level = [(since, 0), (1e6, min(share * factor * budget, 0.95))]
            world.gauge(f"slo:sli_error:ratio_rate{window}", level, **slo, sloth_window=window)
    alert = f"TritonErrorBudgetBurn{name.capitalize()}"
    own = {"version": "1", "slo": "a", "severity": severity, "burn_tier": name, "team": "vision"}
    burning = [model for model, row in models.items() if row.get("fires")]
    ever = f'count by (model) (count_over_time(ALERTS{{alertname="{alert}",alertstate="firing"}}[{end}m]))'
    return Case(
        says=f"{name}: what burns both windows by more than chance, now, fires",
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
        checks=(
            silent(alert, since - 5),
            all_fire(alert, since + 10, *({"model": model, **own} for model in burning)),
            reads(ever, end, *(({"model": model}, 1) for model in burning)),
        ),
    )


CASES = tuple(burns(tier) for tier in TIERS)
