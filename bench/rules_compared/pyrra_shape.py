"""Rules in the shape Pyrra generates (slo/rules.go): seven burn rates and four alerts."""

from __future__ import annotations

from typing import Any

from rules_compared.sloth_shape import share

_MINUTE, _DAY = 60, 86_400
# Fractions of a period of 28 days, factor and severity; every time is rounded to a minute.
_TIERS = (
    ("fast", "critical", 28 * 24 * 30, 28 * 24, 28 * 24 * 12, 14),
    ("medium", "critical", 28 * 24 * 4, 28 * 4, 28 * 24 * 2, 7),
    ("slow", "warning", 28 * 24, 28, 28 * 12, 2),
    ("long", "warning", 28 * 8, 7, 28 * 4, 1),
)


def rules(
    slo: str, objective: float, bad: str, valid: str, *, good: str = "", days: int = 30
) -> list[dict[str, Any]]:
    """The rules of one SLO; `bad` or `good`, and `valid`, are counters as Prometheus selects them."""

    def part(of: int) -> str:
        return f"{round(days * _DAY / of / _MINUTE)}m"

    def burn(window: str) -> str:
        return f'nv:burnrate{window}{{slo="{slo}"}}'

    windows = dict.fromkeys(part(of) for _, _, _, long, short, _ in _TIERS for of in (short, long))
    return [
        *(
            {
                "record": f"nv:burnrate{window}",
                "expr": share(bad, valid, window, good),
                "labels": {"slo": slo},
            }
            for window in windows
        ),
        *(
            {
                "alert": f"ErrorBudgetBurn-{tier}",
                "expr": f"{burn(part(short))} > ({factor} * (1 - {objective})) and "
                f"{burn(part(long))} > ({factor} * (1 - {objective}))",
                "for": part(wait),
                "labels": {"severity": severity, "burn_tier": tier},
            }
            for tier, severity, wait, long, short, factor in _TIERS
        ),
    ]
