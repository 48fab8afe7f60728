"""The health of servers, of accelerators and of the measurement itself."""

from support.case import Case, fires, silent
from support.simulate import World

STOPPED = "TritonTrafficStopped"
EMPTY, FROZEN, FAILING = "TritonMetricsEmpty", "TritonCountersFrozen", "TritonStageMetricsFailing"
RESTARTS, REPLICA = "TritonRestartLoop", "TritonReplicaSlow"
UNLOADED = "TritonModelUnloaded"
HOST, MEMORY, BUSY = (
    "TritonHostMemoryPressure",
    "TritonAcceleratorMemoryPressure",
    "TritonAcceleratorSaturated",
)
SERVER = {"job": "triton", "instance": "triton-1:8002", "replica": "triton-1"}
OWNED = {"model": "nms", "version": "1", "tier": "low"}
CARD = {"instance": "gpu-1:9400", "device": "GPU-1", "vendor": "nvidia"}


def world(minutes=40):
    """A quiet world that promises nms."""
    return World(minutes=minutes).info("nms", "1", tier="low")


def scraped(samples, up=1):
    """A server of whose page so many samples are kept; relabelling may have dropped the others."""
    sim = World(minutes=20).gauge("scrape_samples_scraped", 100, **SERVER).gauge("up", up, **SERVER)
    return sim.gauge("scrape_samples_post_metric_relabeling", samples, **SERVER)


def flushed(series, level, **labels):
    """A worker with one counter of its own health."""
    return (
        world()
        .triton("nms", qps=1)
        .counter(series, level, **SERVER, model="nms", version="1", worker="w-1-a", **labels)
    )


def restarting(*, every, times, slot="0", minutes=60):
    """A model instance that gets a new worker every so many minutes; what dead ones leave behind stays."""
    sim = world(minutes).triton("nms", qps=1)
    for turn in range(times):
        born, dead = 20 + turn * every, 20 + (turn + 1) * every
        last = turn == times - 1
        steps = [(born, None), (999, 1)] if last else [(born, None), (dead, 1), (999, 0)]
        sim.worker("nms", slot=slot, pid=100 + turn, alive=steps)
    return sim.outage("triton-1")


def flapping(times, *, restarts=True):
    """A server, or only its scrapes, that is away for half a minute so many times."""
    away = [(20 + 3 * turn, 20.5 + 3 * turn) for turn in range(times)]
    levels = [step for start, end in away for step in ((start, 1), (end, None if restarts else 1))]
    return world(60).triton("nms", qps=[*levels, (999, 1)]).outage("triton-1", *away)


def dcgm(used, free, *, minutes=40):
    """A card as DCGM reports it, in MiB."""
    labels = {"instance": "gpu-1:9400", "UUID": "GPU-1", "gpu": "0"}
    sim = World(minutes=minutes).gauge("DCGM_FI_DEV_FB_USED", used, **labels)
    return sim.gauge("DCGM_FI_DEV_FB_FREE", free, **labels)


def replicas(slow, *, qps=2, minutes=40):
    """Three replicas of one model, the third as slow as told."""
    sim = world(minutes).triton("nms", qps=qps, seconds=0.05, replica="triton-1")
    sim.triton("nms", qps=qps, seconds=0.07, replica="triton-2")
    return sim.triton("nms", qps=qps, seconds=slow, replica="triton-3")


