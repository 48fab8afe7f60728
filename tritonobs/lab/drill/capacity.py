"""Faults of capacity: a model gets more requests than it can serve."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tritonobs.lab.drill.drill import Alert, Drill, Takes, only_traffic
from tritonobs.lab.drill.repository import BATCHING
from tritonobs.lab.drill.streams import steady

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.lab.drill.rig import Rig

_ENTRANCE = "inspect_ensemble"


@contextmanager
def _one_by_one(model: str, stage: str, seconds: float, rig: Rig) -> Iterator[None]:
    """A model that takes so long, or a little longer, for each request, however fast the machine is.

    The delay goes first, so that waiting requests end soon.
    """
    with (
        rig.reconfigured(model, lambda text: text.replace(BATCHING, "")),
        rig.faults({model: {stage: {"seconds": seconds}}}),
    ):
        yield


# A little more than it can do: ever more requests wait, for as long as the rules look. No client gives up.
_TOO_MUCH = replace(steady(5.0, model=_ENTRANCE), patience_seconds=300.0, most_waiting=1000)

DRILLS = (
    Drill(
        name="shared-detector",
        breaks=f"{_ENTRANCE}, which has no limit, takes the detector that inspect needs",
        prepare=partial(_one_by_one, "detector", "infer", 0.1),
        cause=only_traffic,
        traffic=(steady(3.0), steady(5.5, model=_ENTRANCE)),
        alerts=(Alert(name="TritonQueueWaitHigh", labels={"model": "detector"}),),
        check="queue_saturation",
        fires=Takes(fixed=45.0, scaled=330.0),
        resolves=Takes(fixed=45.0, scaled=300.0),
    ),
    Drill(
        name="traffic-surge",
        breaks=f"{_ENTRANCE} gets 5 requests/s, not 1.5; preprocess takes them one by one",
        prepare=partial(_one_by_one, "preprocess", "letterbox", 0.2),
        usual=(steady(1.5, model=_ENTRANCE),),
        cause=only_traffic,
        traffic=(_TOO_MUCH,),
        alerts=(
            Alert(name="TritonSaturated", labels={"model": "preprocess"}),
            Alert(name="TritonBatchInefficient", labels={"model": "preprocess"}),
        ),
        check="traffic_surge",
        model=_ENTRANCE,
        fires=Takes(fixed=45.0, scaled=900.0),
        resolves=Takes(fixed=60.0, scaled=300.0),
    ),
)
