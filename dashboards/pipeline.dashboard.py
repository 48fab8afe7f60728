"""Pipeline: which stage is slow, and why?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layout import Knobs, board
from panels import row, timeseries
from signals import stages, traffic
from variables import PIPELINE, STAGE, VERSION

if TYPE_CHECKING:
    from grafanalib.core import Dashboard


def build(knobs: Knobs) -> Dashboard:
    """The board for a fleet with these knobs."""
    return board(
        "pipeline",
        "Pipeline",
        "Which stage is slow, and why? The stages of the pipeline, the models it calls, and the stages of "
        "these.",
        (
            row(
                "Pipeline",
                timeseries(stages.SHARE, stacked=True),
                timeseries(stages.P99, stages.P99_OF_FEW, wide=True),
                timeseries(stages.MEAN, stacked=True),
                timeseries(traffic.SERVED),
            ),
            row(
                "Called models",
                timeseries(stages.CALLED_TIME, stacked=True, size=(8, 8)),
                timeseries(stages.CALLED_QUEUE, size=(8, 8)),
                timeseries(stages.CALLED_BUSY, size=(8, 8)),
            ),
            row(
                "Stages of the called models",
                timeseries(stages.CALLED_STAGES, stages.CALLED_STAGES_OF_FEW, wide=True, size=(24, 9)),
            ),
            row(
                "Inputs, items and errors",
                timeseries(stages.MEGAPIXELS, size=(8, 8)),
                timeseries(stages.BYTES, size=(8, 8)),
                timeseries(stages.COUNTS, size=(8, 8)),
                timeseries(stages.ITEMS, logarithmic=True),
                timeseries(stages.ERRORS),
            ),
        ),
        variables=(PIPELINE, VERSION, STAGE),
        knobs=knobs,
    )


dashboard = build(Knobs())
