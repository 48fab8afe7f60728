"""Who is there: clusters without targets, models that one server lost, versions that were replaced, twins."""

from support.case import Case, fires, reads, silent
from support.simulate import World

DOWN, UNCOUNTED = "TritonServerDown", "TritonRequestsUncounted"
ANSWERED = "replica:triton_requests_succeeded:sum"
LOST, MISSING, NOT_LOADED = "TritonServersLost", "TritonModelMissing", "TritonVersionNotLoaded"
UNLOADED, TWICE, DISAGREE, LATE = (
    "TritonModelUnloaded",
    "TritonServerScrapedTwice",
    "TritonLimitsDisagree",
    "TritonobsRulesLate",
)
NMS = {"model": "nms", "version": "1"}
SERVER = {"job": "triton", "instance": "triton-1:8002", "replica": "triton-1"}
POD = {"job": "triton", "instance": "10.0.0.7:8002", "replica": "triton-7c9-x", "namespace": "models"}
UNTIL_20 = [(20, 1), (999, None)]


def up(world, level, **labels):
    """Whether scrapes of a target succeed, by its labels."""
    return world.gauge("up", level, **{**SERVER, **labels})


def two(first, second=2, *, minutes=60):
    """Two servers with nms, the first of them as told; both answer."""
    world = (
        World(minutes=minutes).triton("nms", qps=first, replica="a").triton("nms", qps=second, replica="b")
    )
    return up(up(world, 1, replica="a"), 1, replica="b").info("nms", "1", tier="low")


def pod(*levels):
    """Whether scrapes of a pod succeed; it is there from minute 5."""
    return up(World(minutes=60), [(5, None), *levels], **POD)


def counted(minutes, after):
    """A server that had answered 100 requests, was not read for so long, and then had answered `after`."""
    world = World(minutes=40 + minutes)
    return world.gauge(ANSWERED, [(20, 100), (20 + minutes, None), (999, after)], replica="a")


def away_for_a_day():
    """Servers that were not read for a day, and then had answered more than before, or less."""
    world = World(minutes=1478, scrape_seconds=120)
    for replica, last, after in (("a", 20, 500), ("b", 20, 50), ("c", 60, 500)):
        world.gauge(ANSWERED, [(last, 100), (1474, None), (1e9, after)], replica=replica)
    return world


