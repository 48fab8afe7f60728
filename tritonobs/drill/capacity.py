"""Faults of capacity: a model is asked for more than it can do."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from tritonobs.drill.drill import Alert, Drill, Takes, only_traffic, steady
from tritonobs.drill.repository import BATCHING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.drill.rig import Rig

_SECONDS = 0.2
_ENTRANCE = "inspect_ensemble"


@contextmanager
def _one_by_one(rig: Rig) -> Iterator[None]:
    """A model that takes a fifth of a second for each request, however fast the machine is.

    The delay goes first, so that whatever waits is done with soon.
    """
    with (
        rig.reconfigured("preprocess", lambda text: text.replace(BATCHING, "")),
        rig.faults({"preprocess": {"letterbox": {"seconds": _SECONDS}}}),
    ):
        yield


# A little more than it can do: ever more requests wait, for as long as the rules look. Nobody gives up.
_TOO_MUCH = replace(steady(5.0, model=_ENTRANCE), patience_seconds=300.0, most_waiting=1000)

DRILLS = (
    Drill(
        name="traffic-surge",
        breaks=f"{_ENTRANCE} gets 5 requests/s, not 1.5; preprocess takes them one by one",
        prepare=_one_by_one,
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
