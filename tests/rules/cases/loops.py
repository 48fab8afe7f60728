"""Restart loops: what counts as a start, and what only looks like one; twins, and times of loads."""

from support.case import Case, all_fire, fires, reads, silent
from support.simulate import World

LOOP, TWICE, LIMIT = "TritonRestartLoop", "TritonServerScrapedTwice", "TritonQpsAboveLimit"
NMS = {"model": "nms", "version": "1"}
LOADS, LONGEST = "nv_model_load_duration_secs", "replica:triton_load_seconds:max"
POD = {"job": "triton", "replica": "triton-1"}
INSTANCE = {**NMS, "replica": "triton-1", "model_instance": "nms_0_0"}


def flapping(*away, levels, minutes=60):
    """A server that answers nothing between these minutes, and requests at these levels."""
    return World(minutes=minutes).triton("nms", qps=levels).outage("triton-1", *away)


def two_ports(*, qps):
    """A pod of which two ports are scraped, and a limit of 10."""
    world = World(minutes=20).info("nms", "1").info("nms").gauge("tritonobs_qps_limit", 10, model="nms")
    for endpoint in ("http", "metrics"):
        world.triton("nms", qps=qps, endpoint=endpoint)
        world.gauge("up", 1, job="triton", instance="triton-1:8002", replica="triton-1", endpoint=endpoint)
    return world


def born(*minutes, lost=(), until=60):
    """A server that is always there: a new worker takes over at each minute, and what they leave stays."""
    world = World(minutes=until).triton("nms", qps=1)
    for turn, minute in enumerate(minutes):
        world.worker("nms", pid=100 + turn, alive=[(minute, None), (999, 1)])
    return world.outage("triton-1", *lost)


def brief(loads, levels=((20, 1), (20.25, 0), (23, 1), (23.25, 0), (26, 1), (26.25, 0), (99, 1))):
    """A server whose starts answer the same few requests, so that no count falls, and are down in between."""
    world = World(minutes=60).gauge("up", levels, **POD, instance="triton-1:8002")
    count, since = [(20, 90), (23, 30), (26, 40), (99, 50)], [20, 23, 26, 99]
    world.gauge("nv_inference_request_success", count, job="triton", replica="triton-1", **NMS)
    steps = [*zip(since, loads, strict=True)]
    return world.gauge("nv_model_load_duration_secs", steps, job="triton", replica="triton-1", **NMS)


def silence(world, start, end):
    """Nothing is known between two minutes, not even that scrapes failed."""
    for name, values in world.series.items():
        kept = zip(values, world.times, strict=True)
        world.series[name] = [None if 60 * start <= time < 60 * end else value for value, time in kept]
    return world


