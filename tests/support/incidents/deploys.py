"""Deployments and errors: what a model answers is wrong or slow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from support.fleet_sim.curves import ramp
from support.incidents.incident import Incident
from support.incidents.shop import HOUR, MINUTE, USUAL, Shop, during

if TYPE_CHECKING:
    from support.fleet_sim.curves import Curve

BURNS: Final = tuple(f"TritonErrorBudgetBurn{tier}" for tier in ("Fast", "Medium", "Slow", "Long"))
PAGES: Final = BURNS[:2]


def failing(share: float, begins: float, minutes: float) -> Curve:
    """So many errors for a while, the usual few before and after."""
    return during(begins, minutes * MINUTE, share, otherwise=USUAL["raised"])


def slow(share: float, begins: float, minutes: float) -> Curve:
    """So many slow answers for a while, the usual few before and after."""
    return during(begins, minutes * MINUTE, share, otherwise=USUAL["slow"])


def _one(**how: object) -> Shop:
    shop = Shop(12)
    shop.add("nms", **how)
    shop.add("ocr")
    return shop


def _young() -> Shop:
    shop = Shop(9.5)
    shop.add("nms", raised=failing(0.5, 2 * HOUR, 15))
    return shop


def _two_versions() -> Shop:
    shop = Shop(12)
    shop.add("nms", "1", "2", qps=10, raised=failing(0.5, 4 * HOUR, 15))
    return shop


def _second_version(**how: object) -> Shop:
    shop = Shop(12)
    shop.add("nms", "1", qps=5)
    shop.add("nms", "2", qps=5, **how)
    return shop


def _pipeline() -> Shop:
    shop = Shop(12)
    shop.add("inspect", calls={"preprocess": 1, "nms": 2}, qps=6, raised=failing(0.3, 4 * HOUR, 20))
    shop.add("preprocess", qps=6)
    shop.add("nms", qps=12, raised=failing(0.3, 4 * HOUR, 20))
    return shop


def _both() -> Shop:
    return _one(raised=failing(0.21, 4 * HOUR, 30), slow=slow(0.6, 4 * HOUR, 30))


def _one_server_slow() -> Shop:
    shop = Shop(9, servers=3)
    shop.add("detector", qps=30, each={0: {"slow": slow(0.9, 4 * HOUR, 40)}})
    return shop


def _twice() -> Shop:
    return _one(
        raised=lambda seconds: (
            (
                ((seconds >= 4 * HOUR) & (seconds < 4 * HOUR + 600))
                | ((seconds >= 4 * HOUR + 2400) & (seconds < 5 * HOUR))
            )
            * 0.2
            + USUAL["raised"]
        )
    )


AT: Final = 4 * HOUR


def _after(minutes: float) -> float:
    return AT + minutes * MINUTE


INCIDENTS: Final = (
    Incident(
        name="errors",
        says="half of the requests of a model fail for 15 min",
        world=lambda: _one(raised=failing(0.5, AT, 15)),
        begins=AT,
        ends=_after(15),
        needs=PAGES,
    ),
    Incident(
        name="errors-young",
        says="the same with two hours of history",
        world=_young,
        begins=2 * HOUR,
        ends=2 * HOUR + 15 * MINUTE,
        needs=PAGES,
    ),
    Incident(
        name="errors-two-versions",
        says="two versions of a model fail alike",
        world=_two_versions,
        begins=AT,
        ends=_after(15),
        needs=PAGES,
    ),
    Incident(
        name="errors-one-version",
        says="one version of two fails in 12 %",
        world=lambda: _second_version(raised=failing(0.12, AT, 30)),
        begins=AT,
        ends=_after(30),
        needs=PAGES,
    ),
    Incident(
        name="errors-pipeline",
        says="a pipeline and the member that fails in 30 %",
        world=_pipeline,
        begins=AT,
        ends=_after(20),
        needs=PAGES,
    ),
    Incident(
        name="deploy-raises-all",
        says="every request fails for 20 min, then a roll-back",
        world=lambda: _one(raised=failing(1, AT, 20), reloads=(AT, _after(20))),
        begins=AT,
        ends=_after(20),
        needs=PAGES,
    ),
    Incident(
        name="deploy-slower",
        says="four of five requests are too slow for 40 min, then a roll-back",
        world=lambda: _one(slow=slow(0.8, AT, 40), reloads=(AT, _after(40))),
        begins=AT,
        ends=_after(40),
        needs=PAGES,
    ),
    Incident(
        name="deploy-both",
        says="a fifth fails and more than half is slow for 30 min",
        world=_both,
        begins=AT,
        ends=_after(30),
        needs=PAGES,
    ),
    Incident(
        name="version-slower",
        says="the new version of two is slow",
        world=lambda: _second_version(slow=slow(0.7, AT, 40)),
        begins=AT,
        ends=_after(40),
        needs=PAGES,
    ),
    Incident(
        name="errors-few",
        says="2 % fail for two hours",
        world=lambda: _one(qps=20, raised=failing(0.02, AT, 120)),
        begins=AT,
        ends=_after(120),
        needs=BURNS,
    ),
    Incident(
        name="errors-grow",
        says="errors grow from none to 5 % in three hours",
        world=lambda: _one(qps=20, raised=lambda s: (s < 7 * HOUR) * ramp(AT, 7 * HOUR, 0, 0.05)(s)),
        begins=AT,
        ends=7 * HOUR,
        needs=BURNS,
    ),
    Incident(
        name="errors-again",
        says="a fifth fails for 10 min, and again half an hour later",
        world=_twice,
        begins=AT,
        ends=5 * HOUR,
        needs=PAGES,
    ),
    Incident(
        name="queue-timeouts",
        says="a fifth waits too long in the queue and is rejected",
        world=lambda: _one(qps=10, expired=during(AT, 20 * MINUTE, 0.2)),
        begins=AT,
        ends=_after(20),
        needs=PAGES,
    ),
    Incident(
        name="one-server-slow",
        says="a model is slow on one of three servers for 40 min",
        world=_one_server_slow,
        begins=AT,
        ends=_after(40),
        needs=(*BURNS, "TritonReplicaSlow"),
    ),
)
