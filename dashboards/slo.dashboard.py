"""SLO: which SLO is at risk, how soon, and why?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from layout import Knobs, board
from panels import bars, row, stat, table, timeseries
from signals import alerts, slo, stages
from variables import PROMISED, PROMISED_VERSION, SLO

if TYPE_CHECKING:
    from grafanalib.core import Dashboard


def build(knobs: Knobs) -> Dashboard:
    """The board for a fleet with these knobs."""
    return board(
        "slo",
        "SLO",
        "Which SLO is at risk, how soon, and why? Error budgets, burn rates, and the latency budget by "
        "stage.",
        (
            row(
                "Now",
                stat(slo.BROKEN, size=(4, 8)),
                stat(slo.FASTEST, size=(4, 8)),
                stat(alerts.FIRING, size=(4, 8)),
                bars(slo.REMAINING_ON_AXIS, size=(12, 8)),
            ),
            row(
                "Burn rate",
                timeseries(slo.BURN_1H, wide=True),
                timeseries(slo.BURN_6H, wide=True),
                timeseries(slo.BAD_SHARE, limits=(slo.ALLOWED,)),
                timeseries(slo.BAD_REQUESTS),
            ),
            row(
                "Latency budget by stage",
                bars(replace(stages.BUDGET_USED, maximum=1), title="Used now"),
                timeseries(stages.BUDGET_USED, title="Used over time"),
            ),
            row(
                "SLOs",
                table(
                    "SLOs",
                    "Every SLO with what is left of its budget and how long that lasts at the burn rate of "
                    "the last hour. Good: budgets above what is left of the period. From the `slo:…` "
                    "records.",
                    (slo.REMAINING, slo.OBJECTIVE, slo.BURN_NOW, slo.EXHAUSTED_IN),
                    ("model", "slo", "version"),
                    worst_is_least=True,
                    size=(24, 11),
                ),
            ),
        ),
        variables=(PROMISED, PROMISED_VERSION, SLO),
        knobs=knobs,
        start="now-6h",
    )


dashboard = build(Knobs())
