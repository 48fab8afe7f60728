"""Faults from outside: what clients send, and how much of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.lab.drill.drill import Alert, Drill, Takes, only_traffic
from tritonobs.lab.drill.streams import Stream, steady
from tritonobs.lab.load.schedule import Segment

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from tritonobs.lab.drill.rig import Rig

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


DRILLS = (
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
