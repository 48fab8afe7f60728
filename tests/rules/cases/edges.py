"""The edges of thresholds, windows and waits: just on this side, just on the other."""

from support.case import Case, fires, reads, silent
from support.simulate import World

NMS = {"model": "nms", "version": "1"}
ABOVE, NEAR, SPIKE, WILL = (
    "TritonQpsAboveLimit",
    "TritonQpsNearLimit",
    "TritonQpsSpike",
    "TritonQpsWillExceedLimit",
)
WARNING = {"severity": "warning", **NMS}


def limited(qps, limit=8, *, minutes=30):
    """A model version with a limit, and no row in a fleet file."""
    return World(minutes=minutes).triton("nms", qps=qps).gauge("tritonobs_qps_limit", limit, **NMS)


def ramp(flat, start, end, minutes):
    """Flat for a while, then steps of a quarter of a minute up to the end."""
    steps = minutes * 4
    rising = [(flat + (step + 1) / 4, start + (end - start) * step / steps) for step in range(steps + 1)]
    return [(flat, start), *rising]


CASES = (
    Case(
        says="an excess within the chance of one minute waits for five",
        world=limited([(10, 6), (11, 8.6), (99, 6)]),
        rules=(ABOVE,),
        checks=(silent(ABOVE, 30),),
    ),
    Case(
        says="an excess of a few requests in a minute is none",
        world=limited([(10, 0.1), (11, 0.35), (99, 0.1)], 0.2),
        rules=(ABOVE,),
        checks=(silent(ABOVE, 30),),
    ),
    Case(
        says="an excess within the chance of five minutes is none, above and near",
        world=limited([(30, 6.42), (60, 8.02)], minutes=60),
        rules=(ABOVE, NEAR),
        checks=(silent(NEAR, 30), silent(ABOVE, 60)),
    ),
    Case(
        says="near the limit within the chance of a minute is not near it",
        world=limited([(10, 5), (13, 6.95), (99, 5)]),
        rules=(NEAR,),
        checks=(silent(NEAR, 30),),
    ),
    Case(
        says="near a tiny limit by a handful of requests is not near it",
        world=limited([(10, 0.05), (12.5, 0.35), (99, 0.05)], 0.25),
        rules=(NEAR,),
        checks=(silent(NEAR, 30),),
    ),
    Case(
        says="what was near the limit four minutes ago and is not now is not near it",
        world=limited([(10, 7), (99, 5.5)]).gauge("tritonobs_qps_limit", [(11.5, None), (99, 8)], **NMS),
        rules=(NEAR,),
        checks=(silent(NEAR, 30),),
    ),
    Case(
        says="near a limit for ten minutes: said until an hour was lower",
        world=limited([(10, 4), (20, 9), (99, 2)], minutes=95),
        rules=(NEAR,),
        checks=(
            silent(NEAR, 11.5),
            fires(NEAR, 16, **WARNING),
            fires(NEAR, 60, **WARNING),
            silent(NEAR, 95, since=90),
        ),
    ),
    Case(
        says="a spike of thirty requests too many is one",
        world=limited([(10, 0.1), (10.25, 3), (99, 0.1)], 1),
        rules=(SPIKE,),
        checks=(fires(SPIKE, 11.25, **WARNING),),
    ),
    Case(
        says="growth after a long calm is foreseen by its pace now",
        world=limited(ramp(40, 5.2, 8.2, 30), 10, minutes=75),
        rules=(WILL,),
        checks=(silent(WILL, 60), fires(WILL, 71, **WARNING)),
    ),
    Case(
        says="growth that ended is foreseen for a few minutes more",
        world=limited(ramp(20, 5.2, 8.2, 30), 10, minutes=90),
        rules=(WILL,),
        checks=(fires(WILL, 50, **WARNING), fires(WILL, 54, **WARNING), silent(WILL, 90, since=78)),
    ),
    Case(
        says="fifty seconds without a scrape are no outage, forty seconds of an error no alert",
        world=World(minutes=20)
        .triton("nms", qps=1)
        .outage("triton-1", (10, 10.25))
        .gauge("tritonobs_config_valid", [(10, 1), (10.25, 0), (99, 1)], job="tritonobs", instance="s"),
        rules=("TritonServerDown", "TritonobsFleetFileInvalid"),
        checks=(silent("TritonServerDown", 20), silent("TritonobsFleetFileInvalid", 20)),
    ),
    Case(
        says="frozen counters are said after five minutes, not before",
        world=World(minutes=20).triton("nms", qps=0).worker("nms", outcomes={"ok": 2}),
        rules=("TritonCountersFrozen",),
        checks=(silent("TritonCountersFrozen", 4.5), fires("TritonCountersFrozen", 10, **WARNING)),
    ),
    Case(
        says="a stage with two targets is measured by the tighter one",
        world=World(minutes=30)
        .triton("nms", qps=4)
        .stage("nms", "decode", qps=4, times={0.2: 1})
        .gauge("tritonobs_latency_target_seconds", 0.1, **NMS, slo="a", stage="decode", le="0.1")
        .gauge("tritonobs_latency_target_seconds", 1, **NMS, slo="b", stage="decode", le="1"),
        rules=("TritonStageSlow",),
        checks=(silent("TritonStageSlow", 4), fires("TritonStageSlow", 15, stage="decode", **WARNING)),
    ),
    Case(
        says="sizes of two workers are weighted by how often each came",
        world=World(minutes=20)
        .counter("tritonobs_stage_size_sum", 12, job="triton", **NMS, worker="a", stage="d", kind="mp")
        .counter("tritonobs_stage_size_count", 1, job="triton", **NMS, worker="a", stage="d", kind="mp")
        .counter("tritonobs_stage_size_sum", 9, job="triton", **NMS, worker="b", stage="d", kind="mp")
        .counter("tritonobs_stage_size_count", 2, job="triton", **NMS, worker="b", stage="d", kind="mp"),
        rules=("model_version_stage_kind:tritonobs_stage_size:mean1m",),
        checks=(
            reads(
                "model_version_stage_kind:tritonobs_stage_size:mean1m",
                10,
                ({**NMS, "stage": "d", "kind": "mp"}, 7),
            ),
        ),
    ),
    Case(
        says="targets and calls of a lost source hold for an hour, the larger of two sources wins",
        world=World(minutes=130)
        .gauge("tritonobs_model_info", [(10, 1), (999, None)], **NMS, kind="model")
        .gauge(
            "tritonobs_latency_target_seconds",
            [(10, 0.5), (999, None)],
            **NMS,
            slo="l",
            stage="total",
            le="0.5",
        )
        .gauge("tritonobs_pipeline_calls", [(10, 2), (999, None)], pipeline="p", stage="s", model="nms")
        .gauge(
            "tritonobs_pipeline_calls",
            [(10, 3), (999, None)],
            pipeline="p",
            stage="s",
            model="nms",
            instance="b",
        ),
        rules=(
            "subject_slo:tritonobs_latency_target_seconds:held",
            "pipeline_stage_model:tritonobs_pipeline_calls:held",
        ),
        checks=(
            reads(
                "subject_slo:tritonobs_latency_target_seconds:held",
                68,
                ({**NMS, "slo": "l", "stage": "total", "le": "0.5"}, 0.5),
            ),
            reads(
                "pipeline_stage_model:tritonobs_pipeline_calls:held",
                68,
                ({"pipeline": "p", "stage": "s", "model": "nms"}, 3),
            ),
            reads("count(subject_slo:tritonobs_latency_target_seconds:held)", 90),
            reads("count(pipeline_stage_model:tritonobs_pipeline_calls:held)", 90),
        ),
    ),
    Case(
        says="calls taken back while their source lives are gone at once",
        world=World(minutes=30)
        .info("nms", "1")
        .gauge("tritonobs_pipeline_calls", [(10, 2), (999, None)], pipeline="p", stage="s", model="nms")
        .gauge(
            "tritonobs_latency_target_seconds",
            [(10, 0.5), (999, None)],
            **NMS,
            slo="l",
            stage="total",
            le="0.5",
        )
        .gauge("tritonobs_slo_objective_ratio", [(10, 0.9), (999, None)], **NMS, slo="l")
        .gauge("tritonobs_tokens_per_second_limit", [(10, 5), (999, None)], **NMS, kind="tokens_in"),
        rules=(
            "pipeline_stage_model:tritonobs_pipeline_calls:held",
            "subject_slo:tritonobs_latency_target_seconds:held",
            "slo:objective:ratio",
            "subject_kind:tritonobs_tokens_per_second_limit:held",
        ),
        checks=tuple(
            check
            for record in (
                "pipeline_stage_model:tritonobs_pipeline_calls:held",
                "subject_slo:tritonobs_latency_target_seconds:held",
                "slo:objective:ratio",
                "subject_kind:tritonobs_tokens_per_second_limit:held",
            )
            for check in (reads(f"count({record})", 8, ({}, 1)), reads(f"count({record})", 15))
        ),
    ),
)
