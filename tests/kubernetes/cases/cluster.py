"""What a cluster runs of what it wants: pools and autoscalers."""

from support.case import Case, fires, silent
from support.simulate import World

SHORT, BLIND, FULL = "TritonPoolShort", "TritonAutoscalerBlind", "TritonAutoscalerAtMaximum"
FLAPS = "TritonAutoscalerFlapping"
POOL = {"namespace": "models", "deployment": "triton-large"}
SET = {"namespace": "models", "statefulset": "triton-small"}
SCALER = {"namespace": "models", "horizontalpodautoscaler": "triton-large"}
CONDITION = "kube_horizontalpodautoscaler_status_condition"


def pool(available, *, updated=4, copies=("a",), **labels):
    """A Deployment of four servers, told by copies of kube-state-metrics."""
    sim = World(minutes=30)
    for copy in copies:
        named = {**POOL, **labels, "instance": copy}
        sim.gauge("kube_deployment_spec_replicas", 4, **named)
        sim.gauge("kube_deployment_status_replicas_available", available, **named)
        sim.gauge("kube_deployment_status_replicas_updated", updated, **named)
    return sim


def pool_set(ready):
    """A StatefulSet of three servers."""
    sim = World(minutes=30).gauge("kube_statefulset_replicas", 3, **SET)
    sim.gauge("kube_statefulset_status_replicas_ready", ready, **SET)
    return sim.gauge("kube_statefulset_status_replicas_updated", 3, **SET)


def scaler(*, desired=4, most=8, inactive=0, minutes=30):
    """An autoscaler, as kube-state-metrics tells it."""
    sim = World(minutes=minutes)
    sim.gauge("kube_horizontalpodautoscaler_status_desired_replicas", desired, **SCALER)
    sim.gauge("kube_horizontalpodautoscaler_spec_max_replicas", most, **SCALER)
    return sim.gauge(CONDITION, inactive, **SCALER, condition="ScalingActive", status="false")


def keda(errors):
    """A ScaledObject whose questions to Prometheus fail so often in a second, as KEDA counts them."""
    labels = {"namespace": "models", "scaledObject": "triton-large", "triggerIndex": "0"}
    return World(minutes=30).counter("keda_scaler_detail_errors_total", errors, **labels)


CASES = (
    Case(
        says="a pool that shrinks below what its Deployment wants is short",
        world=pool([(5, 4), (99, 3)]),
        rules=(SHORT,),
        checks=(silent(SHORT, 9), fires(SHORT, 12, severity="warning", **POOL)),
    ),
    Case(
        says="a pool is short once, however many copies of kube-state-metrics tell it",
        world=pool(3, copies=("a", "b")),
        rules=(SHORT,),
        checks=(fires(SHORT, 12, severity="warning", **POOL),),
    ),
    Case(
        says="a StatefulSet may be short, too",
        world=pool_set(2),
        rules=(SHORT,),
        checks=(fires(SHORT, 12, severity="warning", **SET),),
    ),
    Case(
        says="pods that come and go in a rollout are no alert",
        world=pool(3, updated=[(2, 0), (4, 1), (7, 2), (10, 3), (13, 4), (16, 5), (19, 6), (22, 7), (99, 8)]),
        rules=(SHORT,),
        checks=(silent(SHORT, 8), silent(SHORT, 15), silent(SHORT, 22)),
    ),
    Case(
        says="a pool that has what it wants is not short",
        world=pool(4),
        rules=(SHORT,),
        checks=(silent(SHORT, 20),),
    ),
    Case(
        says="a Deployment that is no pool of servers is somebody else's",
        world=pool(3, deployment="web"),
        rules=(SHORT,),
        checks=(silent(SHORT, 20),),
    ),
    Case(
        says="an autoscaler without its metric is blind",
        world=scaler(inactive=[(5, 0), (99, 1)]),
        rules=(BLIND,),
        checks=(silent(BLIND, 5), fires(BLIND, 10, severity="warning", **SCALER)),
    ),
    Case(
        says="an autoscaler that sees its metric is not blind",
        world=scaler(),
        rules=(BLIND,),
        checks=(silent(BLIND, 20),),
    ),
    Case(
        says="KEDA is blind while each of its questions fails",
        world=keda([(5, 0), (99, 1 / 15)]),
        rules=(BLIND,),
        checks=(
            silent(BLIND, 8),
            fires(
                BLIND,
                15,
                severity="warning",
                namespace="models",
                horizontalpodautoscaler="keda-hpa-triton-large",
            ),
        ),
    ),
    Case(
        says="a question of KEDA that failed once is none of it",
        world=keda([(5, 0), (5.25, 1 / 15), (99, 0)]),
        rules=(BLIND,),
        checks=(silent(BLIND, 25),),
    ),
    Case(
        says="an autoscaler that grows and shrinks by turns flaps",
        world=scaler(desired=[(5 * step, 6 - step % 2) for step in range(1, 20)], minutes=90),
        rules=(FLAPS,),
        checks=(silent(FLAPS, 30), fires(FLAPS, 45, severity="warning", **SCALER)),
    ),
    Case(
        says="a pool that grows step by step and shrinks step by step turns once",
        world=scaler(desired=[(5 * step, 9 - abs(step - 9)) for step in range(1, 18)], minutes=90),
        rules=(FLAPS,),
        checks=(silent(FLAPS, 89),),
    ),
    Case(
        says="an autoscaler that wants all it may have is at its maximum",
        world=scaler(desired=8),
        rules=(FULL,),
        checks=(silent(FULL, 5), fires(FULL, 15, severity="warning", **SCALER)),
    ),
    Case(
        says="an autoscaler with room is not",
        world=scaler(desired=7),
        rules=(FULL,),
        checks=(silent(FULL, 20),),
    ),
)
