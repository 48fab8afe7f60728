"""Faults of capacity and of deployments: models get more than they can serve, or are replaced."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial

from tritonobs import names
from tritonobs.clients.exposition import read_page
from tritonobs.errors import TritonobsError
from tritonobs.extensions.lab.drill.drill import Drill, Takes, alert
from tritonobs.extensions.lab.drill.rig import Rig, steady
from tritonobs.extensions.lab.stack.processes import wait_for

_ENTRANCE = "inspect_ensemble"
_PREPARED = Takes(fixed=300.0)
"""Calm after a model was loaded again, slower: nearer to the fault, triage rightly names the load."""


@contextmanager
def _one_by_one(model: str, stage: str, seconds: float, rig: Rig) -> Iterator[None]:
    """A model that takes this long, or a little longer, for each request on any machine.

    The delay goes first, so that waiting requests end soon.
    """
    with (
        rig.reconfigured(model, lambda text: text.replace(BATCHING, "")),
        rig.faults({model: {stage: {"seconds": seconds}}}),
    ):
        yield


# A little more than it can do: more and more requests wait, as long as the rules look back. No client gives
# up.
_TOO_MUCH = replace(steady(5.0, model=_ENTRANCE), patience_seconds=300.0, most_waiting=1000)
_OF_CAPACITY = (
    Drill(
        name="shared-detector",
        breaks=f"{_ENTRANCE}, which has no limit, occupies the detector that inspect needs",
        prepare=partial(_one_by_one, "detector", "infer", 0.1),
        traffic=(steady(3.0), steady(5.5, model=_ENTRANCE)),
        alerts=(alert("TritonQueueWaitHigh", model="detector"),),
        check="queue_saturation",
        fires=Takes(fixed=45.0, scaled=330.0),
        resolves=Takes(fixed=45.0, scaled=300.0),
        calm=_PREPARED,
    ),
    Drill(
        name="traffic-surge",
        breaks=f"{_ENTRANCE} receives 5 requests/s, not 1.5; preprocess takes one at a time",
        prepare=partial(_one_by_one, "preprocess", "letterbox", 0.2),
        usual=(steady(1.5, model=_ENTRANCE),),
        traffic=(_TOO_MUCH,),
        alerts=(
            alert("TritonSaturated", model="preprocess"),
            alert("TritonBatchInefficient", model="preprocess"),
        ),
        check="traffic_surge",
        model=_ENTRANCE,
        fires=Takes(fixed=45.0, scaled=900.0),
        resolves=Takes(fixed=60.0, scaled=300.0),
        calm=_PREPARED,
    ),
)


_SLOW_SECONDS = 0.6
_RELOAD_SECONDS = 8.0
_GONE_SECONDS = 60.0
_ENSEMBLE = "inspect_ensemble"
"""Unloads with any of its members."""
_DELAY_MICROSECONDS = 300_000
_BOTH_VERSIONS = "version_policy: { latest { num_versions: 2 } }\n"
BATCHING = "dynamic_batching { }"
"""How every model of the example is configured to batch."""
_DELAYED = f"dynamic_batching {{ max_queue_delay_microseconds: {_DELAY_MICROSECONDS} }}"


@contextmanager
def _slow_version(rig: Rig) -> Iterator[None]:
    nms = rig.folders.models / "nms"
    try:
        shutil.copytree(nms / "1", nms / "2")
        with (
            rig.faults({"nms/2": {"suppress": {"seconds": _SLOW_SECONDS}}}),
            rig.edited(nms / "config.pbtxt", lambda text: text + _BOTH_VERSIONS),
        ):
            rig.triton.load("nms")
            yield
    finally:
        shutil.rmtree(nms / "2", ignore_errors=True)
        rig.load("nms")


@contextmanager
def _unloaded(rig: Rig) -> Iterator[None]:
    try:
        rig.triton.unload("nms")
        yield
    finally:
        rig.load("nms")
        rig.load(_ENSEMBLE)


@contextmanager
def _reloaded_in_a_loop(rig: Rig) -> Iterator[None]:
    enough = threading.Event()

    def reload() -> None:
        while not enough.is_set():
            with suppress(TritonobsError):
                rig.load("detector")
            enough.wait(_RELOAD_SECONDS)

    thread = threading.Thread(target=reload, name="reload loop", daemon=True)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join()
        rig.load("detector")


@contextmanager
def _cached(rig: Rig) -> Iterator[None]:
    """A model that is loaded in place keeps its counters, and would have none of a cache: unload it first."""
    try:
        with rig.edited(
            rig.folders.models / "preprocess" / "config.pbtxt",
            lambda text: f"{text}response_cache {{ enable: true }}\n",
        ):
            _renew(rig, "preprocess")
            yield
    finally:
        _renew(rig, "preprocess")


def _renew(rig: Rig, model: str) -> None:
    """Load it again; only when those that were replaced before have also ended do its counters go."""

    def counted() -> bool:
        page = read_page(rig.replica.metrics_url, prefixes=(names.TRITON_SUCCESS,))
        return any(sample.labels[names.MODEL] == model for sample in page.samples)

    rig.triton.unload(model)
    wait_for(lambda: None if counted() else True, f"the counters of {model} to go", _GONE_SECONDS)
    rig.load(model)
    rig.load(_ENSEMBLE)


_OF_DEPLOYMENTS = (
    Drill(
        name="slow-version",
        breaks=f"version 2 of nms is rolled out, {_SLOW_SECONDS:g} s slower than version 1",
        cause=_slow_version,
        # The pipeline that calls it has no page of its own.
        alerts=(alert("TritonErrorBudgetBurnFast", model="nms", slo="latency"),),
        check="slow_version",
        model="nms",
        fires=Takes(fixed=60.0, scaled=600.0),
        resolves=Takes(fixed=60.0, scaled=300.0),
    ),
    Drill(
        name="model-unloaded",
        breaks="nms is unloaded while inspect needs it",
        cause=_unloaded,
        alerts=(alert("TritonModelUnloaded", model="nms"),),
        check="model_gone",
        model="nms",
        fires=Takes(fixed=60.0, scaled=60.0),
        resolves=Takes(fixed=40.0),
    ),
    Drill(
        name="reload-loop",
        breaks=f"something reloads the detector every {_RELOAD_SECONDS:g} s",
        cause=_reloaded_in_a_loop,
        alerts=(alert("TritonModelReloaded", model="detector"),),
        check="reload",
        model="detector",
        fires=Takes(fixed=45.0),
        resolves=Takes(fixed=75.0, scaled=300.0),
    ),
    Drill(
        name="batcher-delay",
        breaks="preprocess is configured to wait 0.3 s for fuller batches",
        cause=lambda rig: rig.reconfigured("preprocess", lambda text: text.replace(BATCHING, _DELAYED)),
        alerts=(alert("TritonQueueWaitHigh", model="preprocess"),),
        check="batch_delay",
        model="preprocess",
        fires=Takes(fixed=45.0, scaled=330.0),
        resolves=Takes(fixed=45.0, scaled=300.0),
    ),
    Drill(
        name="cache-collapse",
        breaks="preprocess has a response cache, and clients stop repeating requests",
        prepare=_cached,
        calm=Takes(fixed=60.0, scaled=600.0),
        usual=(steady(3.0, mix="2000x2000"),),
        traffic=(steady(3.0, mix=",".join(f"{width}x720" for width in range(1240, 1320, 5))),),
        alerts=(alert("TritonCacheCollapse", model="preprocess"),),
        check="cache_collapse",
        model="preprocess",
        fires=Takes(fixed=45.0, scaled=330.0),
        resolves=Takes(fixed=45.0, scaled=300.0),
    ),
)

DRILLS = (*_OF_CAPACITY, *_OF_DEPLOYMENTS)
