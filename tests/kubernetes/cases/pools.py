"""Pools and autoscalers as two copies of kube-state-metrics tell them, of which one is behind."""

from support.case import Case, fires, silent
from support.simulate import World

SHORT, BLIND, FULL = "TritonPoolShort", "TritonAutoscalerBlind", "TritonAutoscalerAtMaximum"
FLAPS = "TritonAutoscalerFlapping"
POOL = {"namespace": "models", "deployment": "triton-large"}
SET = {"namespace": "models", "statefulset": "triton-small"}
SCALER = {"namespace": "models", "horizontalpodautoscaler": "triton-large"}
CONDITION = "kube_horizontalpodautoscaler_status_condition"
DESIRED = "kube_horizontalpodautoscaler_status_desired_replicas"
OF_POOL = {
    "deployment": ("spec_replicas", "status_replicas_available", "status_replicas_updated"),
    "statefulset": ("replicas", "status_replicas_ready", "status_replicas_updated"),
}


def told(*copies, minutes=30, **labels):
    """What each copy tells: levels by the name of the series."""
    world = World(minutes=minutes)
    for number, series in enumerate(copies):
        for name, level in series.items():
            world.gauge(name, level, **labels, instance=f"ksm-{number}:8080")
    return world


def pool(kind, *copies):
    """What each copy tells of a pool of this kind: wanted, ready, updated."""
    names = [f"kube_{kind}_{name}" for name in OF_POOL[kind]]
    return told(*(dict(zip(names, copy, strict=True)) for copy in copies), **of(kind))


def of(kind):
    """The labels of the pool of this kind."""
    return POOL if kind == "deployment" else SET


def turning(*levels):
    """An autoscaler that wants so many servers, for a minute each, over and over for ninety minutes."""
    return [(minute + 1, levels[minute % len(levels)]) for minute in range(90)]


CASES = (
    *(
        Case(says=f"{says}: {kind}", world=pool(kind, *copies), rules=(SHORT,), checks=checks(kind))
        for kind in OF_POOL
        for says, copies, checks in (
            ("a pool that grew and got no more servers is short, though one copy does not know yet",
             (([(5, 3), (99, 5)], 3, 3), (3, 3, 3)),
             lambda kind: (silent(SHORT, 9.5), fires(SHORT, 11, severity="warning", **of(kind)))),
            ("a pool that has what it wants is not short, though one copy still misses a server",
             ((4, [(5, 3), (99, 4)], 4), (4, 3, 4)),
             lambda _: (silent(SHORT, 30),)),
            ("a rollout that moves is no alert while one copy sees it",
             ((4, 3, [(3 * step, step % 5) for step in range(1, 11)]), (4, 3, 0)),
             lambda _: (silent(SHORT, 30),)),
            ("a pool is short five minutes after its rollout stood still for five",
             ((4, 3, [(5, 0), (8, 1), (99, 2)]),),
             lambda kind: (silent(SHORT, 17.5), fires(SHORT, 19, severity="warning", **of(kind)))),
        )
    ),
    Case(
        says="an autoscaler that one copy sees without its metric is blind, and is so once",
        world=told(
            {CONDITION: [(5, 0), (99, 1)]}, {CONDITION: 0},
            **SCALER, condition="ScalingActive", status="false",
        ),
        rules=(BLIND,),
        checks=(silent(BLIND, 7.5), fires(BLIND, 9, severity="warning", **SCALER)),
    ),
    Case(
        says="KEDA whose questions fail for two triggers is blind once, and not for what failed long ago",
        world=World(minutes=30)
        .counter("keda_scaler_detail_errors_total", [(5, 0), (10, 1 / 15), (99, 0)], namespace="models",
                 scaledObject="triton-large", triggerIndex="0")
        .counter("keda_scaler_detail_errors_total", [(5, 0), (10, 1 / 10), (99, 0)], namespace="models",
                 scaledObject="triton-large", triggerIndex="1"),
        rules=(BLIND,),
        checks=(
            fires(BLIND, 12, severity="warning", namespace="models",
                  horizontalpodautoscaler="keda-hpa-triton-large"),
            silent(BLIND, 30, since=14),
        ),
    ),
    Case(
        says="an autoscaler that wants all eight servers is at its maximum, though one copy is behind",
        world=told(
            {DESIRED: [(5, 7), (99, 8)], "kube_horizontalpodautoscaler_spec_max_replicas": 8},
            {DESIRED: 7, "kube_horizontalpodautoscaler_spec_max_replicas": 8},
            **SCALER,
        ),
        rules=(FULL,),
        checks=(silent(FULL, 14.5), fires(FULL, 16, severity="warning", **SCALER)),
    ),
    Case(
        says="an autoscaler that may have ten servers is not at its maximum, though one copy knows of eight",
        world=told(
            {DESIRED: 8, "kube_horizontalpodautoscaler_spec_max_replicas": 10},
            {DESIRED: 8, "kube_horizontalpodautoscaler_spec_max_replicas": 8},
            **SCALER,
        ),
        rules=(FULL,),
        checks=(silent(FULL, 30),),
    ),
    Case(
        says="a pool that is larger for two minutes of three flaps, though one copy is behind",
        world=told({DESIRED: turning(6, 6, 5)}, {DESIRED: 5}, **SCALER),
        rules=(FLAPS,),
        checks=(silent(FLAPS, 5), fires(FLAPS, 15, severity="warning", **SCALER)),
    ),
)  # fmt: skip
