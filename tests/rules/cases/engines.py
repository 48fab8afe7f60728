"""Two servers with engines of language models: what engines export adds up, and is of its window."""

from support.case import Case, near, reads
from support.simulate import World

STEP, SOON, LATER = 20, 21.5, 26.75
STAGE = "model_version_stage:tritonobs_stage_duration_seconds"
BUCKET = f"model_version_stage_le:{STAGE.split(':')[1]}_bucket:rate1m"
SUM, COUNT = f"{STAGE}_sum:rate1m", f"{STAGE}_count:rate1m"
RATE, COST = (
    "model_version_kind:tritonobs_tokens:rate1m",
    "model_version_kind:tritonobs_tokens_per_requests:ratio5m",
)
BACK, PAUSED = (
    "model_version:tritonobs_llm_preemptions:rate5m",
    "model_version:tritonobs_llm_requests_paused:mean5m",
)
PREFIX = "model_version:tritonobs_prefix_cache_hits_per_lookups:ratio5m"
# Observations a second until the step, and after it, of the two servers.
PACE = {"a": (2, 6), "b": (3, 9)}
ALL = 6 + 9
NEW, OLD = "llm", "older"
TIMES = {
    "vllm:time_to_first_token_seconds": (NEW, "first_token"),
    "vllm:inter_token_latency_seconds": (NEW, "output_token"),
    "vllm:time_per_output_token_seconds": (OLD, "output_token"),
    "vllm:e2e_request_latency_seconds": (NEW, "total"),
}


def told(model, **labels):
    """The labels of a model's only version, and these."""
    return {"model": model, "version": "1", **labels}


def page(replica, model):
    """What every series of a model on a server carries."""
    return {"job": "triton", "instance": f"{replica}:8002", "replica": replica, **told(model)}


def step(before, after):
    """One value until the step, another from then on."""
    return [(STEP, before), (999, after)]


def timed():
    """Each histogram: one in three takes up to half a second, all take up to one; 0.3 s in the mean."""
    world = World(minutes=23)
    for replica, (before, after) in PACE.items():
        for series, (model, _) in TIMES.items():
            for bound, share in (("0.5", 1 / 3), ("1.0", 1), ("+Inf", 1)):
                level = step(before * share, after * share)
                world.counter(f"{series}_bucket", level, **page(replica, model), le=bound)
            # Whole numbers: tenths of a second would be cut.
            world.counter(f"{series}_sum", step(3 * before, 3 * after), **page(replica, model))
            world.counter(f"{series}_count", step(before, after), **page(replica, model))
    return world


def mixed():
    """Two servers with our own stages: one is scraped with bounds of 1, the other with bounds of 1.0."""
    world = World(minutes=10)
    for replica, bound, rate in (("a", "1", 2), ("b", "1.0", 5)):
        labels = {**page(replica, "nms"), "worker": f"w-{replica}", "stage": "total"}
        for le in (bound, "+Inf"):
            world.counter("tritonobs_stage_duration_seconds_bucket", rate, **labels, le=le)
    return world


def counted():
    """Tokens, preemptions, pauses and lookups of two servers, three and five times as many after the step."""
    world = World(minutes=28)
    for replica, (before, after) in PACE.items():
        world.triton(NEW, qps=step(before, after), replica=replica)
        for series, model, times in (
            ("vllm:prompt_tokens_total", NEW, 10),
            ("vllm:generation_tokens_total", NEW, 4),
            ("nv_llm_input_token_len_sum", "trt", 7),
            ("nv_llm_output_token_len_sum", "trt", 2),
            ("vllm:num_preemptions_total", NEW, 1),
            ("vllm:prefix_cache_queries_total", NEW, 8),
            ("vllm:gpu_prefix_cache_queries_total", OLD, 8),
        ):
            world.counter(series, step(times * before, times * after), **page(replica, model))
        # Two of eight lookups find something on one server, five on the other; before, seven did on both.
        found = 2 if replica == "a" else 5
        for series, model in (
            ("vllm:prefix_cache_hits_total", NEW),
            ("vllm:gpu_prefix_cache_hits_total", OLD),
        ):
            world.counter(series, step(7 * before, found * after), **page(replica, model))
        world.gauge(
            "nv_trt_llm_inflight_batcher_metrics",
            step(before, after),
            **page(replica, "trt"),
            inflight_batcher_specific_metric="paused_requests",
        )
    return world


def _near(record, minute, labels, value):
    selected = ",".join(f'{label}="{text}"' for label, text in labels.items())
    return near(f"{record}{{{selected}}}", minute, labels, value)


HITS = (2 * 6 + 5 * 9) / (8 * ALL)

CASES = (
    Case(
        says="times that engines of two servers export add up, and a minute later nothing is left of before",
        world=timed(),
        rules=(BUCKET, SUM, COUNT),
        checks=tuple(
            check
            for model, stage in TIMES.values()
            for labels in (told(model, stage=stage),)
            for check in (
                _near(BUCKET, SOON, {**labels, "le": "0.5"}, ALL / 3),
                _near(BUCKET, SOON, {**labels, "le": "1"}, ALL),
                _near(SUM, SOON, labels, 3 * ALL),
                _near(COUNT, SOON, labels, ALL),
            )
        ),
    ),
    Case(
        says="a bound of 1 and a bound of 1.0 are one bound, and what two servers count below it adds up",
        world=mixed(),
        rules=(BUCKET,),
        checks=(
            reads(BUCKET, 5, *((told("nms", stage="total", le=le), 7) for le in ("1", "+Inf"))),
        ),
    ),
    Case(
        says="tokens of two servers add up, and are those of the last minute",
        world=counted(),
        rules=(RATE,),
        checks=(
            _near(RATE, SOON, told(NEW, kind="tokens_in"), 10 * ALL),
            _near(RATE, SOON, told(NEW, kind="tokens_out"), 4 * ALL),
            _near(RATE, SOON, told("trt", kind="tokens_in"), 7 * ALL),
            _near(RATE, SOON, told("trt", kind="tokens_out"), 2 * ALL),
        ),
    ),
    Case(
        says="what is put back, paused and found again is told over two servers, of the last five minutes",
        world=counted(),
        rules=(BACK, PAUSED, PREFIX, COST),
        checks=(
            _near(BACK, LATER, told(NEW), ALL),
            _near(PAUSED, LATER, told("trt"), ALL),
            _near(PREFIX, LATER, told(NEW), HITS),
            _near(PREFIX, LATER, told(OLD), HITS),
            _near(COST, LATER, told(NEW, kind="tokens_in"), 10),
            _near(COST, LATER, told(NEW, kind="tokens_out"), 4),
        ),
    ),
)  # fmt: skip