CASES = (
    Case(
        says="the time of the longest load of each server, however short",
        world=World(minutes=2)
        .gauge(LOADS, 2.5, **POD, **NMS)
        .gauge(LOADS, 0.5, **POD, model="ocr", version="1")
        .gauge(LOADS, 0.25, job="triton", replica="triton-2", **NMS),
        rules=(LONGEST,),
        checks=(reads(LONGEST, 1, ({"replica": "triton-1"}, 2.5), ({"replica": "triton-2"}, 0.25)),),
    ),
    Case(
        says="a server that dies a third time before it answers a request restarts in a loop",
        # Of the three starts two follow on requests. The third shows as down only.
        world=flapping(
            (20, 20.5),
            (23, 23.5),
            (26, 26.5),
            levels=[(20, 1), (20.5, None), (23, 1), (23.5, None), (26, 0), (26.5, None), (99, 1)],
        ),
        rules=(LOOP,),
        checks=(silent(LOOP, 25.5), fires(LOOP, 28, severity="warning", replica="triton-1")),
    ),
    Case(
        says="a pod that got another address before, and dies a third time, restarts in a loop",
        world=World(minutes=60)
        .triton("nms", qps=[(20, 1), (20.5, None), (23, 1), (23.5, None), (26, 0), (26.5, None), (99, 1)])
        .gauge("up", [(15, 1), (999, None)], **POD, instance="10.0.0.6:8002")
        .gauge(
            "up",
            [(15, None), (20, 1), (20.5, 0), (23, 1), (23.5, 0), (26, 1), (26.5, 0), (99, 1)],
            **POD,
            instance="triton-1:8002",
        ),
        rules=(LOOP,),
        checks=(silent(LOOP, 25.5), fires(LOOP, 28, severity="warning", replica="triton-1")),
    ),
    Case(
        says="starts that live for a scrape each are a loop: no count falls, and all are loaded anew",
        world=brief((2.1, 2.2, 2.3, 2.4)),
        rules=(LOOP,),
        checks=(silent(LOOP, 22.5), fires(LOOP, 28, severity="warning", replica="triton-1")),
    ),
    Case(
        says="lost scrapes are no starts: the models are those that were loaded before",
        world=brief((2.1, 2.1, 2.1, 2.2)),
        rules=(LOOP,),
        checks=(silent(LOOP, 60),),
    ),
    Case(
        says="models that are loaded again on a server that is always there do not restart it",
        world=brief((2.1, 2.2, 2.3, 2.4), levels=((99, 1),)),
        rules=(LOOP,),
        checks=(silent(LOOP, 60),),
    ),
    Case(
        says="two starts are no loop, though scrapes were lost half an hour before",
        world=flapping(
            *((20 + 2 * turn, 20.5 + 2 * turn) for turn in range(3)),
            (45, 45.5),
            (48, 48.5),
            levels=[(45, 1), (45.5, None), (48, 1), (48.5, None), (99, 1)],
        ),
        rules=(LOOP,),
        checks=(silent(LOOP, 60),),
    ),
    Case(
        says="three workers in ten minutes of a server that always answers are a loop",
        world=born(20, 24, 28),
        rules=(LOOP,),
        checks=(silent(LOOP, 27), fires(LOOP, 30, severity="warning", **INSTANCE)),
    ),
    Case(
        says="a Prometheus that begins, or was away, takes no worker of before for a new one",
        world=silence(born(0, 0, 0, until=80), 30, 50),
        rules=(LOOP,),
        checks=(silent(LOOP, 80),),
    ),
    Case(
        says="workers of a new pod that end one after the other are a loop once the pod is old enough",
        world=silence(born(6, 10, 14, 18, 22, until=40), 0, 5),
        rules=(LOOP,),
        checks=(silent(LOOP, 19.5), fires(LOOP, 21, severity="warning", **INSTANCE)),
    ),
    Case(
        says="workers that were not seen in a lost scrape are not new a quarter of an hour later",
        world=born(0, 16, 32, lost=[(48, 48.25)], until=70),
        rules=(LOOP,),
        checks=(silent(LOOP, 70),),
    ),
    Case(
        says="a hundred and fifty requests that took as long on two pages are those of one server",
        world=World(minutes=30)
        .triton("nms", qps=[(5, 0.5), (99, 0)], replica="a", seconds=0.0301, compute=0.02)
        .triton("nms", qps=[(5, 0.5), (99, 0)], replica="again", seconds=0.0301, compute=0.02),
        rules=(TWICE,),
        checks=(
            all_fire(TWICE, 20, *({"severity": "warning", "replica": replica} for replica in ("a", "again"))),
        ),
    ),
    Case(
        says="two servers that took the same half second to load are one; those without a time are not",
        world=World(minutes=20)
        .gauge("nv_model_load_duration_secs", 0.5, job="triton", replica="a", **NMS)
        .gauge("nv_model_load_duration_secs", 0.5, job="triton", replica="b", **NMS)
        .gauge("nv_model_load_duration_secs", 0, job="triton", replica="c", **NMS)
        .gauge("nv_model_load_duration_secs", 0, job="triton", replica="d", **NMS),
        rules=(TWICE,),
        checks=(fires(TWICE, 12, severity="warning", loaded_in="0.5", **NMS),),
    ),
    Case(
        says="a pod with two ports is scraped twice under one name: it is reported, and pages about no limit",
        world=two_ports(qps=7),
        rules=(TWICE, LIMIT),
        checks=(silent(LIMIT, 19), fires(TWICE, 19, severity="warning", **NMS)),
    ),
    Case(
        says="a pod with two ports that gets more than twice its limit pages",
        world=two_ports(qps=11),
        rules=(LIMIT,),
        checks=(reads(f'count(ALERTS{{alertname="{LIMIT}",alertstate="firing"}})', 19, ({}, 1)),),
    ),
)
