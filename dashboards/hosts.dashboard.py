"""Hosts: are the servers and their workers alive and well?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from house import Knobs, board
from panels import row, stat, timeline, timeseries
from signals import hosts

if TYPE_CHECKING:
    from grafanalib.core import Dashboard


def build(knobs: Knobs) -> Dashboard:
    """The board for a fleet with these knobs."""
    return board(
        "hosts",
        "Hosts",
        "Are the servers and their workers alive and well? CPU, memory, heartbeats, and what watching them "
        "costs.",
        (
            row(
                "Alive",
                stat(hosts.UP_SHARE, size=(4, 4)),
                timeline(hosts.UP, size=(20, 4)),
                timeline(hosts.HEARTBEATS, size=(24, 6)),
            ),
            row(
                "Hosts",
                timeseries(hosts.CPU, size=(8, 8)),
                timeseries(hosts.MEMORY, size=(8, 8)),
                timeseries(hosts.PINNED, size=(8, 8)),
            ),
            row(
                "Watching them",
                timeseries(hosts.SCRAPE, size=(6, 7)),
                timeseries(hosts.SERIES, size=(6, 7)),
                timeseries(hosts.FLUSH, size=(6, 7)),
                timeseries(hosts.LOST, size=(6, 7)),
            ),
        ),
        knobs=knobs,
    )


dashboard = build(Knobs())
