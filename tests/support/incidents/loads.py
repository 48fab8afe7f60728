"""Too many requests, too few, and callers who send what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from support.fleet_sim import curves
from support.incidents.deploys import failing
from support.incidents.incident import Incident
from support.incidents.shop import HOUR, MINUTE, Shop, during

if TYPE_CHECKING:
    from support.fleet_sim.curves import Curve
    from support.fleet_sim.series import Array

AT: Final = 3 * HOUR
DAY: Final = 24 * HOUR
_ABOVE, _NEAR, _WILL = "TritonQpsAboveLimit", "TritonQpsNearLimit", "TritonQpsWillExceedLimit"
_SPIKE, _WAIT, _FULL = "TritonQpsSpike", "TritonQueueWaitHigh", "TritonSaturated"
_STOPPED, _DROP = "TritonTrafficStopped", "TritonTrafficDrop"


def _after(minutes: float) -> float:
    return AT + minutes * MINUTE


def _asked(qps: Curve, *, hours: float = 6, servers: int = 2, limit: float = 20, **how: Any) -> Shop:
    shop = Shop(hours, servers=servers)
    shop.add("search", qps=qps, limit=limit, **how)
    shop.add("ocr", qps=4)
    return shop


def _pipeline(minutes: float, **how: Any) -> Shop:
    """Too many requests to a pipeline reach its members, which have limits of their own."""
    shop = Shop(6)
    asked = during(AT, minutes * MINUTE, 24, otherwise=8)
    shop.add("inspect", qps=asked, limit=12, calls={"preprocess": 1, "nms": 2})
    shop.add("preprocess", qps=asked, limit=15)
    shop.add("nms", qps=lambda seconds: 2 * curves.at(asked, seconds), limit=30, **how)
    return shop


def _shared() -> Shop:
    """Another caller, without a limit, takes the detector that a pipeline needs."""
    shop = Shop(7)
    shop.add("inspect", qps=3, limit=12, calls={"detector": 1})
    shop.add("detector", qps=during(AT, 25 * MINUTE, 9, otherwise=5), capacity=4.2)
    return shop


def _breathing(seconds: Array) -> Array:
    """Minutes that differ by 15 %, around four fifths of the limit."""
    dice = np.random.default_rng(5)
    return np.asarray(16 * np.repeat(dice.gamma(44.4, 1 / 44.4, len(seconds) // 60 + 1), 60)[: len(seconds)])


def _nightly(seconds: Array) -> Array:
    return np.asarray(((seconds - 2 * HOUR) % DAY < 600) * 5.0)


def _day(seconds: Array) -> Array:
    return np.asarray(6 + 4 * np.sin(2 * np.pi * seconds / DAY))


def _dropped() -> Shop:
    at = 26 * HOUR
    return _asked(
        lambda seconds: _day(seconds) * np.where((seconds >= at) & (seconds < at + 5400), 0.1, 1), hours=30
    )


def _bad_client() -> Shop:
    """One caller of four sends damaged images; the pipeline passes on that they are."""
    shop = Shop(11)
    bad = during(AT, 30 * MINUTE, 0.25)
    shop.add("inspect", calls={"preprocess": 1, "nms": 2}, invalid=bad)
    shop.add("preprocess", invalid=bad)
    shop.add("nms", qps=9)
    return shop


INCIDENTS: Final = (
    Incident(
        name="overload",
        says="twice the limit for 20 min, and the servers carry it",
        world=lambda: _asked(during(AT, 20 * MINUTE, 40, otherwise=10)),
        begins=AT,
        ends=_after(20),
        needs=(_ABOVE,),
    ),
    Incident(
        name="overload-a-little",
        says="1.15 times the limit for 30 min",
        world=lambda: _asked(during(AT, 30 * MINUTE, 23, otherwise=10)),
        begins=AT,
        ends=_after(30),
        needs=(_ABOVE,),
    ),
    Incident(
        name="overload-queue",
        says="1.5 times the limit for 15 min, requests wait ever longer",
        world=lambda: _asked(during(AT, 15 * MINUTE, 30, otherwise=10), capacity=12.0),
        begins=AT,
        ends=_after(15),
        needs=(_ABOVE,),
    ),
    Incident(
        name="overload-full-queue",
        says="18 of 40 requests/s are done, the queue is full, the rest is refused unseen",
        world=lambda: _asked(
            during(AT, 30 * MINUTE, 40, otherwise=10), capacity=9.0, most_waiting=50, seconds=0.1
        ),
        begins=AT,
        ends=_after(30),
        needs=(_ABOVE, _WAIT, _FULL),
    ),
    Incident(
        name="overload-pipeline",
        says="twice the limit of a pipeline, whose members have limits, too",
        world=lambda: _pipeline(20),
        begins=AT,
        ends=_after(20),
        needs=(_ABOVE,),
    ),
    Incident(
        name="overload-pipeline-waits",
        says="the same, and requests wait at a member",
        world=lambda: _pipeline(20, capacity=20.0),
        begins=AT,
        ends=_after(20),
        needs=(_ABOVE,),
    ),
    Incident(
        name="overload-without-limit",
        says="a model without a limit gets more than it can do, for 25 min",
        world=lambda: _asked(during(AT, 25 * MINUTE, 14, otherwise=8), limit=0, capacity=6.0),
        begins=AT,
        ends=_after(25),
        needs=(_WAIT, _FULL),
    ),
    Incident(
        name="shared-member",
        says="other callers take the member that a pipeline needs",
        world=_shared,
        begins=AT,
        ends=_after(25),
        needs=(_WAIT, _FULL),
    ),
    Incident(
        name="ramp",
        says="traffic grows from a quarter of the limit to twice of it in two hours",
        world=lambda: _asked(curves.ramp(AT, AT + 2 * HOUR, 5, 40), hours=5.5),
        begins=AT,
        ends=None,
        needs=(_ABOVE,),
    ),
    Incident(
        name="near-limit",
        says="nine tenths of the limit for an hour",
        world=lambda: _asked(during(AT, HOUR, 18, otherwise=10)),
        begins=AT,
        ends=_after(60),
        needs=(_NEAR,),
    ),
    Incident(
        name="bursts",
        says="a burst of 5 s every minute for 20 min, well below the limit on average",
        world=lambda: _asked(
            lambda seconds: 10 + 70 * ((seconds >= AT) & (seconds < _after(20)) & ((seconds - AT) % 60 < 5))
        ),
        begins=AT,
        ends=_after(20),
        needs=(_SPIKE,),
    ),
    Incident(
        name="overload-short",
        says="twice the limit for three quarters of a minute",
        world=lambda: _asked(during(AT, 45, 40, otherwise=10)),
        begins=AT,
        ends=AT + 45,
        needs=(_ABOVE,),
    ),
    Incident(
        name="breathing",
        says="minutes that differ by 15 % around four fifths of the limit, for 12 h",
        world=lambda: _asked(_breathing, hours=12),
        begins=0,
        ends=None,
    ),
    Incident(
        name="traffic-stops",
        says="no request of a model comes for two hours",
        world=lambda: _asked(during(AT, 2 * HOUR, 0, otherwise=10), hours=7),
        begins=AT,
        ends=_after(120),
        needs=(_STOPPED,),
    ),
    Incident(
        name="traffic-ends",
        says="no request of a model comes any more",
        world=lambda: _asked(during(AT, value=0, otherwise=10), hours=7),
        begins=AT,
        ends=None,
        needs=(_STOPPED,),
    ),
    Incident(
        name="traffic-drops",
        says="a tenth of yesterday's traffic for 90 min",
        world=_dropped,
        begins=26 * HOUR,
        ends=27.5 * HOUR,
        needs=(_DROP,),
    ),
    Incident(
        name="nightly-job",
        says="a job of ten minutes, three nights",
        world=lambda: _asked(_nightly, hours=51, servers=1),
        begins=0,
        ends=None,
    ),
    Incident(
        name="bad-client",
        says="one caller of four sends damaged images to a pipeline for 30 min",
        world=_bad_client,
        begins=AT,
        ends=_after(30),
        needs=("TritonInvalidInputSurge",),
    ),
    Incident(
        name="overload-and-errors",
        says="twice the limit, and a tenth of the requests fails of it",
        world=lambda: _asked(
            during(AT, 20 * MINUTE, 40, otherwise=10), hours=11, raised=failing(0.1, AT, 20)
        ),
        begins=AT,
        ends=_after(20),
        needs=(_ABOVE,),
    ),
)
