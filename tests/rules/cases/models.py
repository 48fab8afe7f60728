"""The health of models: waiting, saturation, batches, stages, errors by reason, the cache, reloads."""

from support.case import Case, fires, reads, silent
from support.simulate import World

QUEUE, SATURATED, BATCH = "TritonQueueWaitHigh", "TritonSaturated", "TritonBatchInefficient"
SLOW, SURGE, CACHE, RELOADED = (
    "TritonStageSlow",
    "TritonErrorReasonSurge",
    "TritonCacheCollapse",
    "TritonModelReloaded",
)
EVER = f'count_over_time(ALERTS{{alertname="{QUEUE}",alertstate="firing"}}[30m])'
OWNED = {"model": "nms", "version": "1", "tier": "low"}
TRITON = {"job": "triton", "instance": "triton-1:8002", "replica": "triton-1", "model": "nms", "version": "1"}


def nms(*, minutes=40, **triton):
    """A model version with an owner."""
    return World(minutes=minutes).triton("nms", **triton).info("nms", "1", tier="low")


def staged(*, decode, qps=4, minutes=40, target=0.5):
    """A model of one stage, with a latency target for the whole request."""
    world = nms(qps=qps, minutes=minutes).stage("nms", "decode", qps=qps, times=decode)
    world.stage("nms", "total", qps=qps, times={0.2: 1})
    return world.gauge(
        "tritonobs_latency_target_seconds",
        target,
        model="nms",
        version="1",
        slo="latency",
        stage="total",
        le=str(target),
    )


def errors(world, reason, level, stage="decode"):
    """Errors of a stage, by reason."""
    return world.counter(
        "tritonobs_stage_errors_total", level, **TRITON, worker="w-1-a", stage=stage, reason=reason
    )


def cached(hits, misses, *, minutes=100):
    """A model with a response cache."""
    world = nms(qps=5, minutes=minutes).counter("nv_cache_num_hits_per_model", hits, **TRITON)
    return world.counter("nv_cache_num_misses_per_model", misses, **TRITON)


