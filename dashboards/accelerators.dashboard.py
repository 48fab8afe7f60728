"""Accelerators: are they the cause?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layout import Knobs, board
from panels import row, stat, table, timeline, timeseries
from signals import accelerators, latency
from variables import DEVICE, VENDOR

if TYPE_CHECKING:
    from grafanalib.core import Dashboard


def build(knobs: Knobs) -> Dashboard:
    """The board for a fleet with these knobs."""
    return board(
        "accelerators",
        "Accelerators",
        "Are accelerators the cause? Utilisation, memory, power and temperature, of any vendor.",
        (
            row(
                "Now",
                stat(accelerators.COUNT),
                stat(accelerators.MEAN),
                stat(accelerators.FULLEST),
                stat(accelerators.POWER_ALL),
                stat(accelerators.HOTTEST),
                stat(latency.WAITING_ALL),
            ),
            row(
                "Over time",
                timeseries(accelerators.UTILISATION, wide=True),
                timeseries(accelerators.MEMORY_USED, wide=True),
                timeseries(accelerators.POWER, wide=True),
                timeseries(accelerators.TEMPERATURE, wide=True),
            ),
            row(
                "Health and links",
                timeline(accelerators.THROTTLED, size=(12, 9)),
                timeseries(accelerators.FAULTS, size=(12, 9)),
                timeseries(accelerators.CLOCK),
                timeseries(accelerators.ECC),
                timeseries(accelerators.PCIE),
                timeseries(accelerators.NVLINK),
            ),
            row(
                "Accelerators",
                table(
                    "All accelerators",
                    "Every accelerator with its latest values; a cell is empty where the vendor does not "
                    "report it. Good: those of one kind under the same load look alike. From the "
                    "`device:accelerator_…` records.",
                    (
                        accelerators.UTILISATION,
                        accelerators.MEMORY_SHARE,
                        accelerators.MEMORY_USED,
                        accelerators.POWER,
                        accelerators.TEMPERATURE,
                        accelerators.FAULTS,
                    ),
                    ("vendor", "card", "host", "device"),
                ),
            ),
        ),
        variables=(VENDOR, DEVICE),
        knobs=knobs,
    )


dashboard = build(Knobs())
