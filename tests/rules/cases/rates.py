"""What records read is what happened, at any rate: a request in 100 s, one a second, a thousand."""

from support.case import Case, absent, near, reads
from support.simulate import World

NMS = {"model": "nms", "version": "1"}
TRITON = {"job": "triton", "instance": "triton-1:8002", "replica": "triton-1", **NMS}
RATES = ((0.01, 0.1), (1, 0.01), (1000, 0.01))
TRAFFIC = "model_version:triton_requests"
COMPUTED = "model_version:triton_compute_duration_seconds:rate1m"
ANSWERS = "model_instance:tritonobs_worker_answers:info"


def at_rate(qps, tolerance):
    """Traffic, times and batches of one model at a rate, beside neighbours that do nothing."""
    world = World(minutes=40).triton("idle").triton("idle", "2").worker("idle")
    world.triton("nms", qps=qps, seconds=0.2, queue=0.01, compute=0.15, batch=4, items=2, pending=3)
    world.worker("nms", outcomes={"ok": 0.9 * qps, "error": 0.1 * qps}).gauge(
        "nv_model_load_duration_secs", 2.5, **TRITON
    )
    exact = (
        ("model_version:triton_request_duration_seconds:mean5m", 0.2),
        ("model_version:triton_queue_duration_seconds:mean5m", 0.01),
        ("model_version:triton_compute_duration_seconds:mean5m", 0.15),
        ("model_version:triton_batch_size:mean5m", 8),
        ("model_version:triton_requests_per_executions:ratio5m", 4),
        ("model_version:triton_requests_pending:sum", 3),
        ("model_version:triton_model_load_seconds:max", 2.5),
        ("model_version:tritonobs_workers:count", 1),
    )
    about = (
        (f"{TRAFFIC}:rate5m", qps),
        ("model_version:triton_requests_in_flight:mean5m", 0.2 * qps),
        (f"{TRAFFIC}_bad_per_requests:ratio_rate5m", 0.1),
        ("model_version:tritonobs_workers_busy:ratio5m", min(0.15 * qps / 4, 1)),
    )
    ratios = [name for name, _ in exact if "mean5m" in name or "ratio5m" in name]
    return Case(
        says=f"{qps:g} requests a second are told as they are, beside idle neighbours",
        world=world,
        rules=(*(name for name, _ in exact), *(name for name, _ in about)),
        checks=(
            *(near(f'{name}{{model="nms"}}', 30, NMS, value, tolerance=1e-6) for name, value in exact),
            # One error in 10 at a request in 100 s is one in a quarter of an hour: not within 5 m.
            *(
                near(f'avg_over_time({name}{{model="nms"}}[20m])', 38, NMS, value, tolerance=tolerance)
                for name, value in about
                if qps > 0.1 or "bad" not in name
            ),
            reads(
                f'{TRAFFIC}:rate5m{{model="idle",version="1"}}', 30, ({"model": "idle", "version": "1"}, 0)
            ),
            *(absent(f'{name}{{model="idle"}}', 30) for name in ratios),
            absent(f'{TRAFFIC}_bad_per_requests:ratio_rate5m{{model="idle"}}', 30),
        ),
    )


def staged(qps):
    """Stages of one model at a rate: nine of ten requests take 60 ms in decode, one takes 400 ms."""
    world = World(minutes=40).triton("nms", qps=qps).stage("nms", "idle", qps=0, times={0.1: 1})
    world.stage("nms", "total", qps=qps, times={0.3: 1})
    world.stage("nms", "decode", qps=qps, times={0.06: 0.9, 0.4: 0.1})
    world.gauge("tritonobs_latency_target_seconds", 0.5, **NMS, slo="latency", stage="total", le="0.5")
    decode = {**NMS, "stage": "decode"}
    name = "model_version_stage:tritonobs_stage_duration_seconds"
    exact = (
        (f"{name}:mean5m", 0.094),
        (f"{name}:p50_5m", 0.05 + 0.025 * 0.5 / 0.9),
        (f"{name}:p95_5m", 0.375),
        (f"{name}:p99_5m", 0.475),
        (f"{name}_per_total:ratio5m", 0.094 / 0.3),
        ("model_version_stage:tritonobs_stage_latency_budget_used:ratio5m", 0.094 / 0.5),
    )
    return Case(
        says=f"stages at {qps:g} requests a second are told as they are",
        world=world,
        rules=(*(record for record, _ in exact), f"{name}_count:rate1m"),
        checks=(
            *(
                near(f'{record}{{stage="decode"}}', 30, decode, value, tolerance=1e-4)
                for record, value in exact
            ),
            near(
                f'avg_over_time({name}_count:rate1m{{stage="decode"}}[10m])', 30, decode, qps, tolerance=0.1
            ),
            *(
                absent(f'{record}{{stage="idle"}}', 30)
                for record, _ in exact
                if "_per_" not in record and "budget" not in record
            ),
            absent(f'{name}_per_total:ratio5m{{stage="total"}}', 30),
            absent(f"{name}:p99_5m != {name}:p99_5m", 30),
        ),
    )


def computed():
    """Two servers that compute for one second and for two in each; what comes in and out takes a little."""
    world = World(minutes=5)
    for turn in (1, 2):
        for part, seconds in (("input", 0.1), ("infer", 1), ("output", 0.01)):
            own = {**TRITON, "replica": f"triton-{turn}"}
            world.counter(f"nv_inference_compute_{part}_duration_us", 1e6 * seconds * turn, **own)
    return world


def answering():
    """Workers with a request every two seconds, with one until two minutes before, and with none."""
    world = World(minutes=10)
    for slot, level in enumerate((0.5, [(8, 0.5), (99, 0)], 0)):
        own = {**TRITON, "worker": f"nms_0_{slot}-100-1a2b3c"}
        world.counter("tritonobs_stage_duration_seconds_count", level, **own, stage="total")
        world.counter("tritonobs_stage_duration_seconds_count", 1, **own, stage="decode")
    return world


CASES = (
    *(at_rate(*rate) for rate in RATES),
    *(staged(qps) for qps, _ in RATES),
    Case(
        says="servers compute for as long as all of them together, with what goes in and out",
        world=computed(),
        rules=(COMPUTED,),
        checks=(reads(COMPUTED, 5, (NMS, 3.33)),),
    ),
    Case(
        says="a worker answers that ended a request within a minute",
        world=answering(),
        rules=(ANSWERS,),
        checks=(reads(ANSWERS, 10, ({**NMS, "replica": "triton-1", "model_instance": "nms_0_0"}, 1)),),
    ),
)
