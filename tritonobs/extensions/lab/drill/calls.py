"""Faults of calls: stages take longer, get more to do or fail; clients send wrong input, or too much.

A language model, the example's, joins the stack for a drill and leaves it afterwards.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from tritonobs import assets
from tritonobs.errors import StackError
from tritonobs.extensions.lab.drill.drill import CALM, Alert, Drill, Takes, alert
from tritonobs.extensions.lab.drill.rig import Rig, Stream, callers, steady
from tritonobs.extensions.lab.load.schedule import Segment
from tritonobs.extensions.lab.stack.processes import wait_for

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
        alerts=(alert("TritonStageSlow", model=model, stage=stage),),
        check="slow_stage",
        model=model,
        fires=_STAGE_SLOW,
        resolves=_STAGE_WELL,
    )


_INSIDE = (
    _slow("slow-preprocess", "preprocess", "letterbox"),
    _slow("slow-detector", "detector", "infer"),
    _slow("slow-nms", "nms", "suppress"),
    Drill(
        name="more-boxes",
        breaks="the confidence threshold is lost: every row of the network enters suppression",
        cause=lambda rig: rig.faults({"nms": {"settings": {"confidence": 0.0, "max_candidates": 25_200}}}),
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
        cause=lambda rig: rig.faults({"detector": {"infer": {"share": _FAILING_SHARE}}}),
        alerts=(alert("TritonErrorBudgetBurnFast", model="detector", slo="availability"),),
        check="error_surge",
        model="detector",
        fires=Takes(fixed=90.0, scaled=240.0),
        resolves=Takes(fixed=60.0, scaled=600.0),
    ),
    Drill(
        name="records-lost",
        breaks="preprocess records sizes that are not numbers (NaN); they are dropped",
        cause=lambda rig: rig.faults({"preprocess": {"decode": {"unreadable": True}}}),
        alerts=(alert("TritonStageMetricsFailing", model="preprocess"),),
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
        traffic=(steady(3.0, mix="png:4000x3000"),),
        alerts=(alert("TritonErrorBudgetBurnFast", model="preprocess", slo="decode"),),
        check="larger_inputs",
        model="preprocess",
        fires=Takes(fixed=60.0, scaled=600.0),
        resolves=Takes(fixed=60.0, scaled=300.0),
    ),
    Drill(
        name="qps-overflow",
        breaks="twice as many requests as the limit of inspect allows",
        traffic=(steady(16.0),),
        alerts=(alert("TritonQpsAboveLimit", model="inspect"),),
        check="qps_limit",
        model="inspect",
        fires=Takes(fixed=35.0),
        resolves=Takes(fixed=30.0, scaled=60.0),
    ),
    Drill(
        name="qps-near-limit",
        breaks="nothing yet: inspect receives 97 % of its limit",
        traffic=(steady(7.8),),
        alerts=(alert("TritonQpsNearLimit", model="inspect"),),
        check="",
        fires=Takes(fixed=40.0, scaled=60.0),
        resolves=Takes(fixed=60.0, scaled=3900.0),
        # Where most of the known traffic was calm, a step does not count as its usual variation.
        calm=Takes(fixed=0.0, scaled=2700.0),
    ),
    Drill(
        name="spike",
        breaks="bursts of 80 requests in two seconds, little between them",
        traffic=(Stream(segments=_burst()),),
        alerts=(alert("TritonQpsSpike", model="inspect"),),
        check="qps_limit",
        model="inspect",
        fires=Takes(fixed=30.0),
        resolves=Takes(fixed=20.0, scaled=300.0),
    ),
    Drill(
        name="ramp",
        breaks="traffic grows from 40 % of the limit towards it",
        traffic=(
            Stream(segments=(Segment(qps=3.2, end_qps=7.4, seconds=480.0), Segment(qps=7.4, seconds=900.0))),
        ),
        alerts=(alert("TritonQpsWillExceedLimit", model="inspect"),),
        check="",
        fires=Takes(fixed=60.0, scaled=1500.0),
        resolves=Takes(fixed=30.0, scaled=600.0),
    ),
    Drill(
        name="no-traffic",
        breaks="no client sends requests any more",
        traffic=(),
        alerts=(alert("TritonTrafficStopped", model="inspect"),),
        check="upstream_drop",
        model="inspect",
        fires=Takes(fixed=40.0, scaled=600.0),
        resolves=Takes(fixed=30.0),
        # The alert wants to know the model for 70 minutes, ten of which pass without requests.
        calm=Takes(fixed=0.0, scaled=3600.0),
    ),
)

DRILLS = (*_INSIDE, *_OUTSIDE)

_MODEL = "llm"
_MODELS = "\nmodels:\n"
_GONE_SECONDS = 60.0
_FILLED = Takes(fixed=80.0, scaled=350.0)
"""Until the windows of a model that is new hold nothing but its usual traffic."""
_BURNS, _BURNT = Takes(fixed=60.0, scaled=600.0), Takes(fixed=60.0, scaled=300.0)


@contextmanager
def _served(parameters: Mapping[str, str], rig: Rig) -> Iterator[None]:
    """The example's language model, with other parameters, on the server and in the fleet file."""
    example, model = assets.folder("examples") / "language", rig.folders.models / _MODEL
    if model.exists():
        raise StackError(f"{model} is there already; start the stack again")
    try:
        shutil.copytree(example / "models" / _MODEL, model, ignore=shutil.ignore_patterns("__pycache__"))
        config = model / "config.pbtxt"
        config.write_text(_with(config.read_text(encoding="utf-8"), parameters), encoding="utf-8")
        rig.triton.load(_MODEL)
        section = _section(example / "fleet.yaml")
        with rig.edited(rig.fleet_file, lambda text: text.replace(_MODELS, f"{_MODELS}{section}", 1)):
            yield
    finally:
        try:
            # A model that is unloaded answers its requests first.
            rig.traffic.stop()
            _unload(rig)
        finally:
            shutil.rmtree(model, ignore_errors=True)


