"""Limits of requests: above, near, bursts, forecasts, and a source that went away."""

from support.case import Case, fires, reads, silent
from support.simulate import World
from tritonobs import names

LIMIT = "tritonobs_qps_limit"
ABOVE, NEAR = "TritonQpsAboveLimit", "TritonQpsNearLimit"
SPIKE, WILL, LOST = "TritonQpsSpike", "TritonQpsWillExceedLimit", "TritonLimitSourceLost"


def detector(qps, *, limit=8, minutes=30, **labels):
    """A detector with a limit for version 1, owned by vision."""
    world = World(minutes=minutes).triton("detector", qps=qps)
    world.info("detector", team="vision", tier="critical").info(
        "detector", "1", team="vision", tier="critical"
    )
    return world.gauge(LIMIT, limit, **{"model": "detector", "version": "1", **labels})


def ramp(start, end, minutes):
    """Steps of a quarter of a minute from one rate to another, then on at the last."""
    steps = minutes * 4
    return [((step + 1) / 4, start + (end - start) * step / steps) for step in range(steps + 1)]


def hung(scrapes, qps=5):
    """A server that hangs for so many scrapes from minute 10 on; its first page is from before it goes on."""
    back = 10 + (scrapes + 1) / 4
    world = detector(qps, minutes=50).outage("triton-1", (10.25, back))
    (done,) = (row for name, row in world.series.items() if name.startswith(names.TRITON_SUCCESS + "{"))
    done[int(4 * back)] = done[40]
    return world


OWNED = {"model": "detector", "version": "1", "team": "vision", "tier": "critical"}

