"""Servers that are down, silent, doubled or restarted, at the edge of each window.

Scenarios stand side by side, each a cluster or a server of its own.
"""

from support.case import Case, all_fire, fires, reads, silent
from support.simulate import World

DOWN, LOST, LOOP = "TritonServerDown", "TritonServersLost", "TritonRestartLoop"
TWICE, UNCOUNTED = "TritonServerScrapedTwice", "TritonRequestsUncounted"
SILENT, OUTAGE, BEGINS = (
    "replica:triton_silent:info",
    "replica:triton_outage:info",
    "replica:triton_outage_begins:info",
)
SEEN_TWICE, ANSWERED = "replica:triton_scraped_twice:count", "replica:triton_requests_succeeded:sum"
MICROS, DONE = "nv_inference_request_duration_us", "nv_inference_request_success"
RESTARTED, LONGEST = "replica:triton_restarted:bool", "replica:triton_load_seconds:max"
MISSED, KNOWN = "replica:triton_requests_uncounted:sum", "cluster:tritonobs_known:info"
NOW, LATER, SCRAPE = 30, 300, 0.25
POD = {"namespace": "models"}


def since(minute, value=1):
    """A value from this minute on, and nothing before."""
    return [(minute, None), (999, value)]


def until(minute, value=1):
    """A value until this minute, and nothing after it."""
    return [(minute, value), (999, None)]


def between(first, last, value=1):
    """A value between two minutes, and nothing else."""
    return [(first, None), (last, value), (999, None)]


def turned(minute, before=1, after=0):
    """A value until this minute, and another one after it."""
    return [(minute, before), (999, after)]


def server(world, cluster, replica, level, **labels):
    """Whether scrapes of a server succeed."""
    own = {"job": "triton", "instance": f"{replica}:8002"}
    return world.gauge("up", level, **own, cluster=cluster, replica=replica, **labels)


def told(alert, minute, *servers):
    """Exactly these servers are told at this minute, by cluster and name."""
    asked = f'count by (cluster, replica) (ALERTS{{alertname="{alert}",alertstate="firing"}})'
    return reads(asked, minute, *(({"cluster": one, "replica": name}, 1) for one, name in servers))


# By name: the labels of the server, whether scrapes of it succeed, and whether it is told half a minute
# before now, and now. Nothing is said of the server's past outages.
ANSWERS = {
    "fails": ({}, turned(NOW - 0.75), (False, True)),
    "fails-now": ({}, turned(NOW - 0.5), (False, False)),
    # It has four minutes for its first answer, whatever it answered before it was gone.
    "comes-again": ({}, [(NOW - 12, 1), (NOW - 4.75, None), (999, 0)], (False, True)),
    # A pod has ten minutes for its first answer, and two before it is removed.
    "pod-loads": (POD, since(NOW - 10.75, 0), (False, True)),
    "pod-ends": (POD, turned(NOW - 2.75), (False, True)),
    "pod-ended": (POD, turned(NOW - 4), (True, True)),
}


def of_answers():
    """Servers that are asked, and fail."""
    world = World(minutes=NOW)
    for replica, (labels, level, _) in ANSWERS.items():
        server(world, "asked", replica, level, **labels)
    return Case(
        says="a server that fails is down as soon as it has had the time to answer that it is given",
        world=world,
        rules=(DOWN,),
        given=(SILENT, OUTAGE, BEGINS),
        checks=tuple(
            told(
                DOWN,
                minute,
                *(("asked", name) for name, (_, _, is_told) in ANSWERS.items() if is_told[place]),
            )
            for place, minute in enumerate((NOW - 0.5, NOW))
        ),
    )


def of_silence():
    """Servers of which no sample comes."""
    world = World(minutes=NOW)
    server(world, "east", "heard", 1)
    server(world, "east", "silent", until(20)).gauge(SILENT, since(20.75), cluster="east", replica="silent")
    server(world, "east", "back", [(20, 1), (25, None), (999, 1)])
    world.gauge(SILENT, between(20.75, 25), cluster="east", replica="back")
    # It is silent for two minutes.
    server(world, "east", "lately", until(NOW - 2))
    world.gauge(SILENT, since(NOW - 1.25), cluster="east", replica="lately")
    # One server of this cluster is silent, and then all are.
    server(world, "west", "first", until(20)).gauge(SILENT, since(20.75), cluster="west", replica="first")
    server(world, "west", "last", until(NOW - 2))
    world.gauge(SILENT, since(NOW - 1.25), cluster="west", replica="last")
    return Case(
        says="a silent server is down until it is heard again, or until nothing of its cluster is heard",
        world=world,
        rules=(DOWN,),
        given=(SILENT, OUTAGE, BEGINS),
        checks=(
            told(DOWN, NOW - 3, ("east", "silent"), ("west", "first")),
            told(DOWN, NOW, ("east", "silent"), ("east", "lately")),
        ),
    )


# By name, in minutes before now: when outages of a server began and ended, and whether it is told now.
OUTAGES = {
    "ended-lately": ([(20, 3)], True),
    "ended": ([(20, 8)], False),
    "again": ([(150, 140), (70, 50)], True),
    "again-and-well": ([(150, 140), (90, 70)], False),
    "again-after-hours": ([(200, 190), (70, 50)], False),
}
# When the last sign was that a server is silent, in minutes before now, and whether it is told now.
LAST_SIGNS = {"silent": (50, True), "silent-for-long": (70, False)}


