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
        "Which stage is slow, and why? From the pipeline's stages to the models it calls, to the stages of "
        "those.",
        (
            row(
                "The pipeline",
                timeseries(stages.SHARE, stacked=True),
                timeseries(stages.P99, stages.P99_OF_FEW, wide=True),
                timeseries(stages.MEAN, stacked=True),
                timeseries(traffic.SERVED),
            ),
            row(
                "The models it calls",
                timeseries(stages.CALLED_TIME, stacked=True, size=(8, 8)),
                timeseries(stages.CALLED_QUEUE, size=(8, 8)),
                timeseries(stages.CALLED_BUSY, size=(8, 8)),
            ),
            row(
                "Their own stages",
                timeseries(stages.CALLED_STAGES, stages.CALLED_STAGES_OF_FEW, wide=True, size=(24, 9)),
            ),
            row(
                "What goes in, what comes out",
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
