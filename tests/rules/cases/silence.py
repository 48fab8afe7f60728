"""No traffic, four causes: each has its alert, and the other three stay silent. And drops against history."""

from support.case import Case, fires, silent
from support.simulate import World

STOPPED, DOWN, UNLOADED, DEAD = (
    "TritonTrafficStopped",
    "TritonServerDown",
    "TritonModelUnloaded",
    "TritonWorkerDead",
)
DROP = "TritonTrafficDrop"
ALL = (STOPPED, DOWN, UNLOADED, DEAD)
SERVER = {"job": "triton", "instance": "triton-1:8002", "replica": "triton-1"}
OWNED = {"model": "nms", "tier": "low"}
DAY = 24 * 60


def fleet(qps, *, minutes=120, alive=1, pending=0):
    """One server with one Python model that the fleet file promises."""
    world = World(minutes=minutes).triton("nms", qps=qps, pending=pending).worker("nms", alive=alive)
    return world.info("nms", tier="low").info("nms", "1", tier="low")


def silent_but(alert, minutes):
    """The other three of the four stay silent all the time."""
    return tuple(silent(other, minutes) for other in ALL if other != alert)


CASES = (
    Case(
        says="no client sends requests any more",
        world=fleet([(80, 2), (999, 0)]).outage("triton-1"),
        rules=ALL,
        checks=(
            silent(STOPPED, 89),
            fires(STOPPED, 95, severity="warning", **OWNED),
            *silent_but(STOPPED, 120),
        ),
    ),
    Case(
        says="the server cannot be scraped",
        world=fleet(2).outage("triton-1", (80, 999)),
        rules=ALL,
        checks=(
            silent(DOWN, 80),
            fires(DOWN, 81, severity="critical", **SERVER),
            fires(DOWN, 120, severity="critical", **SERVER),
            *silent_but(DOWN, 120),
        ),
    ),
    Case(
        says="the model is unloaded",
        world=fleet([(80, 2), (999, None)], alive=[(80, 1), (999, None)]).outage("triton-1"),
        rules=ALL,
        checks=(
            silent(UNLOADED, 80),
            fires(UNLOADED, 84, severity="critical", model="nms", version="1", tier="low", kind="model"),
            *silent_but(UNLOADED, 120),
        ),
    ),
    Case(
        says="the worker is dead and requests hang",
        world=fleet([(80, 2), (999, 0)], alive=[(80, 1), (999, 0)], pending=[(80, 0), (999, 5)]).outage(
            "triton-1"
        ),
        rules=ALL,
        checks=(
            silent(DEAD, 80),
            fires(
                DEAD,
                83,
                severity="critical",
                model="nms",
                version="1",
                model_instance="nms_0_0",
                replica="triton-1",
                tier="low",
            ),
            *silent_but(DEAD, 120),
        ),
    ),
    Case(
        says="the worker is dead and nobody asks: only the worker is said",
        world=fleet([(80, 2), (999, 0)], alive=[(80, 1), (999, 0)]).outage("triton-1"),
        rules=ALL,
        checks=(silent(STOPPED, 120), silent(UNLOADED, 120)),
    ),
    Case(
        says="requests that hang are no missing traffic",
        world=fleet([(80, 2), (999, 0)], pending=[(80, 0), (999, 5)]).outage("triton-1"),
        rules=ALL,
        checks=tuple(silent(alert, 120) for alert in ALL),
    ),
    Case(
        says="a fleet in good health, one server without this model",
        world=fleet(2).triton("other", qps=1, replica="triton-2").outage("triton-1").outage("triton-2"),
        rules=ALL,
        checks=tuple(silent(alert, 120) for alert in ALL),
    ),
    Case(
        says="one lost scrape is no outage",
        world=fleet(2).outage("triton-1", (80, 80.25)),
        rules=ALL,
        checks=tuple(silent(alert, 120) for alert in ALL),
    ),
    Case(
        says="a model that may be on a server we cannot see is not called unloaded",
        world=fleet(2)
        .triton("other", qps=1, replica="triton-2")
        .outage("triton-1", (80, 999))
        .outage("triton-2"),
        rules=ALL,
        checks=(silent(UNLOADED, 120), silent(STOPPED, 120)),
    ),
    Case(
        says="a model on one replica of two is loaded",
        world=fleet([(80, 2), (999, None)])
        .triton("nms", qps=2, replica="triton-2")
        .outage("triton-1")
        .outage("triton-2"),
        rules=ALL,
        checks=(silent(UNLOADED, 120), silent(STOPPED, 120)),
    ),
    Case(
        says="a worker that was started again lives, whatever its predecessor left behind",
        world=fleet(2, alive=[(80, 1), (999, 0)])
        .worker("nms", alive=[(80, None), (999, 1)], pid=200)
        .outage("triton-1"),
        rules=ALL,
        checks=tuple(silent(alert, 120) for alert in ALL),
    ),
    Case(
        says="what a dead worker left behind says nothing once its model is unloaded",
        world=fleet([(100, 2), (999, None)], alive=[(99, 1), (999, 0)], minutes=140).outage("triton-1"),
        rules=(DEAD, UNLOADED),
        checks=(
            silent(DEAD, 140, since=110),
            fires(UNLOADED, 110, severity="critical", model="nms", version="1", tier="low", kind="model"),
        ),
    ),
    Case(
        says="silence is telling only where requests were to be expected",
        world=fleet([(80, 0.02), (999, 0)]).outage("triton-1"),
        rules=(STOPPED,),
        checks=(silent(STOPPED, 120),),
    ),
    Case(
        says="silence as yesterday at this time is no news",
        world=World(minutes=DAY + 120, scrape_seconds=60)
        .triton("nms", qps=[(80, 2), (DAY, 0), (DAY + 80, 2), (9999, 0)])
        .worker("nms")
        .info("nms"),
        rules=(STOPPED,),
        checks=(silent(STOPPED, DAY + 120, since=DAY + 3),),
    ),
    Case(
        says="one version that is drained is a rollout, no silence",
        world=fleet([(80, 2), (999, 0)])
        .triton("nms", "2", qps=[(80, 0), (999, 2)])
        .worker("nms", "2", slot="1")
        .info("nms", "2", tier="low")
        .outage("triton-1"),
        rules=(*ALL, DROP),
        checks=tuple(silent(alert, 120) for alert in (*ALL, DROP)),
    ),
    Case(
        says="a third of yesterday's traffic at this time is a drop",
        world=World(minutes=DAY + 60, scrape_seconds=60)
        .triton("nms", qps=[(DAY, 3), (9999, 1)])
        .info("nms", tier="low"),
        rules=(DROP,),
        checks=(
            silent(DROP, DAY + 5),
            fires(DROP, DAY + 30, severity="warning", model="nms", tier="low"),
        ),
    ),
    Case(
        says="a drop of a version that another took over from is a rollout",
        world=World(minutes=DAY + 60, scrape_seconds=60)
        .triton("a", "1", qps=[(DAY, 4), (9999, 1)])
        .triton("a", "2", qps=[(DAY, 0), (9999, 3)]),
        rules=(DROP,),
        checks=(silent(DROP, DAY + 60),),
    ),
    Case(
        says="two thirds of yesterday's traffic are no drop",
        world=World(minutes=DAY + 60, scrape_seconds=60).triton("nms", qps=[(DAY, 3), (9999, 2)]).info("nms"),
        rules=(DROP,),
        checks=(silent(DROP, DAY + 60),),
    ),
    Case(
        says="little traffic yesterday says nothing about today",
        world=World(minutes=DAY + 60, scrape_seconds=60).triton("nms", qps=[(DAY, 0.4), (9999, 0.1)]),
        rules=(DROP,),
        checks=(silent(DROP, DAY + 60),),
    ),
    Case(
        says="as little as last week at this time is no drop, whatever yesterday was",
        world=World(minutes=7 * DAY + 60, scrape_seconds=60).triton(
            "nms", qps=[(60, 1), (6 * DAY + 60, 3), (99999, 1)]
        ),
        rules=(DROP,),
        checks=(
            fires(DROP, 7 * DAY, severity="warning", model="nms"),
            silent(DROP, 7 * DAY + 60, since=7 * DAY + 10),
        ),
    ),
    Case(
        says="traffic that stopped altogether is no drop",
        world=World(minutes=DAY + 60, scrape_seconds=60).triton("nms", qps=[(DAY, 3), (9999, 0)]),
        rules=(DROP,),
        checks=(silent(DROP, DAY + 60, since=DAY + 11),),
    ),
    Case(
        says="traffic that is not seen because a server is away is no drop",
        world=World(minutes=DAY + 60, scrape_seconds=60)
        .triton("nms", qps=3)
        .triton("nms", qps=1, replica="triton-2")
        .outage("triton-1", (DAY, 9999))
        .outage("triton-2"),
        rules=(DROP,),
        checks=(silent(DROP, DAY + 60),),
    ),
)
