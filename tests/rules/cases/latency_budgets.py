"""Budgets of latency: slow requests burn them, and a threshold that cannot be measured is said."""

from support.case import Case, fires, reads, silent
from support.simulate import World

FAST, MEDIUM = "TritonErrorBudgetBurnFast", "TritonErrorBudgetBurnMedium"
GONE, MISSING = "TritonErrorBudgetExhausted", "TritonSliMissing"
SUBJECT = {"model": "nms", "version": "1", "slo": "availability"}


def timed(share_slow, *, minutes=120, le="0.5", stage="total", scrape_seconds=15, qps=4, **labels):
    """A model whose SLO is about latency: `share_slow` of its requests take 1 s, the others 0.1 s."""
    world = World(minutes=minutes, scrape_seconds=scrape_seconds).triton("nms", qps=qps)
    world.stage("nms", "total", qps=qps, times={1.0: share_slow, 0.1: _rest(share_slow)})
    row = {"model": "nms", "version": "1", "slo": "latency"}
    world.gauge("tritonobs_slo_objective_ratio", 0.99, **row)
    return world.gauge("tritonobs_latency_target_seconds", 0.5, **row, stage=stage, le=le, **labels)


def _rest(share):
    return [(until, 1 - value) for until, value in share] if isinstance(share, list) else 1 - share


LATENCY = {
    "model": "nms",
    "version": "1",
    "slo": "latency",
    "sloth_id": "nms-latency-v1",
    "sloth_service": "nms",
    "sloth_slo": "latency-v1",
}

CASES = (
    Case(
        says="slow requests burn a latency budget",
        world=timed([(60, 0), (999, 0.25)]),
        rules=(FAST,),
        checks=(silent(FAST, 60), fires(FAST, 110, severity="critical", burn_tier="fast", **LATENCY)),
    ),
    Case(
        says="slow requests within the objective do not",
        world=timed(0.005),
        rules=(FAST, MEDIUM, GONE),
        checks=(silent(FAST, 120), silent(MEDIUM, 120), silent(GONE, 120)),
    ),
    Case(
        says="a threshold that is no bucket bound is not measured, and that is said",
        world=timed(0, le="0.4"),
        rules=(MISSING,),
        checks=(fires(MISSING, 60, severity="warning", **LATENCY),),
    ),
    Case(
        says="a stage that is not instrumented is not measured, and that is said",
        world=timed(0, stage="decode"),
        rules=(MISSING,),
        checks=(fires(MISSING, 60, severity="warning", **LATENCY),),
    ),
    Case(
        says="an idle model is measured: it has no bad requests",
        world=timed(0, qps=0),
        rules=(MISSING, FAST, GONE),
        checks=(silent(MISSING, 120), silent(FAST, 120), silent(GONE, 120)),
    ),
    Case(
        says="a model that is not loaded misses no SLI, it is missing itself",
        world=World(minutes=60).gauge("tritonobs_slo_objective_ratio", 0.99, **SUBJECT),
        rules=(MISSING,),
        checks=(silent(MISSING, 60),),
    ),
    Case(
        says="a server of an older release, or Prometheus 3, may write 1.0 for a bound of 1",
        world=World(minutes=60)
        .triton("nms", qps=1)
        .counter(
            "tritonobs_stage_duration_seconds_bucket",
            1,
            job="triton",
            model="nms",
            version="1",
            stage="total",
            le="1.0",
            worker="w",
        )
        .counter(
            "tritonobs_stage_duration_seconds_bucket",
            2,
            job="triton",
            model="nms",
            version="1",
            stage="total",
            le="+Inf",
            worker="w",
        )
        .gauge("tritonobs_slo_objective_ratio", 0.9, model="nms", version="1", slo="latency")
        .gauge(
            "tritonobs_latency_target_seconds",
            1,
            model="nms",
            version="1",
            slo="latency",
            stage="total",
            le="1",
        ),
        rules=(MISSING, "slo:sli_error:ratio_rate5m"),
        checks=(
            silent(MISSING, 60),
            reads("slo:sli_error:ratio_rate5m", 30, ({**LATENCY, "sloth_window": "5m"}, 0.5)),
        ),
    ),
)