CASES = (
    Case(
        says="a version above its limit fires with its owner, and is not called near beside",
        world=detector(10),
        rules=(ABOVE, NEAR),
        checks=(
            fires(ABOVE, 5, severity="critical", **OWNED),
            silent(NEAR, 30, since=5),
        ),
    ),
    Case(
        says="an overflow of more than a half fires within a minute and is gone within three of its end",
        world=detector([(10, 4), (20, 13), (99, 4)]),
        rules=(ABOVE,),
        checks=(
            silent(ABOVE, 10),
            fires(ABOVE, 11, severity="critical", **OWNED),
            fires(ABOVE, 20, severity="critical", **OWNED),
            silent(ABOVE, 30, since=23),
        ),
    ),
    Case(
        says="an alert lasts through a dip of half a minute",
        world=detector([(10, 20), (10.75, 0), (12, 20), (99, 1)]),
        rules=(ABOVE,),
        checks=tuple(
            fires(ABOVE, minute, severity="critical", **OWNED) for minute in (10, 10.5, 11, 11.5, 12.5)
        ),
    ),
    Case(
        says="traffic at exactly the limit is allowed, and near it",
        world=detector(8),
        rules=(ABOVE, NEAR),
        checks=(silent(ABOVE, 30), fires(NEAR, 10, severity="warning", **OWNED)),
    ),
    Case(
        says="nine tenths of a limit are near it, not above it",
        world=detector(7.2),
        rules=(ABOVE, NEAR),
        checks=(silent(ABOVE, 30), fires(NEAR, 10, severity="warning", **OWNED)),
    ),
    Case(
        says="78 percent of a limit are neither",
        world=detector(6.24),
        rules=(ABOVE, NEAR),
        checks=(silent(ABOVE, 30), silent(NEAR, 30)),
    ),
    Case(
        says="a hair above the limit is chance for a minute",
        world=detector([(10, 6), (11, 8.3), (99, 6)]),
        rules=(ABOVE,),
        checks=(silent(ABOVE, 30),),
    ),
    Case(
        says="a sixth above the limit is no chance after minutes",
        world=detector([(5, 6), (99, 9.3)]),
        rules=(ABOVE,),
        checks=(silent(ABOVE, 6.5), fires(ABOVE, 11, severity="critical", **OWNED)),
    ),
    Case(
        says="what was above the limit four minutes ago and is not now does not fire",
        world=detector([(10, 8.6), (99, 7)], limit=[(14, None), (99, 8)]),
        rules=(ABOVE,),
        checks=(silent(ABOVE, 30),),
    ),
    Case(
        says="a model over its versions has a limit of its own, its versions none",
        world=World(minutes=20)
        .triton("nms", "1", qps=5)
        .triton("nms", "2", qps=5)
        .triton("decode", qps=5)
        .info("nms", team="vision", tier="standard")
        .gauge(LIMIT, 8, model="nms")
        .gauge(LIMIT, 8, model="decode"),
        rules=(ABOVE,),
        checks=(fires(ABOVE, 10, severity="critical", model="nms", team="vision", tier="standard"),),
    ),
    Case(
        says="a model that the fleet file does not name is watched all the same",
        world=World(minutes=20).triton("nms", qps=10).gauge(LIMIT, 8, model="nms", version="1"),
        rules=(ABOVE, NEAR),
        checks=(
            fires(ABOVE, 10, severity="critical", model="nms", version="1"),
            silent(NEAR, 20, since=10),
        ),
    ),
    Case(
        says="replicas add up, and so do series with and without gpu_uuid",
        world=World(minutes=20)
        .triton("nms", qps=3, replica="a")
        .triton("nms", qps=3, replica="b", seconds=0.06)
        .triton("nms", qps=4, replica="b", gpu_uuid="GPU-1")
        .gauge(LIMIT, 8, model="nms", version="1"),
        rules=(ABOVE,),
        checks=(fires(ABOVE, 10, severity="critical", model="nms", version="1"),),
    ),
    Case(
        says="the fleet's total counts what clients ask, not what pipelines cause",
        world=World(minutes=20)
        .triton("inspect", qps=6)
        .triton("detector", qps=18)
        .gauge("tritonobs_pipeline_calls", 3, pipeline="inspect", stage="detector", model="detector")
        .gauge(LIMIT, 10),
        rules=(ABOVE, NEAR),
        checks=(
            reads("sum(model:triton_requests_from_clients:rate1m)", 10, ({}, 6)),
            silent(ABOVE, 20),
            silent(NEAR, 20),
        ),
    ),
    Case(
        says="the fleet's total counts clients that go past the pipeline",
        world=World(minutes=20)
        .triton("inspect", qps=6)
        .triton("detector", qps=24)
        .gauge("tritonobs_pipeline_calls", 3, pipeline="inspect", stage="detector", model="detector")
        .gauge(LIMIT, 10),
        rules=(ABOVE, NEAR),
        checks=(fires(ABOVE, 10, severity="critical"), silent(NEAR, 10)),
    ),
    Case(
        says="failures are traffic too",
        world=World(minutes=20)
        .triton("nms", qps=5, failures={"BACKEND": 5})
        .gauge(LIMIT, 8, model="nms", version="1"),
        rules=(ABOVE,),
        checks=(fires(ABOVE, 10, severity="critical", model="nms", version="1"),),
    ),
    Case(
        says="a burst between two scrapes is a spike that averages hide",
        world=detector([(10, 2), (10.25, 20), (99, 2)], minutes=50),
        rules=(SPIKE, ABOVE),
        checks=(
            silent(SPIKE, 11),
            fires(SPIKE, 11.25, severity="warning", **OWNED),
            fires(SPIKE, 41, severity="warning", **OWNED),
            silent(SPIKE, 50, since=42),
            silent(ABOVE, 50),
        ),
    ),
    *(
        Case(
            says=f"what queued while a server hung for {scrapes} scrapes is no spike",
            world=hung(scrapes),
            rules=(SPIKE, ABOVE),
            checks=(silent(SPIKE, 50), silent(ABOVE, 50)),
        )
        for scrapes in (1, 2, 3, 5, 10)
    ),
    Case(
        says="a burst is a spike soon after a server hung",
        world=hung(1, [(11.5, 2), (11.75, 20), (99, 2)]),
        rules=(SPIKE,),
        checks=(fires(SPIKE, 13, severity="warning", **OWNED),),
    ),
    Case(
        says="a burst at a tiny limit is a handful of requests, no spike",
        world=detector([(10, 0.1), (10.25, 0.6), (99, 0.1)], limit=0.2),
        rules=(SPIKE,),
        checks=(silent(SPIKE, 30),),
    ),
    Case(
        says="a burst of less than half above the limit is no spike",
        world=detector([(10, 2), (10.25, 11), (99, 2)]),
        rules=(SPIKE,),
        checks=(silent(SPIKE, 30),),
    ),
    Case(
        says="an overflow that the average shows is no spike",
        world=detector([(10, 2), (12, 20), (99, 2)]),
        rules=(SPIKE, ABOVE),
        checks=(
            silent(SPIKE, 30),
            fires(ABOVE, 11.5, severity="critical", **OWNED),
        ),
    ),
    Case(
        says="an excess of three quarters of a minute has paged, and is no spike afterwards",
        world=World(minutes=15, scrape_seconds=5)
        .triton("nms", qps=[(10, 4.8), (10.75, 16), (99, 0)])
        .gauge(LIMIT, 8, model="nms", version="1"),
        rules=(SPIKE, ABOVE),
        checks=(
            silent(SPIKE, 15),
            fires(ABOVE, 10.75, severity="critical", model="nms", version="1"),
        ),
    ),
    Case(
        says="a burst of a model over its versions is a spike of the model",
        world=World(minutes=20)
        .triton("nms", "1", qps=[(10, 2), (10.25, 10), (99, 2)])
        .triton("nms", "2", qps=[(10, 2), (10.25, 10), (99, 2)])
        .gauge(LIMIT, 10, model="nms"),
        rules=(SPIKE,),
        checks=(fires(SPIKE, 11.25, severity="warning", model="nms"),),
    ),
    Case(
        says="steady growth is foreseen before the limit is reached",
        world=detector(ramp(3, 7.8, 40), minutes=50),
        rules=(WILL, ABOVE),
        checks=(fires(WILL, 30, severity="warning", **OWNED), silent(ABOVE, 50)),
    ),
    Case(
        says="growth is not foreseen below half of the limit",
        world=detector(ramp(1, 7, 40), limit=16, minutes=40),
        rules=(WILL,),
        checks=(silent(WILL, 40),),
    ),
    Case(
        says="growth that ends below the limit is not foreseen to exceed it",
        world=detector(ramp(4, 4.6, 40), minutes=60),
        rules=(WILL,),
        checks=(silent(WILL, 60),),
    ),
    Case(
        says="a step is no trend",
        world=detector([(20, 3), (99, 6)], minutes=50),
        rules=(WILL,),
        checks=(silent(WILL, 50),),
    ),
    Case(
        says="two steps are no trend either once they are over",
        world=detector([(20, 4.2), (25, 4.25), (99, 6)], minutes=50),
        rules=(WILL,),
        checks=(silent(WILL, 50),),
    ),
    Case(
        says="what already exceeds is not foreseen any more",
        world=detector(ramp(3, 12, 90), minutes=90),
        rules=(WILL, ABOVE),
        checks=(
            fires(WILL, 45, severity="warning", **OWNED),
            silent(WILL, 90, since=60),
            fires(ABOVE, 64, severity="critical", **OWNED),
        ),
    ),
    Case(
        says="a lost source is said, and its limits hold for an hour",
        world=World(minutes=90)
        .triton("nms", qps=10)
        .info("nms", "1")
        .gauge(
            "tritonobs_model_info", [(10, 1), (99, None)], model="nms", version="1", kind="model", tier="low"
        )
        .gauge("tritonobs_model_info", None, model="nms", version="1", kind="model")
        .gauge(LIMIT, [(10, 8), (99, None)], model="nms", version="1"),
        rules=(ABOVE, LOST),
        checks=(
            silent(LOST, 11),
            fires(LOST, 12, severity="warning"),
            fires(LOST, 90, severity="warning"),
            fires(ABOVE, 69, severity="critical", model="nms", version="1", tier="low"),
            silent(ABOVE, 90, since=75),
        ),
    ),
    Case(
        says="a limit taken back while its source lives is gone at once",
        world=World(minutes=30)
        .triton("nms", qps=10)
        .info("nms", "1")
        .gauge(LIMIT, [(10, 8), (99, None)], model="nms", version="1"),
        rules=(ABOVE, LOST),
        checks=(
            fires(ABOVE, 10, severity="critical", model="nms", version="1"),
            silent(ABOVE, 30, since=14),
            silent(LOST, 30),
        ),
    ),
    Case(
        says="a source that was away for one scrape is not lost",
        world=World(minutes=30)
        .triton("nms", qps=1)
        .info("nms")
        .gauge("tritonobs_model_info", [(10, 1), (10.25, None), (99, 1)], model="nms", kind="model"),
        rules=(LOST,),
        checks=(silent(LOST, 30),),
    ),
    Case(
        says="two sources that disagree for a moment do not break the join",
        world=World(minutes=30)
        .triton("nms", qps=10)
        .gauge("tritonobs_model_info", 1, model="nms", version="1", kind="model", tier="a", instance="one")
        .gauge("tritonobs_model_info", 1, model="nms", version="1", kind="model", tier="b", instance="two")
        .gauge(LIMIT, 8, model="nms", version="1", instance="one")
        .gauge(LIMIT, 9, model="nms", version="1", instance="two"),
        rules=(ABOVE,),
        checks=(
            reads("count(ALERTS{alertname='TritonQpsAboveLimit',alertstate='firing'})", 20, ({}, 1)),
            reads("subject:tritonobs_qps_limit:held", 20, ({"model": "nms", "version": "1"}, 9)),
        ),
    ),
)
