"""Rules in the shape Sloth generates: 17 for each SLO, every window up to three days over raw counters."""

from __future__ import annotations

from typing import Any

WINDOWS = ("5m", "30m", "1h", "2h", "6h", "1d", "3d")
TIERS = (
    ("critical", (("5m", "1h", 14.4), ("30m", "6h", 6))),
    ("warning", (("2h", "1d", 3), ("6h", "3d", 1))),
)


def share(bad: str, valid: str, window: str, good: str = "") -> str:
    """The bad share of requests over a window, of counters; of latency the `good` ones have a counter."""
    every = f"sum(rate({valid}[{window}]))"
    return (
        f"({every} - sum(rate({good}[{window}]))) / {every}"
        if good
        else f"sum(rate({bad}[{window}])) / {every}"
    )


def rules(
    model: str, slo: str, objective: float, bad: str, valid: str, *, good: str = ""
) -> list[dict[str, Any]]:
    """The 17 rules of one SLO; `bad` or `good`, and `valid`, are counters as Prometheus selects them."""
    labels = {"sloth_id": f"{model}-{slo}", "sloth_service": model, "sloth_slo": slo}
    chosen = ",".join(f'{name}="{value}"' for name, value in labels.items())
    error = {window: f"slo:sli_error:ratio_rate{window}{{{chosen}}}" for window in (*WINDOWS, "30d")}
    ratios = [
        {
            "record": f"slo:sli_error:ratio_rate{window}",
            "expr": share(bad, valid, window, good),
            "labels": {**labels, "sloth_window": window},
        }
        for window in WINDOWS
    ]
    period = f"sum_over_time({error['5m']}[30d]) / count_over_time({error['5m']}[30d])"
    budget = f"slo:error_budget:ratio{{{chosen}}}"
    on = "on (sloth_id, sloth_slo, sloth_service) group_left"
    metadata = {
        "slo:sli_error:ratio_rate30d": period,
        "slo:objective:ratio": f"vector({objective})",
        "slo:error_budget:ratio": f"vector(1 - {objective})",
        "slo:time_period:days": "vector(30)",
        "slo:current_burn_rate:ratio": f"{error['5m']} / {on} {budget}",
        "slo:period_burn_rate:ratio": f"{error['30d']} / {on} {budget}",
        "slo:period_error_budget_remaining:ratio": f"1 - slo:period_burn_rate:ratio{{{chosen}}}",
        "sloth_slo_info": "vector(1)",
    }
    return [
        *ratios,
        *({"record": name, "expr": expr, "labels": labels} for name, expr in metadata.items()),
        *(_alert(severity, pairs, error, 1 - objective, labels) for severity, pairs in TIERS),
    ]


def _alert(
    severity: str,
    pairs: tuple[tuple[str, str, float], ...],
    error: dict[str, str],
    budget: float,
    labels: dict[str, str],
) -> dict[str, Any]:
    conditions = (
        f"(max({error[short]} > ({factor} * {budget})) without (sloth_window) and "
        f"max({error[long]} > ({factor} * {budget})) without (sloth_window))"
        for short, long, factor in pairs
    )
    return {
        "alert": f"{labels['sloth_id']}-{severity}",
        "expr": " or ".join(conditions),
        "labels": {"sloth_severity": severity},
    }
