"""Where the time of a request goes: one table per model version, a pipeline with what it calls."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tritonobs.timings.measured import read_timings
from tritonobs.timings.reader import Reader
from tritonobs.timings.table import CALL, COMPUTE, OTHER, QUEUE, Row, StageTable

if TYPE_CHECKING:
    from tritonobs.clients.prometheus import PrometheusClient
    from tritonobs.timings.measured import Timings

__all__ = ["CALL", "COMPUTE", "OTHER", "QUEUE", "Row", "StageTable", "read_stages", "stage_tables"]

_WORTH_A_ROW = 0.005


def read_stages(
    prometheus: PrometheusClient, model: str = "", version: str = "", *, window_seconds: float = 60.0
) -> tuple[StageTable, ...]:
    """The tables of the window that ends now.

    Raises:
        ClientError: Prometheus did not answer all of it.
    """
    models = (model,) if model else ()
    timings = read_timings(prometheus, at=time.time(), window_seconds=window_seconds, models=models)
    return stage_tables(timings, model=model, version=version)


def stage_tables(
    timings: Timings, *, model: str = "", version: str = "", worth: float = _WORTH_A_ROW
) -> tuple[StageTable, ...]:
    """A table for every model version with requests; what a shown pipeline calls stands only inside it.

    With `model` (and `version`) only that one. Time beside the stages has a row from this share on.
    """
    reader = Reader(timings, worth)
    busy = {name for name, _ in reader.busy}
    inside = set() if model else {call.model for call in timings.calls if call.pipeline in busy}
    return tuple(
        reader.table(subject)
        for subject in reader.busy
        if model in {"", subject[0]} and version in {"", subject[1]} and subject[0] not in inside
    )
