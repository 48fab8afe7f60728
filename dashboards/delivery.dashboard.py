"""Delivery: do alerts reach people?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layout import Knobs, board
from panels import bars, row, stat, timeseries
from signals import delivery

if TYPE_CHECKING:
    from grafanalib.core import Dashboard


def build(knobs: Knobs) -> Dashboard:
    """The board for a fleet with these knobs."""
    return board(
        "delivery",
        "Delivery",
        "Do alerts reach people? Delivery, step by step, and what the rules cost Prometheus.",
        (
            row(
                "Now",
                stat(delivery.PARTS_UP, size=(8, 4)),
                stat(delivery.FLEET_FILE),
                stat(delivery.MUTED),
                stat(delivery.WAITING),
                stat(delivery.BUDGET),
            ),
            row(
                "Delivery",
                timeseries(delivery.CALLS, size=(8, 8)),
                timeseries(delivery.MESSAGES, delivery.ALERTS, size=(8, 8)),
                timeseries(delivery.ERRORS, size=(8, 8)),
                timeseries(delivery.WAIT),
                timeseries(delivery.NOTIFIED, delivery.NOT_NOTIFIED),
            ),
            row(
                "Prometheus",
                bars(delivery.RULE_SECONDS, size=(12, 11)),
                timeseries(
                    delivery.RULE_MISSED,
                    delivery.RULE_FAILED,
                    title="Evaluations missed, rules failed",
                    size=(12, 11),
                ),
                timeseries(delivery.HEAD_SERIES, size=(8, 7)),
                timeseries(delivery.MEMORY, size=(8, 7)),
                timeseries(delivery.CPU, size=(8, 7)),
            ),
        ),
        knobs=knobs,
    )


dashboard = build(Knobs())