CASES = (
    Case(
        says="requests that wait 150 ms wait too long",
        world=nms(qps=2, queue=[(10, 0.01), (99, 0.15)], seconds=[(10, 0.06), (99, 0.2)]),
        rules=(QUEUE,),
        checks=(silent(QUEUE, 16), fires(QUEUE, 25, severity="warning", **OWNED)),
    ),
    Case(
        says="one request in a while that waited 150 ms is not a queue, five in five minutes are",
        world=World(minutes=30)
        .triton("one", qps=[(7, 0), (8, 1 / 60), (99, 0)], queue=0.15, seconds=0.3)
        .info("one", "1", tier="low")
        .triton("nms", qps=[(7, 0), (99, 1 / 60)], queue=0.15, seconds=0.3)
        .info("nms", "1", tier="low"),
        rules=(QUEUE,),
        checks=(
            fires(QUEUE, 25, severity="warning", **OWNED),
            reads(f"count by (model) ({EVER})", 30, ({"model": "nms"}, 1)),
        ),
    ),
    Case(
        says="requests that wait 90 ms do not",
        world=nms(qps=2, queue=0.09, seconds=0.14),
        rules=(QUEUE,),
        checks=(silent(QUEUE, 40),),
    ),
    Case(
        says="a wait of two minutes is over before anyone must hear of it",
        world=nms(
            qps=2, queue=[(10, 0.01), (12, 0.2), (99, 0.01)], seconds=[(10, 0.06), (12, 0.25), (99, 0.06)]
        ),
        rules=(QUEUE,),
        checks=(silent(QUEUE, 40),),
    ),
    Case(
        says="rare requests that wait do so whatever idle neighbours do",
        world=nms(qps=0.01, queue=0.2, seconds=0.25).triton("idle"),
        rules=(QUEUE,),
        checks=(fires(QUEUE, 20, severity="warning", **OWNED),),
    ),
    Case(
        says="busy instances and ever more pending requests are saturation",
        world=nms(qps=20, compute=0.095, seconds=0.1, pending=[(step / 2, step / 4) for step in range(80)])
        .worker("nms", slot="0")
        .worker("nms", slot="1", pid=101),
        rules=(SATURATED,),
        checks=(fires(SATURATED, 20, severity="warning", **OWNED),),
    ),
    Case(
        says="busy instances without a growing queue are well used",
        world=nms(qps=20, compute=0.095, seconds=0.1, pending=3)
        .worker("nms", slot="0")
        .worker("nms", slot="1", pid=101),
        rules=(SATURATED,),
        checks=(silent(SATURATED, 40),),
    ),
    Case(
        says="a growing queue before instances with room is something else",
        world=nms(qps=20, compute=0.085, seconds=0.09, pending=[(step / 2, step / 4) for step in range(80)])
        .worker("nms", slot="0")
        .worker("nms", slot="1", pid=101),
        rules=(SATURATED,),
        checks=(silent(SATURATED, 40),),
    ),
    Case(
        says="a batch of four occupies an instance once, not four times",
        world=nms(
            qps=20, compute=0.3, seconds=0.31, batch=4, pending=[(step / 2, step / 4) for step in range(80)]
        )
        .worker("nms", slot="0")
        .worker("nms", slot="1", pid=101),
        rules=(SATURATED,),
        checks=(silent(SATURATED, 40),),
    ),
    Case(
        says="requests that wait while executions take one at a time want batches",
        world=nms(qps=10, queue=0.2, seconds=0.25),
        rules=(BATCH,),
        checks=(silent(BATCH, 10), fires(BATCH, 20, severity="info", **OWNED)),
    ),
    Case(
        says="requests that share executions may wait",
        world=nms(qps=10, queue=0.2, seconds=0.25, batch=2),
        rules=(BATCH,),
        checks=(silent(BATCH, 40),),
    ),
    Case(
        says="one by one is fine where hardly one request waits",
        world=nms(qps=10, queue=0.09, seconds=0.14),
        rules=(BATCH,),
        checks=(silent(BATCH, 40),),
    ),
    Case(
        says="a stage that takes nine tenths of the target for the whole is slow",
        world=staged(decode={0.45: 0.2, 0.01: 0.8}),
        rules=(SLOW,),
        checks=(silent(SLOW, 5), fires(SLOW, 20, severity="warning", stage="decode", **OWNED)),
    ),
    Case(
        says="one slow request in fifty does not make a slow stage",
        world=staged(decode={0.45: 0.02, 0.01: 0.98}),
        rules=(SLOW,),
        checks=(silent(SLOW, 40),),
    ),
    Case(
        says="a stage within its share is not slow, and neither is the whole called a stage",
        world=staged(decode={0.2: 1}, target=0.5).stage("nms", "total", qps=4, times={0.45: 1}),
        rules=(SLOW,),
        checks=(silent(SLOW, 40),),
    ),
    Case(
        says="a stage with a target of its own is measured by that",
        world=staged(decode={0.2: 1}).gauge(
            "tritonobs_latency_target_seconds",
            0.1,
            model="nms",
            version="1",
            slo="decode",
            stage="decode",
            le="0.1",
        ),
        rules=(SLOW,),
        checks=(fires(SLOW, 20, severity="warning", stage="decode", **OWNED),),
    ),
    Case(
        says="a reason five times as frequent as in the hour before is a surge",
        world=errors(nms(qps=4, minutes=100), "too_large", [(80, 0.02), (999, 0.1)]),
        rules=(SURGE,),
        checks=(
            silent(SURGE, 84),
            fires(SURGE, 89, severity="warning", stage="decode", reason="too_large", **OWNED),
        ),
    ),
    Case(
        says="a reason never seen before is a surge from five errors on",
        world=errors(nms(qps=4, minutes=100), "corrupt_image", [(80, None), (999, 0.1)]),
        rules=(SURGE,),
        checks=(
            silent(SURGE, 83.5),
            fires(SURGE, 87, severity="warning", stage="decode", reason="corrupt_image", **OWNED),
        ),
    ),
    Case(
        says="a new version with the errors of the old one is not a surge",
        world=errors(nms(qps=4, minutes=100), "too_large", [(80, 0.1), (999, 0)]).counter(
            "tritonobs_stage_errors_total",
            [(80, None), (999, 0.1)],
            **{**TRITON, "version": "2"},
            stage="decode",
            reason="too_large",
        ),
        rules=(SURGE,),
        checks=(silent(SURGE, 100),),
    ),
    Case(
        says="failures that only Triton sees surge too",
        world=nms(qps=4, minutes=100, failures={"REJECTED": [(80, 0), (999, 0.1)]}),
        rules=(SURGE,),
        checks=(fires(SURGE, 89, severity="warning", reason="REJECTED", **OWNED),),
    ),
    Case(
        says="errors as frequent as ever are no surge",
        world=errors(nms(qps=4, minutes=100), "too_large", 0.1),
        rules=(SURGE,),
        checks=(silent(SURGE, 100, since=10),),
    ),
    Case(
        says="four times as many errors are no surge where chance makes so many: 9 in 5 m instead of 2.25",
        world=errors(nms(qps=4, minutes=100), "too_large", [(80, 0.0075), (999, 0.03)]),
        rules=(SURGE,),
        checks=(silent(SURGE, 100, since=10),),
    ),
    Case(
        says="seven times as many are one, however rare they were",
        world=errors(nms(qps=4, minutes=100), "too_large", [(80, 0.0075), (999, 0.0525)]),
        rules=(SURGE,),
        checks=(fires(SURGE, 90, severity="warning", stage="decode", reason="too_large", **OWNED),),
    ),
    Case(
        says="errors twice as frequent are no surge",
        world=errors(nms(qps=4, minutes=100), "too_large", [(80, 0.1), (999, 0.2)]),
        rules=(SURGE,),
        checks=(silent(SURGE, 100, since=10),),
    ),
    Case(
        says="three errors in five minutes are no surge, even the first ever",
        world=errors(nms(qps=4, minutes=100), "too_large", [(80, 0), (999, 0.01)]),
        rules=(SURGE,),
        checks=(silent(SURGE, 100),),
    ),
    Case(
        says="a cache that answers a tenth of what it did has collapsed",
        world=cached([(80, 4), (999, 0.4)], [(80, 1), (999, 4.6)]),
        rules=(CACHE,),
        checks=(silent(CACHE, 85), fires(CACHE, 93, severity="warning", **OWNED)),
    ),
    Case(
        says="a cache that answers a little less than half of it has: what fell is not in the mean of before",
        world=cached([(80, 4), (999, 1.9)], [(80, 1), (999, 3.1)]),
        rules=(CACHE,),
        checks=(silent(CACHE, 85), fires(CACHE, 93, severity="warning", **OWNED)),
    ),
    Case(
        says="a cache that still answers six tenths of it has not",
        world=cached([(80, 4), (999, 2.6)], [(80, 1), (999, 2.4)]),
        rules=(CACHE,),
        checks=(silent(CACHE, 100),),
    ),
    Case(
        says="a cache that never answered much is no loss",
        world=cached([(80, 0.75), (999, 0)], [(80, 4.25), (999, 5)]),
        rules=(CACHE,),
        checks=(silent(CACHE, 100),),
    ),
    Case(
        says="a handful of requests says nothing about a cache",
        world=World(minutes=100)
        .triton("nms", qps=[(80, 5), (999, 0.02)])
        .counter("nv_cache_num_hits_per_model", [(80, 4), (999, 0)], **TRITON)
        .counter("nv_cache_num_misses_per_model", [(80, 1), (999, 0.02)], **TRITON),
        rules=(CACHE,),
        checks=(silent(CACHE, 100),),
    ),
    Case(
        says="new workers of a loaded model are a reload",
        world=nms(qps=2)
        .worker("nms", alive=[(20, 1), (99, None)])
        .worker("nms", alive=[(20, None), (99, 1)], pid=200),
        rules=(RELOADED,),
        checks=(
            silent(RELOADED, 19.75),
            fires(RELOADED, 21, severity="info", replica="triton-1", **OWNED),
            fires(RELOADED, 25, severity="info", replica="triton-1", **OWNED),
            silent(RELOADED, 40, since=27),
        ),
    ),
    Case(
        says="a load time that changed is a reload of any model",
        world=nms(qps=2).gauge("nv_model_load_duration_secs", [(20, 1.5), (99, 1.7)], **TRITON),
        rules=(RELOADED,),
        checks=(silent(RELOADED, 19.75), fires(RELOADED, 20.5, severity="info", replica="triton-1", **OWNED)),
    ),
    Case(
        says="workers that one scrape did not see were not reloaded; others, of servers that answer, were",
        world=nms(qps=2)
        .worker("nms", replica="triton-2", slot="1", alive=[(30, 1), (99, None)])
        .worker("nms", replica="triton-2", slot="1", alive=[(30, None), (99, 1)], pid=200)
        .triton("nms", qps=2, replica="triton-2")
        .worker("nms")
        .outage("triton-1", (20, 20.25))
        .outage("triton-2"),
        rules=(RELOADED,),
        checks=(
            silent(RELOADED, 29.75),
            fires(RELOADED, 31, severity="info", replica="triton-2", **OWNED),
        ),
    ),
    Case(
        says="the first load is no reload",
        world=nms(qps=[(10, None), (99, 2)]).worker("nms", alive=[(10, None), (99, 1)]),
        rules=(RELOADED,),
        checks=(silent(RELOADED, 40),),
    ),
    Case(
        says="workers that go on working were not reloaded",
        world=nms(qps=2).worker("nms").gauge("nv_model_load_duration_secs", 1.5, **TRITON),
        rules=(RELOADED,),
        checks=(silent(RELOADED, 40),),
    ),
)