CASES = (
    Case(
        says="what a server had counted more than a day before is forgotten",
        world=away_for_a_day(),
        rules=("replica:triton_requests_uncounted:sum",),
        given=(ANSWERED,),
        checks=(reads("replica:triton_requests_uncounted:sum", 1478, ({"replica": "c"}, 400)),),
    ),
    Case(
        says="what came while a server was not read for more than an hour is said with its number",
        world=counted(80, 500),
        rules=(UNCOUNTED,),
        given=(ANSWERED,),
        checks=(
            silent(UNCOUNTED, 99),
            fires(UNCOUNTED, 104, severity="info", replica="a"),
            reads("replica:triton_requests_uncounted:sum", 104, ({"replica": "a"}, 400)),
        ),
    ),
    *(
        Case(
            says=says,
            world=counted(80, after),
            rules=(UNCOUNTED,),
            given=(ANSWERED,),
            checks=(reads("replica:triton_requests_uncounted:sum", 104, ({"replica": "a"}, number)),),
        )
        for says, after, number in (
            ("of a server that started again meanwhile it is what it shows", 50, 50),
            ("one request more is a number, too", 101, 1),
            ("and so is the only one of a server that started again", 1, 1),
        )
    ),
    Case(
        says="what came within the hour is charged, and not said",
        world=counted(50, 500),
        rules=(UNCOUNTED,),
        given=(ANSWERED,),
        checks=(silent(UNCOUNTED, 90),),
    ),
    Case(
        says="nor is a server that did nothing meanwhile",
        world=counted(80, 100),
        rules=(UNCOUNTED,),
        given=(ANSWERED,),
        checks=(silent(UNCOUNTED, 120),),
    ),
    Case(
        says="a new pod, or one in another's place, is not down while it loads models",
        world=pod((9, 0), (999, 1)),
        rules=(DOWN,),
        checks=(silent(DOWN, 60),),
    ),
    Case(
        says="a pod that never answers is down after ten minutes",
        world=pod((999, 0)),
        rules=(DOWN,),
        checks=(silent(DOWN, 14), fires(DOWN, 17, severity="critical", **POD)),
    ),
    Case(
        says="a pod that answered and does not any more is down two minutes later than other servers",
        world=pod((8, 1), (999, 0)),
        rules=(DOWN,),
        checks=(silent(DOWN, 10), fires(DOWN, 11.5, severity="critical", **POD)),
    ),
    Case(
        says="a pod that is dark until it is gone is not down",
        world=pod((8, 1), (10, 0), (999, None)),
        rules=(DOWN,),
        checks=(silent(DOWN, 60),),
    ),
    Case(
        says="a pod that comes again under its name has ten minutes to load, whatever it answered before",
        world=up(World(minutes=40), [(10, 1), (20, None), (999, 0)], **POD),
        rules=(DOWN,),
        checks=(silent(DOWN, 30), fires(DOWN, 32, severity="critical", **POD)),
    ),
    Case(
        says="a cluster that was known for four minutes is told within a minute, too",
        world=up(World(minutes=20), [(5, None), (9, 1), (999, None)], cluster="east"),
        rules=(LOST,),
        checks=(silent(LOST, 9), fires(LOST, 9.75, severity="critical", cluster="east")),
    ),
    Case(
        says="a server that is no pod has four minutes for its first answer",
        world=up(World(minutes=12), [(5, None), (999, 0)]),
        rules=(DOWN,),
        checks=(silent(DOWN, 9), fires(DOWN, 10.25, severity="critical", **SERVER)),
    ),
    Case(
        says="one that answered is down within a minute, and until it has answered for five",
        world=up(World(minutes=30), [(10, 1), (14, 0), (999, 1)]),
        rules=(DOWN,),
        checks=(
            silent(DOWN, 10.5),
            fires(DOWN, 11, severity="critical", **SERVER),
            fires(DOWN, 18.75, severity="critical", **SERVER),
            silent(DOWN, 30, since=19.5),
        ),
    ),
    Case(
        says="a cluster whose targets vanish is told within a minute, for as long as it has models",
        world=up(
            up(World(minutes=120), UNTIL_20, cluster="east", replica="e").info("nms", cluster="east"),
            1,
            cluster="west",
            replica="w",
        ).info("nms", cluster="west"),
        rules=(LOST,),
        checks=(
            silent(LOST, 20),
            fires(LOST, 21, severity="critical", cluster="east"),
            fires(LOST, 120, severity="critical", cluster="east"),
        ),
    ),
    Case(
        says="a cluster that has neither targets nor models any more is told for an hour",
        world=up(World(minutes=120), UNTIL_20, cluster="east"),
        rules=(LOST,),
        checks=(fires(LOST, 70, severity="critical", cluster="east"), silent(LOST, 120, since=90)),
    ),
    Case(
        says="servers that are down, or of which some go, are not lost",
        world=up(up(World(minutes=60), [(20, 1), (999, 0)], replica="a"), UNTIL_20, replica="b").info("nms"),
        rules=(LOST,),
        checks=(silent(LOST, 60),),
    ),
    Case(
        says="a model that one of two servers lost is told with the server, for an hour",
        world=two([(20, 2), (999, None)], minutes=120),
        rules=(MISSING, UNLOADED),
        checks=(
            silent(MISSING, 21),
            fires(MISSING, 24, severity="critical", replica="a", tier="low", **NMS),
            silent(MISSING, 120, since=90),
            silent(UNLOADED, 120),
        ),
    ),
    Case(
        says="a version that another one replaced on the server is not lost",
        world=two([(20, 2), (999, None)]).triton("nms", "2", qps=[(19, None), (999, 2)], replica="a"),
        rules=(MISSING, UNLOADED),
        checks=(silent(MISSING, 60), silent(UNLOADED, 60)),
    ),
    Case(
        says="a server that is down has lost nothing",
        world=World(minutes=60)
        .triton("nms", qps=2, replica="a")
        .triton("nms", qps=2, replica="b")
        .info("nms", "1")
        .outage("a", (20, 999))
        .outage("b"),
        rules=(MISSING,),
        checks=(silent(MISSING, 60),),
    ),
    Case(
        says="a listed version that another one replaced is told as such, and pages nobody",
        world=up(
            World(minutes=60)
            .triton("nms", qps=[(20, 2), (999, None)])
            .triton("nms", "2", qps=[(19, None), (999, 2)]),
            1,
        ).info("nms", "1"),
        rules=(NOT_LOADED, UNLOADED),
        checks=(
            silent(NOT_LOADED, 34),
            fires(NOT_LOADED, 37, severity="info", kind="model", **NMS),
            silent(UNLOADED, 60),
        ),
    ),
    Case(
        says="a version that takes nine of ten requests along is missed",
        world=up(
            World(minutes=60).triton("nms", qps=[(20, 9), (999, None)]).triton("nms", "2", qps=1), 1
        ).info("nms", "1"),
        rules=(UNLOADED,),
        checks=(
            silent(UNLOADED, 20),
            fires(UNLOADED, 23, severity="critical", kind="model", **NMS),
            fires(UNLOADED, 38, severity="critical", kind="model", **NMS),
        ),
    ),
    Case(
        says="one server under two names is told with both; its neighbour is its own",
        world=World(minutes=40)
        .triton("nms", qps=[(10, 2), (99, 0)], replica="a", seconds=0.0301, compute=0.02)
        .triton("nms", qps=[(10, 2), (99, 0)], replica="again", seconds=0.0301, compute=0.02)
        .triton("nms", qps=[(10, 3), (99, 0)], replica="b", seconds=0.0305, compute=0.02),
        rules=(TWICE,),
        checks=(
            reads(
                f'count by (replica) (ALERTS{{alertname="{TWICE}",alertstate="firing"}})',
                9,
                ({"replica": "a"}, 1),
                ({"replica": "again"}, 1),
            ),
        ),
    ),
    Case(
        says="a few requests that took as long on two servers by chance are no sign",
        world=World(minutes=40)
        .triton("nms", qps=[(10, 0.1), (99, 0)], replica="a", seconds=0.0301, compute=0.02)
        .triton("nms", qps=[(10, 0.1), (99, 0)], replica="b", seconds=0.0301, compute=0.02),
        rules=(TWICE,),
        checks=(silent(TWICE, 40),),
    ),
    Case(
        says="two servers that took the same time to load are one",
        world=World(minutes=20)
        .gauge("nv_model_load_duration_secs", 2.25, job="triton", replica="a", **NMS)
        .gauge("nv_model_load_duration_secs", 2.25, job="triton", replica="b", **NMS)
        .gauge("nv_model_load_duration_secs", 2.5, job="triton", replica="c", **NMS),
        rules=(TWICE,),
        checks=(silent(TWICE, 0.75), fires(TWICE, 3, severity="warning", loaded_in="2.25", **NMS)),
    ),
    Case(
        says="servers with a time of their own are several",
        world=World(minutes=40)
        .triton("nms", qps=[(10, 2), (99, 0)], replica="a", seconds=0.0301, compute=0.02)
        .triton("nms", qps=[(10, 2), (99, 0)], replica="b", seconds=0.0302, compute=0.02),
        rules=(TWICE,),
        checks=(silent(TWICE, 40),),
    ),
    Case(
        says="two sources of a limit that disagree are told, and those that agree are not",
        world=World(minutes=30)
        .gauge("tritonobs_qps_limit", 8, instance="one", **NMS)
        .gauge("tritonobs_qps_limit", [(10, 8), (99, 9)], instance="two", **NMS)
        .gauge("tritonobs_qps_limit", 5, instance="one", model="ocr")
        .gauge("tritonobs_qps_limit", 5, instance="two", model="ocr"),
        rules=(DISAGREE,),
        checks=(silent(DISAGREE, 11.5), fires(DISAGREE, 13, severity="warning", **NMS)),
    ),
    *(
        Case(
            says=f"two sources of {name} that disagree are told",
            world=World(minutes=10)
            .gauge(name, 0.5, instance="one", **NMS, **labels)
            .gauge(name, 0.9, instance="two", **NMS, **labels),
            rules=(DISAGREE,),
            checks=(fires(DISAGREE, 5, severity="warning", **NMS, **labels),),
        )
        for name, labels in (
            ("tritonobs_tokens_per_second_limit", {"kind": "tokens_in"}),
            ("tritonobs_slo_objective_ratio", {"slo": "latency"}),
            ("tritonobs_latency_target_seconds", {"slo": "latency"}),
        )
    ),
    Case(
        says="one evaluation that was left out is told, of our groups only",
        world=World(minutes=40)
        .counter(
            "prometheus_rule_group_iterations_missed_total",
            [(10, 0), (10.25, 1 / 15), (99, 0)],
            instance="p:9090",
            rule_group="/r.yml;tritonobs.slo",
        )
        .counter(
            "prometheus_rule_group_iterations_missed_total",
            0.2,
            instance="p:9090",
            rule_group="/other.yml;node",
        ),
        rules=(LATE,),
        checks=(
            silent(LATE, 10),
            fires(
                LATE,
                13,
                severity="warning",
                instance="p:9090",
                group="tritonobs.slo",
                rule_group="/r.yml;tritonobs.slo",
            ),
            silent(LATE, 40, since=25),
        ),
    ),
)
