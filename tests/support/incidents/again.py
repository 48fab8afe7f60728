"""What comes again and again, what lasts for days, and two things at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from support.fleet_sim import curves
from support.fleet_sim.spans import FOREVER
from support.incidents.deploys import BURNS, PAGES, failing
from support.incidents.incident import Incident
from support.incidents.shop import HOUR, MINUTE, Shop, during, part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.fleet_sim.curves import Curve
    from support.fleet_sim.series import Array
    from support.fleet_sim.spans import Span

AT: Final = 3 * HOUR
DAY: Final = 24 * HOUR
_ABOVE, _NEAR = "TritonQpsAboveLimit", "TritonQpsNearLimit"


def _after(minutes: float) -> float:
    return AT + minutes * MINUTE


def _turns(count: int, every: float, lasting: float) -> list[Span]:
    """So many stretches of `lasting` seconds, one begins `every` so many."""
    return [(AT + every * turn, AT + every * turn + lasting) for turn in range(count)]


def _between(spans: list[Span]) -> list[Span]:
    edges = [0.0, *(edge for span in spans for edge in span), FOREVER]
    return list(zip(edges[::2], edges[1::2], strict=True))


def _in(spans: list[Span], value: float, otherwise: float = 0) -> Curve:
    def curve(seconds: Array) -> Array:
        inside = [(seconds >= start) & (seconds < end) for start, end in spans]
        return np.where(np.logical_or.reduce(inside), value, otherwise)

    return curve


def _behind_queue(most_waiting: int) -> Shop:
    shop = Shop(6)
    asked = during(AT, 30 * MINUTE, 40, otherwise=10)
    shop.add("search", qps=asked, limit=20, capacity=9.0, most_waiting=most_waiting, seconds=0.1)
    shop.add("ocr", qps=4)
    return shop


def _queues() -> Iterator[Incident]:
    for most in (25, 100):
        yield Incident(
            name=f"overload-queue-of-{most}",
            says=f"18 of 40 requests/s are done, {most} wait on each server, the rest is refused unseen",
            world=lambda most=most: _behind_queue(most),
            begins=AT,
            ends=_after(30),
            needs=(_ABOVE,),
            lasts=_ABOVE,
        )


def _morning() -> Shop:
    """The first day that Prometheus sees, from midnight to three in the afternoon."""
    shop = Shop(15)
    rise = curves.ramp(6 * HOUR, 9.5 * HOUR, 3, 16.5)
    shop.add("search", qps=rise, limit=20)
    shop.add("ocr", qps=lambda seconds: curves.at(rise, seconds) / 4, limit=8)
    return shop


def _ensemble() -> Shop:
    """One caller of four sends damaged images to an ensemble, whose first step refuses them."""
    shop = Shop(10)
    bad = during(AT, 30 * MINUTE, 0.25)
    calls = {"preprocess": 1, "nms": 1}
    shop.add("inspect", calls=calls, pipeline="ensemble", ensemble=True, bounds=None, refused=bad)
    shop.add("preprocess", refused=bad)
    shop.add("nms", qps=lambda seconds: 6 * (1 - curves.at(bad, seconds)))
    return shop


def _days(days: float, raised: Curve, **how: Any) -> Shop:
    shop = Shop(24 * days, servers=1, tick_seconds=5)
    shop.add("nms", qps=8, raised=raised, **how)
    return shop


def _one_of_three() -> Shop:
    shop = Shop(10, servers=3)
    own = {"raised": failing(1, AT, 20), "reloads": (AT, _after(20))}
    shop.add("nms", qps=9, limit=30, each={0: own})
    shop.add("ocr", qps=4)
    return shop


def _worker() -> Shop:
    """It is dead for a minute of five; then its model is loaded again."""
    shop = Shop(10)
    dead = _turns(12, 300, 60)
    own = {"dead": _in(dead, 0.5), "stuck": dead, "reloads": tuple(end for _, end in dead)}
    shop.add("detector", qps=8, each={0: own})
    shop.add("ocr", qps=4)
    return shop


def _model(count: int, every: float, lasting: float) -> Shop:
    shop = Shop(8)
    shop.add("detector", qps=8, loaded=_between(_turns(count, every, lasting)))
    shop.add("ocr", qps=4)
    return shop


def _now_and_then(**how: Any) -> Shop:
    shop = Shop(10)
    shop.add("search", **{"qps": 8, **how})
    shop.add("ocr", qps=4)
    return shop


def _bursts(every: float) -> Shop:
    shop = Shop(10)
    shop.add("search", qps=_in(_turns(int(5 * HOUR / every), every, 5), 80, 8), limit=20)
    shop.add("ocr", qps=4)
    return shop


def _restarts(count: int, every: float) -> Shop:
    shop = Shop(10, servers=0)
    shop.servers = [
        shop.server("triton-1", restarts=_turns(count, every, 90)),
        *(shop.server(f"triton-{number}") for number in (2, 3, 4)),
    ]
    shop.add("nms", qps=12, limit=30)
    shop.add("ocr", qps=4)
    return shop


def _two() -> Shop:
    shop = Shop(10, servers=0)
    shop.servers = [
        *(shop.server(f"triton-{number}") for number in (1, 2, 3)),
        shop.server("triton-4", restarts=[(_after(5), _after(25))]),
    ]
    shop.add("nms", qps=part(36, 3), limit=40, raised=failing(0.3, AT, 25))
    shop.add("ocr", qps=4)
    return shop


INCIDENTS: Final = (
    *_queues(),
    Incident(
        name="first-morning",
        says="traffic rises to 83 % of its limit in a morning, and there is no yesterday",
        world=_morning,
        begins=0,
        ends=None,
        only=frozenset({_NEAR}),
    ),
    Incident(
        name="bad-client-ensemble",
        says="one caller of four sends damaged images to an ensemble for 30 min",
        world=_ensemble,
        begins=AT,
        ends=_after(30),
        needs=("TritonInvalidInputSurge",),
    ),
    Incident(
        name="budget-spent",
        says="an SLO of three and a half days: every request fails for 30 min, more than the month may have",
        world=lambda: _days(4.2, failing(1, 3.5 * DAY, 30)),
        begins=3.5 * DAY,
        ends=3.5 * DAY + 30 * MINUTE,
        needs=PAGES,
        lasts="TritonErrorBudgetExhausted",
    ),
    Incident(
        name="leak",
        says="0.5 % fail for two days",
        world=lambda: _days(4, failing(0.005, 0.75 * DAY, 2 * DAY / MINUTE)),
        begins=0.75 * DAY,
        ends=2.75 * DAY,
        needs=BURNS,
    ),
    Incident(
        name="budget-exactly",
        says="as many errors as the budget has, for four days and a half",
        world=lambda: _days(4.5, 0.001),
        begins=0,
        ends=None,
        most=5,
    ),
    Incident(
        name="deploy-fails-on-one",
        says="a new version fails all it gets on one server of three for 20 min",
        world=_one_of_three,
        begins=AT,
        ends=_after(20),
        needs=PAGES,
    ),
    Incident(
        name="worker-dies-again",
        says="a worker of two dies every five minutes for an hour and is back a minute later",
        world=_worker,
        begins=AT,
        ends=_after(56),
        needs=("TritonWorkerDead", *PAGES),
    ),
    Incident(
        name="model-flaps",
        says="a model is unloaded for two minutes of five, for an hour",
        world=lambda: _model(12, 300, 120),
        begins=AT,
        ends=_after(57),
        needs=("TritonModelUnloaded",),
    ),
    *(
        Incident(
            name=f"bursts-every-{minutes}-min",
            says=f"a burst of 5 s every {minutes} min for five hours",
            world=lambda minutes=minutes: _bursts(minutes * MINUTE),
            begins=AT,
            ends=AT + 5 * HOUR,
            needs=("TritonQpsSpike",),
        )
        for minutes in (4, 10)
    ),
    *(
        Incident(
            name=f"restarts-every-{minutes}-min",
            says=f"a server of four restarts every {minutes} min for {hours} hours and needs 90 s",
            world=lambda minutes=minutes, count=count: _restarts(count, minutes * MINUTE),
            begins=AT,
            ends=AT + (count - 1) * minutes * MINUTE + 90,
            needs=("TritonServerDown",),
        )
        for minutes, count, hours in ((20, 12, "four"), (40, 5, "three"))
    ),
    Incident(
        name="model-gone-every-20-min",
        says="a model is unloaded for three minutes of twenty, for three hours",
        world=lambda: _model(9, 1200, 180),
        begins=AT,
        ends=AT + 8 * 1200 + 180,
        needs=("TritonModelUnloaded",),
    ),
    Incident(
        name="bad-client-now-and-then",
        says="three of ten images are damaged for five minutes of twenty, for three hours",
        world=lambda: _now_and_then(invalid=_in(_turns(9, 1200, 300), 0.3)),
        begins=AT,
        ends=AT + 8 * 1200 + 300,
        needs=("TritonInvalidInputSurge",),
    ),
    Incident(
        name="overload-every-20-min",
        says="1.5 times the limit for five minutes of twenty, for two hours",
        world=lambda: _now_and_then(qps=_in(_turns(6, 1200, 300), 30, 12), limit=20),
        begins=AT,
        ends=AT + 5 * 1200 + 300,
        needs=(_ABOVE,),
    ),
    Incident(
        name="overload-every-hour",
        says="twice the limit for three minutes of every hour, for three hours",
        world=lambda: _now_and_then(qps=_in(_turns(3, 3600, 180), 40, 12), limit=20),
        begins=AT,
        ends=AT + 2 * 3600 + 180,
        needs=(_ABOVE,),
    ),
    Incident(
        name="model-gone-every-9-min",
        says="a model is unloaded for two and a half minutes of nine, for three hours",
        world=lambda: _model(20, 540, 150),
        begins=AT,
        ends=AT + 19 * 540 + 150,
        needs=("TritonModelUnloaded",),
    ),
    Incident(
        name="bad-client-every-8-min",
        says="three of ten images are damaged for four minutes of eight, for two hours",
        world=lambda: _now_and_then(invalid=_in(_turns(15, 480, 240), 0.3)),
        begins=AT,
        ends=AT + 14 * 480 + 240,
        needs=("TritonInvalidInputSurge",),
    ),
    Incident(
        name="overload-every-8-min",
        says="twice the limit for two minutes of eight, for two hours",
        world=lambda: _now_and_then(qps=_in(_turns(15, 480, 120), 40, 8), limit=20),
        begins=AT,
        ends=AT + 14 * 480 + 120,
        needs=(_ABOVE,),
    ),
    *(
        Incident(
            name=f"errors-every-{minutes}-min",
            says=f"a fifth of the requests fails for ten minutes of {minutes}, for four hours",
            world=lambda minutes=minutes: _now_and_then(
                raised=_in(_turns(240 // minutes, minutes * 60, 600), 0.2)
            ),
            begins=AT,
            ends=AT + (240 // minutes - 1) * minutes * 60 + 600,
            needs=("TritonErrorBudgetBurnFast",),
        )
        for minutes in (40, 60)
    ),
    Incident(
        name="two-at-once",
        says="a model fails in 30 %, and five minutes later a server is down; both last 20 min",
        world=_two,
        begins=AT,
        ends=_after(25),
        needs=PAGES,
    ),
)
