"""Faults inside the models: a stage takes longer, gets more to do, or fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.lab.drill.drill import Alert, Drill, Takes

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from tritonobs.lab.drill.rig import Rig

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


DRILLS = (
    _slow("slow-preprocess", "preprocess", "letterbox"),
    _slow("slow-detector", "detector", "infer"),
    _slow("slow-nms", "nms", "suppress"),
    Drill(
        name="more-boxes",
        breaks="the confidence threshold is lost: every row of the network enters suppression",
        cause=_false_boxes,
        # A hundred times as long, and still within the objective: triage reports it, no one is woken.
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
            Alert(name="TritonErrorReasonSurge", labels={"model": "detector", "reason": "inference_failed"}),
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