CASES = (
    Case(
        says="a page without samples is a wrong path",
        world=scraped([(5, 100), (99, 0)]),
        rules=(EMPTY,),
        checks=(silent(EMPTY, 5.5), fires(EMPTY, 8, severity="warning", **SERVER)),
    ),
    Case(
        says="what a server with an empty page has loaded is unknown, and no model is told to be gone",
        world=world().triton("nms", qps=1).emptied("triton-1", (10, 99)),
        rules=(EMPTY, UNLOADED),
        checks=(fires(EMPTY, 30, **SERVER, severity="warning"), silent(UNLOADED, 40)),
    ),
    Case(
        says="a model that is gone from a page that is not empty is told",
        world=world().triton("nms", qps=[(10, 1), (99, None)]).triton("other", qps=1).emptied("triton-1"),
        rules=(EMPTY, UNLOADED),
        checks=(
            silent(EMPTY, 40),
            fires(UNLOADED, 30, **OWNED, kind="model", severity="critical"),
        ),
    ),
    Case(says="a page with samples is none", world=scraped(1), rules=(EMPTY,), checks=(silent(EMPTY, 20),)),
    Case(
        says="a server that is down is another matter",
        world=scraped(0, up=0),
        rules=(EMPTY,),
        checks=(silent(EMPTY, 20),),
    ),
    Case(
        says="requests that models answer and Triton does not count show frozen counters",
        world=world().triton("nms", qps=0).worker("nms", outcomes={"ok": 2}),
        rules=(FROZEN,),
        checks=(fires(FROZEN, 15, severity="warning", **OWNED),),
    ),
    *(
        Case(
            says=f"a model whose counter stands still after 90 minutes is {says}",
            world=world(minutes=130)
            .triton("nms", qps=[(90, 2), (200, 0)])
            .worker("nms", outcomes={"ok": outcomes}),
            rules=(STOPPED,),
            checks=checks,
        )
        for says, outcomes, checks in (
            (
                "not told to get no requests while it answers some by its own count",
                2,
                (silent(STOPPED, 130),),
            ),
            (
                "told to get none when it answers none",
                [(90, 2), (200, 0)],
                (fires(STOPPED, 120, severity="warning", model="nms"),),
            ),
        )
    ),
    Case(
        says="counters that move are not frozen",
        world=world().triton("nms", qps=2).worker("nms", outcomes={"ok": 2}),
        rules=(FROZEN,),
        checks=(silent(FROZEN, 40),),
    ),
    Case(
        says="an idle model has no frozen counters",
        world=world().triton("nms", qps=0).worker("nms"),
        rules=(FROZEN,),
        checks=(silent(FROZEN, 40),),
    ),
    Case(
        says="metric calls that fail are said once, for a while",
        world=flushed("tritonobs_flush_errors_total", [(10, 0), (10.25, 0.1), (99, 0)]),
        rules=(FAILING,),
        checks=(
            silent(FAILING, 10),
            fires(FAILING, 10.25, severity="warning", replica="triton-1", **OWNED),
            fires(FAILING, 25, severity="warning", replica="triton-1", **OWNED),
            silent(FAILING, 40, since=28),
        ),
    ),
    Case(
        says="records that are dropped are said",
        world=flushed("tritonobs_flush_dropped_total", 0.2, reason="label_cap"),
        rules=(FAILING,),
        checks=(fires(FAILING, 10, severity="warning", replica="triton-1", **OWNED),),
    ),
    Case(
        says="a flusher in good health says nothing",
        world=flushed("tritonobs_flush_dropped_total", 0, reason="label_cap"),
        rules=(FAILING,),
        checks=(silent(FAILING, 40),),
    ),
    Case(
        says="failures of the past are not of today",
        world=flushed("tritonobs_flush_errors_total", [(0.25, 1), (99, 0)]),
        rules=(FAILING,),
        checks=(silent(FAILING, 40, since=18),),
    ),
    Case(
        says="a model instance with three workers in ten minutes restarts in a loop",
        world=restarting(every=4, times=4),
        rules=(RESTARTS,),
        checks=(
            fires(
                RESTARTS,
                30,
                severity="warning",
                model="nms",
                version="1",
                replica="triton-1",
                model_instance="nms_0_0",
            ),
            silent(RESTARTS, 60, since=56),
        ),
    ),
    Case(
        says="a model instance that was restarted once or twice does not",
        world=restarting(every=4, times=2),
        rules=(RESTARTS,),
        checks=(silent(RESTARTS, 60),),
    ),
    Case(
        says="three workers in an hour are no loop",
        world=restarting(every=18, times=3, minutes=90),
        rules=(RESTARTS,),
        checks=(silent(RESTARTS, 90),),
    ),
    Case(
        says="a server that is away three times in ten minutes restarts in a loop",
        world=flapping(3),
        rules=(RESTARTS,),
        checks=(
            fires(RESTARTS, 28, severity="warning", replica="triton-1"),
            silent(RESTARTS, 60, since=50),
        ),
    ),
    Case(
        says="a server of which scrapes were lost six times does not",
        world=flapping(6, restarts=False),
        rules=(RESTARTS,),
        checks=(silent(RESTARTS, 60),),
    ),
    Case(
        says="a server that is away twice does not",
        world=flapping(2),
        rules=(RESTARTS,),
        checks=(silent(RESTARTS, 60),),
    ),
    Case(
        says="a replica three times slower than the others is said",
        world=replicas(0.18),
        rules=(REPLICA,),
        checks=(silent(REPLICA, 9), fires(REPLICA, 20, severity="warning", replica="triton-3", **OWNED)),
    ),
    Case(
        says="a replica nine tenths slower than the others is not",
        world=replicas(0.113),
        rules=(REPLICA,),
        checks=(silent(REPLICA, 40),),
    ),
    Case(
        says="a handful of requests says nothing about a replica",
        world=replicas(0.18, qps=0.06),
        rules=(REPLICA,),
        checks=(silent(REPLICA, 40),),
    ),
    Case(
        says="a single replica has no peers",
        world=world().triton("nms", qps=3, seconds=[(10, 0.05), (99, 1)]),
        rules=(REPLICA,),
        checks=(silent(REPLICA, 40),),
    ),
    Case(
        says="host memory at 97 percent is pressure",
        world=World(minutes=20)
        .gauge("nv_cpu_memory_used_bytes", 97, **SERVER)
        .gauge("nv_cpu_memory_total_bytes", 100, **SERVER),
        rules=(HOST,),
        checks=(silent(HOST, 4), fires(HOST, 10, severity="warning", **SERVER)),
    ),
    Case(
        says="host memory at 90 percent is not",
        world=World(minutes=20)
        .gauge("nv_cpu_memory_used_bytes", 90, **SERVER)
        .gauge("nv_cpu_memory_total_bytes", 100, **SERVER),
        rules=(HOST,),
        checks=(silent(HOST, 20),),
    ),
    Case(
        says="a full pool of pinned memory is pressure",
        world=World(minutes=20)
        .gauge("nv_pinned_memory_pool_used_bytes", 99, **SERVER)
        .gauge("nv_pinned_memory_pool_total_bytes", 100, **SERVER),
        rules=(HOST,),
        checks=(fires(HOST, 10, severity="warning", **SERVER),),
    ),
    Case(
        says="a server without a pool of pinned memory has none to fill",
        world=World(minutes=20)
        .gauge("nv_pinned_memory_pool_used_bytes", 0, **SERVER)
        .gauge("nv_pinned_memory_pool_total_bytes", 0, **SERVER),
        rules=(HOST,),
        checks=(silent(HOST, 20),),
    ),
    Case(
        says="a card with two percent of its memory left is under pressure",
        world=dcgm(9800, 200),
        rules=(MEMORY,),
        checks=(silent(MEMORY, 9), fires(MEMORY, 15, severity="warning", **CARD)),
    ),
    Case(
        says="a card that an engine reserved nine tenths of is not",
        world=dcgm(9200, 800),
        rules=(MEMORY,),
        checks=(silent(MEMORY, 40),),
    ),
    Case(
        says="a card that reports no memory says nothing",
        world=dcgm(0, 0),
        rules=(MEMORY,),
        checks=(silent(MEMORY, 40),),
    ),
    Case(
        says="a card that never rests is said after a while",
        world=World(minutes=60).gauge(
            "nv_gpu_utilization", [(10, 0.2), (99, 0.99)], **SERVER, gpu_uuid="GPU-1"
        ),
        rules=(BUSY,),
        checks=(
            silent(BUSY, 24),
            fires(BUSY, 35, severity="info", instance="triton-1:8002", device="GPU-1", vendor="nvidia"),
        ),
    ),
    Case(
        says="a card that rests now and then is not",
        world=World(minutes=60).gauge("nv_gpu_utilization", 0.9, **SERVER, gpu_uuid="GPU-1"),
        rules=(BUSY,),
        checks=(silent(BUSY, 60),),
    ),
    Case(
        says="a card that works hard for five minutes is not",
        world=World(minutes=60).gauge(
            "nv_gpu_utilization", [(20, 0.1), (25, 1), (99, 0.1)], **SERVER, gpu_uuid="GPU-1"
        ),
        rules=(BUSY,),
        checks=(silent(BUSY, 60),),
    ),
)
