"""Faults of a language model: the example's, which joins the stack for a drill and leaves it afterwards."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tritonobs import assets
from tritonobs.errors import StackError
from tritonobs.extensions.lab.drill.drill import (
    CALM,
    Alert,
    Drill,
    Stream,
    Takes,
    callers,
    only_traffic,
    steady,
)
from tritonobs.extensions.lab.stack.ports import wait_for

if TYPE_CHECKING:
    from tritonobs.extensions.lab.drill.rig import Rig

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
        cause=only_traffic,
        traffic=(*CALM, traffic),
        after=CALM,
        alerts=alerts,
        check=check,
        model=_MODEL,
        fires=fires,
        resolves=resolves,
    )


def _burn(slo: str) -> Alert:
    return Alert(name="TritonErrorBudgetBurnFast", labels={"model": _MODEL, "slo": slo})


_ABOUT_IT = {"model": _MODEL}

DRILLS = (
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
        "a language model works on 32 answers at once, and each token takes longer",
        usual=_prompts(1.0, "20x40"),
        traffic=callers(32, model=_MODEL, mix="prompt:20x40"),
        alerts=(_burn("flow"),),
        check="batch_too_large",
        parameters={"cache_tokens": "6000", "max_num_seqs": "32", "seat_seconds": "0.004"},
    ),
    _drill(
        "tokens-overflow",
        "a language model gets 2,400 tokens of prompts a second, its limit is 2,000",
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