def _unload(rig: Rig) -> None:
    rig.triton.unload(_MODEL)
    wait_for(lambda: None if rig.triton.model_ready(_MODEL) else True, f"{_MODEL} to go", _GONE_SECONDS)


def _with(config: str, parameters: Mapping[str, str]) -> str:
    for name, value in parameters.items():
        config = re.sub(rf'("{name}" value: {{ string_value: )"[^"]*"', rf'\g<1>"{value}"', config)
    return config


def _section(fleet_file: Path) -> str:
    """What the example's fleet file says of the model, without the latency that the others promise."""
    _, _, models = fleet_file.read_text(encoding="utf-8").partition(_MODELS)
    section, _, _ = models.partition("\n\n")
    return f"{section}\n".replace("    slos:\n", "    slos:\n      latency: none\n")


def _prompts(qps: float, size: str) -> Stream:
    return steady(qps, model=_MODEL, mix=f"prompt:{size}")


# With five or six of these the cache is full, and their answers outgrow it.
_SIXTEEN = callers(16, model=_MODEL, mix="prompt:60x40")
# Prompts of which only one has room at a time; three a second are twice what the model can then do.
_LONG = replace(_prompts(3.0, "400x30"), patience_seconds=60.0, most_waiting=12)


def _drill(
    name: str,
    breaks: str,
    *,
    usual: Stream,
    traffic: Stream,
    alerts: tuple[Alert, ...],
    check: str,
    fires: Takes = _BURNS,
    resolves: Takes = _BURNT,
    parameters: Mapping[str, str] | None = None,
) -> Drill:
    return Drill(
        name=name,
        breaks=breaks,
        prepare=partial(_served, parameters or {}),
        usual=(*CALM, usual),
        calm=_FILLED,
        traffic=(*CALM, traffic),
        after=CALM,
        alerts=alerts,
        check=check,
        model=_MODEL,
        fires=fires,
        resolves=resolves,
    )


def _burn(slo: str) -> Alert:
    return alert("TritonErrorBudgetBurnFast", model=_MODEL, slo=slo)


_ABOUT_IT = {"model": _MODEL}

OF_A_LANGUAGE_MODEL = (
    _drill(
        "kv-cache-full",
        "sixteen callers ask a language model whose cache has room for six",
        usual=_prompts(1.0, "60x40"),
        traffic=_SIXTEEN,
        alerts=(
            Alert(name="TritonKvCacheFull", labels=_ABOUT_IT),
            Alert(name="TritonPreemptions", labels=_ABOUT_IT),
        ),
        check="kv_cache_full",
        fires=Takes(fixed=45.0, scaled=330.0),
        resolves=Takes(fixed=30.0, scaled=600.0),
    ),
    _drill(
        "longer-prompts",
        "prompts of 400 words instead of 20: only one at a time has room in the cache",
        usual=_prompts(3.0, "20x30"),
        traffic=_LONG,
        alerts=(_burn("first"),),
        check="prompt_longer",
    ),
    _drill(
        "larger-batches",
        "a language model runs 32 requests at once, and each token takes longer",
        usual=_prompts(1.0, "20x40"),
        traffic=callers(32, model=_MODEL, mix="prompt:20x40"),
        alerts=(_burn("flow"),),
        check="batch_too_large",
        parameters={"cache_tokens": "6000", "max_num_seqs": "32", "seat_seconds": "0.004"},
    ),
    _drill(
        "tokens-overflow",
        "a language model receives 2,400 prompt tokens/s; its limit is 2,000",
        usual=_prompts(2.0, "400x2"),
        traffic=_prompts(6.0, "400x2"),
        alerts=(
            Alert(name="TritonTokensNearLimit", labels=_ABOUT_IT),
            Alert(name="TritonTokensAboveLimit", labels=_ABOUT_IT),
        ),
        check="tokens_limit",
        fires=Takes(fixed=60.0, scaled=120.0),
        resolves=Takes(fixed=40.0, scaled=60.0),
    ),
)