def of_past():
    """Servers that were down, or silent, some time ago."""
    world = World(minutes=LATER, scrape_seconds=60)
    server(world, "east", "heard", 1)
    rows = []
    for replica, (outages, is_told) in OUTAGES.items():
        own = {"job": "triton", "instance": f"{replica}:8002", "cluster": "east", "replica": replica}
        down, begins = [], []
        for began, ended in outages:
            down += [(LATER - began, None), (LATER - ended, 1)]
            begins += [(LATER - began, None), (LATER - began + 1, 1)]
        world.gauge(OUTAGE, [*down, (999, None)], **own).gauge(BEGINS, [*begins, (999, None)], **own)
        server(world, "east", replica, 1)
        rows += [("east", replica)] if is_told else []
    for replica, (last, is_told) in LAST_SIGNS.items():
        world.gauge(SILENT, between(LATER - 200, LATER - last), cluster="east", replica=replica)
        rows += [("east", replica)] if is_told else []
    return Case(
        says="an outage is told for five minutes after it, and for an hour when it is the second in three",
        world=world,
        rules=(DOWN,),
        given=(SILENT, OUTAGE, BEGINS),
        checks=(told(DOWN, LATER, *rows),),
    )


# By cluster, of two pages: how often they were alike, all answered requests, those of one model, and the
# microseconds that these took on each; and what is told: the pages, or the model.
PAGES, MODEL, NOTHING = "pages", "model", "nothing"
ALIKE = {
    "thrice": (3, 100, 100, (4500, 4500), PAGES),
    "twice": (2, 100, 100, (4500, 4500), MODEL),
    # Another model is busy, so that the pages as a whole are never alike.
    "idle-model": (None, 5000, 100, (4500, 4500), MODEL),
    "few-requests": (3, 99, 99, (4500, 4500), NOTHING),
    "few-of-the-model": (None, 5000, 99, (4500, 4500), NOTHING),
    "apart": (None, 100, 100, (4500, 4501), NOTHING),
}


def of_pages():
    """Two pages in each cluster, with one model."""
    world, rows = World(minutes=2), []
    model = {"model": "nms", "version": "1"}
    for cluster, (times, answered, done, micros, what) in ALIKE.items():
        for replica, took in zip(("a", "b"), micros, strict=True):
            own = {"cluster": cluster, "replica": replica}
            world.gauge(SEEN_TWICE, times, **own).gauge(ANSWERED, answered, **own)
            world.gauge(DONE, done, **own, **model, job="triton")
            world.gauge(MICROS, took, **own, **model, job="triton")
            rows += [own] if what == PAGES else []
        rows += [{"cluster": cluster, **model}] if what == MODEL else []
    return Case(
        says="a hundred requests that took the same time on two pages are told by page, else by model",
        world=world,
        rules=(TWICE,),
        given=(SEEN_TWICE, ANSWERED),
        checks=(all_fire(TWICE, 2, *({**labels, "severity": "warning"} for labels in rows)),),
    )


def steps(minutes, *values):
    """A value until each minute, and the last one after that."""
    return [*zip((*minutes, 999), values, strict=True)]


def flaps(*minutes):
    """A server that misses one scrape at each of these minutes."""
    return [*(step for minute in minutes for step in ((minute, 1), (minute + SCRAPE, 0))), (999, 1)]


# By server: when it loaded its models anew, when it missed a scrape, and whether it restarts in a loop now.
STARTS = {
    "loop": ((50, 56), (50, 53, 56), True),
    "loads-before": ((20, 56), (50, 53, 56), False),
    "misses-before": ((50, 56), (10, 13, 16), False),
    "misses-twice": ((50, 56), (50, 56), False),
}


def of_starts():
    """Servers whose counters never fall."""
    world = World(minutes=60)
    for replica, (loads, misses, _) in STARTS.items():
        world.gauge(LONGEST, steps(loads, 2.1, 2.2, 2.3), cluster="east", replica=replica)
        server(world, "east", replica, flaps(*misses))
    return Case(
        says="loads and lost scrapes are a loop of restarts where both are of one quarter of an hour",
        world=world,
        rules=(LOOP,),
        given=(RESTARTED, LONGEST),
        checks=(told(LOOP, 60, *(("east", name) for name, (_, _, is_told) in STARTS.items() if is_told)),),
    )


CASES = (
    of_answers(),
    of_silence(),
    of_past(),
    of_pages(),
    of_starts(),
    Case(
        says="a single request that no record counts is told for an hour",
        world=World(minutes=68).gauge(MISSED, between(5, 6), replica="a"),
        rules=(UNCOUNTED,),
        given=(MISSED,),
        checks=(
            silent(UNCOUNTED, 4.75),
            fires(UNCOUNTED, 65.5, severity="info", replica="a"),
            silent(UNCOUNTED, 68, since=66.5),
        ),
    ),
    Case(
        # The world ends at minute 5: no marker says that its series do.
        says="a cluster is lost soon after its last sample, though nothing says that no more will come",
        world=server(World(minutes=5), "east", "a", 1).gauge(KNOWN, 1, cluster="east"),
        rules=(LOST,),
        given=(KNOWN,),
        checks=(silent(LOST, 5.75), fires(LOST, 6.5, severity="critical", cluster="east")),
    ),
)
