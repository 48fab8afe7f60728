"""How long alerts stay after their cause is gone: through a pause, and not for ever."""

from support.case import Case, fires, silent
from support.simulate import World

NMS = {"model": "nms", "version": "1"}
TRITON = {"job": "triton", "instance": "triton-1:8002", "replica": "triton-1"}
SERVE = {"job": "tritonobs", "instance": "serve:9900"}
ROBOT = {**SERVE, "robot": "oncall"}
FAILING, RULES, LOST = "TritonobsDeliveryFailing", "TritonobsRulesFailing", "TritonStageMetricsFailing"
LOOP, SPIKE, SURGE = "TritonRestartLoop", "TritonQpsSpike", "TritonErrorReasonSurge"
TOKENS, NEAR = "TritonTokensAboveLimit", "TritonTokensNearLimit"


def burst(begin, end, level):
    """Nothing, a level from one minute to another, nothing again."""
    return [(begin, 0), (end, level), (1e6, 0)]


def stays(alert, world, until, over, **labels):
    """The alert fires up to a minute, and not from another on."""
    return Case(
        says=f"{alert} ends some time after its cause, not at once and not never",
        world=world,
        rules=(alert,),
        checks=(
            *(fires(alert, minute, **labels) for minute in until),
            silent(alert, world.minutes, since=over),
        ),
    )


CASES = (
    stays(
        FAILING,
        World(minutes=25)
        .counter("tritonobs_delivery_errors_total", burst(5, 9, 0.2), **ROBOT, code="1")
        .gauge("tritonobs_delivery_waiting_calls", 1, **ROBOT),
        (8, 11),
        13,
        severity="critical",
        robot="oncall",
        instance="serve:9900",
    ),
    stays(
        RULES,
        World(minutes=60).counter(
            "prometheus_rule_evaluation_failures_total",
            burst(5, 5.25, 1 / 15),
            instance="p:9090",
            rule_group="/r.yml;tritonobs.slo",
        ),
        (8, 15),
        18,
        severity="warning",
        instance="p:9090",
        group="tritonobs.slo",
        rule_group="/r.yml;tritonobs.slo",
    ),
    stays(
        LOST,
        World(minutes=60)
        .triton("nms", qps=1)
        .counter("tritonobs_flush_errors_total", burst(5, 6, 0.2), **TRITON, **NMS, worker="w"),
        (6, 21),
        24,
        severity="warning",
        replica="triton-1",
        **NMS,
    ),
    stays(
        LOST,
        World(minutes=60)
        .triton("nms", qps=1)
        .counter("tritonobs_flush_dropped_total", burst(5, 6, 0.2), **TRITON, **NMS, worker="w"),
        (6, 21),
        24,
        severity="warning",
        replica="triton-1",
        **NMS,
    ),
    stays(
        LOOP,
        World(minutes=60)
        .triton("nms", qps=[(5, 1), (5.5, None), (7, 1), (7.5, None), (9, 1), (9.5, None), (99, 1)])
        .outage("triton-1", (5, 5.5), (7, 7.5), (9, 9.5)),
        (11, 28),
        36,
        severity="warning",
        replica="triton-1",
    ),
    stays(
        SPIKE,
        World(minutes=50)
        .triton("nms", qps=[(10, 1), (10.25, 14), (99, 1)])
        .gauge("tritonobs_qps_limit", 8, **NMS),
        (11.25, 41),
        42,
        severity="warning",
        **NMS,
    ),
    stays(
        SURGE,
        World(minutes=120).triton("nms", qps=4, failures={"BACKEND": burst(40, 46, 0.5)}).info("nms"),
        (46, 48),
        52,
        severity="warning",
        reason="BACKEND",
        **NMS,
    ),
    *(
        stays(
            alert,
            World(minutes=30)
            .triton("nms", qps=1)
            .counter(
                "tritonobs_stage_items_total", burst(5, 12, 130), **TRITON, **NMS, stage="s", kind="tokens_in"
            )
            .gauge("tritonobs_tokens_per_second_limit", 100, **NMS, kind="tokens_in"),
            (9, 12.75),
            14,
            severity=severity,
            kind="tokens_in",
            **NMS,
        )
        for alert, severity in ((TOKENS, "critical"), (NEAR, "warning"))
    ),
)
