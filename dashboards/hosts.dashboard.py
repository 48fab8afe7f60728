"""Hosts: are the servers and their workers healthy?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layout import Knobs, board
from panels import row, stat, timeline, timeseries
from signals import hosts

if TYPE_CHECKING:
    from grafanalib.core import Dashboard


def build(knobs: Knobs) -> Dashboard:
    """The board for a fleet with these knobs."""
    return board(
        "hosts",
        "Hosts",
        "Are the servers and their workers healthy? CPU, memory, heartbeats, and the cost of monitoring "
        "them.",
        (
            row(
                "Health",
                stat(hosts.UP_SHARE, size=(4, 6)),
                timeline(hosts.UP, size=(20, 6)),
                timeline(hosts.HEARTBEATS, size=(24, 9)),
            ),
            row(
                "Hosts",
                timeseries(hosts.CPU, size=(8, 8)),
                timeseries(hosts.MEMORY, size=(8, 8)),
                timeseries(hosts.PINNED, size=(8, 8)),
            ),
            row(
                "Cost of monitoring",
                timeseries(hosts.SCRAPE, size=(6, 7)),
                timeseries(hosts.SERIES, size=(6, 7)),
                timeseries(hosts.FLUSH, size=(6, 7)),
                timeseries(hosts.LOST, size=(6, 7)),
            ),
        ),
        knobs=knobs,
    )


dashboard = build(Knobs())
