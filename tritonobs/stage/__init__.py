"""Stage metrics of a Triton Python model: added up in its process, handed to Triton by one thread.

    from tritonobs.stage import Stages

    def initialize(self, args):
        self.stages = Stages(args, pb_utils)

    def execute(self, requests):
        with self.stages.request(len(requests)):  # one observation of `total` and one outcome per request
            with self.stages.time("decode"):
                ...

    def finalize(self):
        self.stages.finalize()

Standard library only, Python 3.10 and newer, Triton 23.05 and newer. Nothing on the request path waits, and
no failure of the metrics fails a request.
"""

from tritonobs.stage.record import Answer, InvalidInput, Request
from tritonobs.stage.series import (
    DEFAULT_BOUNDS_SECONDS,
    FIRST_TOKEN,
    OUTCOMES,
    OUTPUT_TOKEN,
    TOKENS_IN,
    TOKENS_OUT,
    TOTAL,
    Outcome,
    format_bound,
    parse_bounds,
)
from tritonobs.stage.settings import SCRAPE_INTERVAL_VARIABLE
from tritonobs.stage.stages import Stages

__all__ = [
    "DEFAULT_BOUNDS_SECONDS",
    "FIRST_TOKEN",
    "OUTCOMES",
    "OUTPUT_TOKEN",
    "SCRAPE_INTERVAL_VARIABLE",
    "TOKENS_IN",
    "TOKENS_OUT",
    "TOTAL",
    "Answer",
    "InvalidInput",
    "Outcome",
    "Request",
    "Stages",
    "format_bound",
    "parse_bounds",
]
