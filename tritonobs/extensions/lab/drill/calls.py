"""Faults of calls: stages take longer, get more to do or fail; clients send wrong input, or too much."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from tritonobs.extensions.lab.drill.drill import Alert, Drill, Stream, Takes, only_traffic, steady
from tritonobs.extensions.lab.load.schedule import Segment

if TYPE_CHECKING:
    from tritonobs.extensions.lab.drill.rig import Rig


_SLOW_SECONDS = 0.6
_FAILING_SHARE = 0.3
_STAGE_SLOW = Takes(fixed=45.0, scaled=330.0)
_STAGE_WELL = Takes(fixed=40.0, scaled=300.0)


def _slow(name: str, model: str, stage: str) -> Drill:
    def cause(rig: Rig) -> AbstractContextManager[None]:
        return rig.faults({model: {stage: {"seconds": _SLOW_SECONDS}}})

    return Drill(
        name=name,
        breaks=f"{stage} of {model} takes {_SLOW_SECONDS:g} s longer",
        cause=cause,
        alerts=(Alert(name="TritonStageSlow", labels={"model": model, "stage": stage}),),
        check="slow_stage",
        model=model,
        fires=_STAGE_SLOW,
        resolves=_STAGE_WELL,
    )


def _false_boxes(rig: Rig) -> AbstractContextManager[None]:
    return rig.faults({"nms": {"settings": {"confidence": 0.0, "max_candidates": 25_200}}})


def _unreadable_sizes(rig: Rig) -> AbstractContextManager[None]:
    return rig.faults({"preprocess": {"decode": {"unreadable": True}}})


def _failing_detector(rig: Rig) -> AbstractContextManager[None]:
    return rig.faults({"detector": {"infer": {"share": _FAILING_SHARE}}})


_INSIDE = (
    _slow("slow-preprocess", "preprocess", "letterbox"),
    _slow("slow-detector", "detector", "infer"),
    _slow("slow-nms", "nms", "suppress"),
    Drill(
        name="more-boxes",
        breaks="the confidence threshold is lost: every row of the network enters suppression",
        cause=_false_boxes,
        # A hundred times as long, and still within the objective: triage reports it, and no page fires.
        alerts=(),
        check="more_boxes",
        model="nms",
        fires=Takes(fixed=30.0),
        resolves=Takes(fixed=0.0),
    ),
    Drill(
        name="inference-errors",
        breaks=f"{_FAILING_SHARE:.0%} of the detector's inferences fail",
        cause=_failing_detector,
        alerts=(
            Alert(name="TritonErrorBudgetBurnFast", labels={"model": "detector", "slo": "availability"}),
        ),
        check="error_surge",
        model="detector",
        fires=Takes(fixed=90.0, scaled=240.0),
        resolves=Takes(fixed=60.0, scaled=600.0),
    ),
    Drill(
        name="records-lost",
        breaks="preprocess records sizes that are not numbers (NaN); they are dropped",
        cause=_unreadable_sizes,
        alerts=(Alert(name="TritonStageMetricsFailing", labels={"model": "preprocess"}),),
        check="scrape_problem",
        model="preprocess",
        fires=Takes(fixed=30.0),
        resolves=Takes(fixed=45.0, scaled=900.0),
    ),
)


_SURGE_FIRES = Takes(fixed=50.0, scaled=60.0)
_SURGE_RESOLVES = Takes(fixed=45.0, scaled=600.0)


def _bad_images(name: str, breaks: str, kind: str, reason: str) -> Drill:
    return Drill(
        name=name,
        breaks=breaks,
        cause=only_traffic,
        traffic=(steady(4.0, mix=f"1280x720=3,{kind}=1"),),
        alerts=(
            Alert(
                name="TritonInvalidInputSurge",
                labels={"model": "preprocess", "stage": "decode", "reason": reason},
            ),
        ),
        check="error_surge",
        model="preprocess",
        fires=_SURGE_FIRES,
        resolves=_SURGE_RESOLVES,
    )


def _promised_decode(rig: Rig) -> AbstractContextManager[None]:
    """An objective that they miss on every machine: images take some 5 ms to decode, these 200 or more."""
    return rig.promised("  preprocess:\n", "decode: {objective: 99%, stage: decode, threshold: 75ms}")


def _burst() -> tuple[Segment, ...]:
    """A second of many requests in every half minute."""
    one = (Segment(qps=2.0, seconds=8.0), Segment(qps=40.0, seconds=2.0), Segment(qps=2.0, seconds=20.0))
    return one * 20


_OUTSIDE = (
    _bad_images("corrupt-images", "one image in four is damaged", "corrupt", "corrupt_image"),
    _bad_images("huge-images", "one image in four has sides of 12,000 pixels", "huge", "too_large"),
    Drill(
        name="larger-images",
        breaks="images of 12 megapixels, as PNG, instead of 1",
        prepare=_promised_decode,
        cause=only_traffic,
        traffic=(steady(3.0, mix="png:4000x3000"),),
        alerts=(Alert(name="TritonErrorBudgetBurnFast", labels={"model": "preprocess", "slo": "decode"}),),
        check="larger_inputs",
        model="preprocess",
        fires=Takes(fixed=60.0, scaled=600.0),
        resolves=Takes(fixed=60.0, scaled=300.0),
    ),
    Drill(
        name="qps-overflow",
        breaks="twice as many requests as the limit of inspect allows",
        cause=only_traffic,
        traffic=(steady(16.0),),
        alerts=(Alert(name="TritonQpsAboveLimit", labels={"model": "inspect"}),),
        check="qps_limit",
        model="inspect",
        fires=Takes(fixed=35.0),
        resolves=Takes(fixed=30.0, scaled=60.0),
    ),
    Drill(
        name="qps-near-limit",
        breaks="nothing yet: inspect gets 97 % of its limit",
        cause=only_traffic,
        traffic=(steady(7.8),),
        alerts=(Alert(name="TritonQpsNearLimit", labels={"model": "inspect"}),),
        check="",
        fires=Takes(fixed=40.0, scaled=60.0),
        resolves=Takes(fixed=60.0, scaled=3900.0),
    ),
    Drill(
        name="spike",
        breaks="bursts of 80 requests in two seconds, little between them",
        cause=only_traffic,
        traffic=(Stream(segments=_burst()),),
        alerts=(Alert(name="TritonQpsSpike", labels={"model": "inspect"}),),
        check="qps_limit",
        model="inspect",
        fires=Takes(fixed=30.0),
        resolves=Takes(fixed=20.0, scaled=300.0),
    ),
    Drill(
        name="ramp",
        breaks="traffic grows from 40 % of the limit towards it",
        cause=only_traffic,
        traffic=(
            Stream(segments=(Segment(qps=3.2, end_qps=7.4, seconds=900.0), Segment(qps=7.4, seconds=900.0))),
        ),
        alerts=(Alert(name="TritonQpsWillExceedLimit", labels={"model": "inspect"}),),
        check="",
        fires=Takes(fixed=60.0, scaled=1500.0),
        resolves=Takes(fixed=30.0, scaled=600.0),
    ),
    Drill(
        name="no-traffic",
        breaks="no client sends requests any more",
        cause=only_traffic,
        traffic=(),
        alerts=(Alert(name="TritonTrafficStopped", labels={"model": "inspect"}),),
        check="upstream_drop",
        model="inspect",
        fires=Takes(fixed=40.0, scaled=600.0),
        resolves=Takes(fixed=30.0),
    ),
)

DRILLS = (*_INSIDE, *_OUTSIDE)
