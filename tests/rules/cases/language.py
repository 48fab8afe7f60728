"""Language models: what their engines export, whatever its name, and what goes wrong with them."""

from support.case import Case, absent, fires, near, reads, silent
from support.simulate import World

FULL, BACK, FAST = "TritonKvCacheFull", "TritonPreemptions", "TritonErrorBudgetBurnFast"
LLM = {"model": "llm", "version": "1"}
PAGE = {"job": "triton", "instance": "triton-1:8002", "replica": "triton-1", **LLM}
OTHER = PAGE | {"instance": "triton-2:8002", "replica": "triton-2"}
FIRST, LATER = "vllm:time_to_first_token_seconds", "vllm:time_per_output_token_seconds"
NEWER = "vllm:inter_token_latency_seconds"
STAGE = "model_version_stage:tritonobs_stage_duration_seconds"
CACHE, WAITING = "vllm:gpu_cache_usage_perc", "vllm:num_requests_waiting"
OF_TRT = {"kv": "nv_trt_llm_kv_cache_block_metrics", "requests": "nv_trt_llm_request_metrics"}


def served(minutes=20, qps=4):
    """A language model behind Triton, without our instrumentation."""
    return World(minutes=minutes).triton("llm", qps=qps).info("llm").info("llm", "1")


def timed(world, series, qps, slow=0.0):
    """A histogram of the engine: `slow` of what it observes takes 0.5 to 1 s, the rest less than 0.1 s."""
    share = slow if isinstance(slow, list) else [(999, slow)]
    for bound in ("0.1", "0.5", "1.0", "+Inf"):
        fast = bound in {"0.1", "0.5"}
        level = [(end, qps * (1 - one * fast)) for end, one in share]
        world.counter(f"{series}_bucket", level, **PAGE, le=bound)
    world.counter(f"{series}_count", qps, **PAGE)
    return world.counter(f"{series}_sum", 0.05 * qps, **PAGE)


def restarted():
    """A server that is gone for a minute, and counts from 0 again."""
    level = [(30, 4), (31, None), (99, 4)]
    world = World(minutes=60).triton("llm", qps=level).info("llm").info("llm", "1")
    for bound in ("0.1", "0.5", "1.0", "+Inf"):
        world.counter(f"{FIRST}_bucket", level, **PAGE, le=bound)
    return promised(world, "first_token", "first", "0.5")


def promised(world, stage, slo, le):
    """An SLO of 99 % on a stage of the engine."""
    row = {**LLM, "slo": slo}
    world.gauge("tritonobs_slo_objective_ratio", 0.99, **row)
    return world.gauge("tritonobs_latency_target_seconds", float(le), **row, stage=stage, le=le)


def cached(used, waiting, *, page=PAGE, name=CACHE):
    """A cache this full, with so many requests waiting."""
    return served().gauge(name, used, **page).gauge(WAITING, waiting, **page)


def of_tensorrt(used, *, waiting=None, active=10, scheduled=10, paused=0):
    """The gauges of TensorRT-LLM's backend: blocks of 1000, requests by type."""
    world = served()
    for kind, level in (("used", used), ("max", 1000)):
        world.gauge(OF_TRT["kv"], level, **PAGE, kv_cache_block_type=kind)
    for kind, level in (("active", active), ("scheduled", scheduled), ("waiting", waiting)):
        if level is not None:
            world.gauge(OF_TRT["requests"], level, **PAGE, request_type=kind)
    labels = {"inflight_batcher_specific_metric": "paused_requests"}
    return world.gauge("nv_trt_llm_inflight_batcher_metrics", paused, **PAGE, **labels)


def burning(share):
    """First tokens of which a share is later than the promise of 0.5 s from minute 60 on."""
    world = promised(timed(served(minutes=120), FIRST, 4, share), "first_token", "first", "0.5")
    return timed(world, LATER, 40)


OWNED = {**LLM, "severity": "warning"}
AT = {**OWNED, "replica": "triton-1"}
SLO = {"slo": "first", "sloth_id": "llm-first-v1", "sloth_service": "llm", "sloth_slo": "first-v1"}
FIRST_ROW = {**LLM, "stage": "first_token"}
PREFIX = "model_version:tritonobs_prefix_cache_hits_per_lookups:ratio5m"
USED = "model_version:tritonobs_kv_cache_used:ratio"

CASES = (
    Case(
        says="the engine's times are stages: first token, later tokens, the whole answer",
        world=timed(timed(timed(served(), FIRST, 4), LATER, 40), "vllm:e2e_request_latency_seconds", 4),
        rules=(f"{STAGE}:mean5m", f"{STAGE}:p99_5m"),
        checks=(
            *(
                near(f'{STAGE}:mean5m{{stage="{stage}"}}', 15, {**LLM, "stage": stage}, 0.05, tolerance=1e-3)
                for stage in ("first_token", "output_token", "total")
            ),
            near(f'{STAGE}:p99_5m{{stage="first_token"}}', 15, FIRST_ROW, 0.099, tolerance=0.001),
        ),
    ),
    Case(
        says="of two names of one thing the newer counts, and once",
        world=timed(timed(served(), LATER, 40), NEWER, 10),
        rules=(f"{STAGE}_count:rate1m",),
        checks=(
            near(f"{STAGE}_count:rate1m", 15, {**LLM, "stage": "output_token"}, 10, tolerance=1e-2),
        ),
    ),
    Case(
        says="an instrumented model is believed rather than its engine",
        world=timed(served(), FIRST, 4).stage("llm", "first_token", qps=4, times={0.3: 1}),
        rules=(f"{STAGE}:mean5m",),
        checks=(
            near(f"{STAGE}:mean5m", 15, {**LLM, "stage": "first_token"}, 0.3, tolerance=1e-3),
        ),
    ),
    Case(
        says="late first tokens burn their budget, by the engine's own histogram",
        world=burning([(60, 0), (999, 0.3)]),
        rules=(FAST, "model_version:tritonobs_goodput:rate5m"),
        checks=(
            silent(FAST, 60),
            fires(FAST, 110, severity="critical", burn_tier="fast", **LLM, **SLO),
            near("model_version:tritonobs_goodput:rate5m", 30, LLM, 4, tolerance=0.05),
            near("model_version:tritonobs_goodput:rate5m", 110, LLM, 2.8, tolerance=0.05),
        ),
    ),
    Case(
        says="first tokens within the promise do not",
        world=burning(0.002),
        rules=(FAST,),
        checks=(silent(FAST, 120),),
    ),
    Case(
        says="an engine that restarts burns nothing",
        world=restarted(),
        rules=(FAST, "slo:sli_bad_requests:increase"),
        checks=(
            silent(FAST, 60),
            reads("sum(sum_over_time(slo:sli_bad_requests:increase[50m]))", 60, ({}, 0)),
        ),
    ),
    *(
        Case(
            says=f"a full cache with requests waiting fires: {name}",
            world=world,
            rules=(FULL, USED),
            checks=(fires(FULL, 10, **AT), reads(USED, 10, (LLM, 0.97))),
        )
        for name, world in (
            ("vLLM's older name", cached(0.97, 3)),
            ("one that breathes", cached([(m / 4, 0.97 if m % 2 else 0.8) for m in range(1, 99)], 3)),
            ("vLLM's newer name", cached(0.97, 3, name="vllm:kv_cache_usage_perc")),
            ("TensorRT-LLM", of_tensorrt(970, waiting=3)),
            ("TensorRT-LLM that does not tell who waits", of_tensorrt(970, active=14, scheduled=10)),
        )
    ),
    *(
        Case(says=says, world=world, rules=(FULL,), checks=(silent(FULL, 20),))
        for says, world in (
            ("a full cache where nobody waits is a well-used one", cached(0.99, 0)),
            ("requests that wait beside an empty cache wait for something else", cached(0.5, 9)),
            ("those who wait on another server do not wait for this cache",
             cached(0.97, 0).gauge(CACHE, 0.2, **OTHER).gauge(WAITING, 5, **OTHER)),
            ("a cache that is full for a minute is none", cached([(10, 0.5), (11, 0.99), (99, 0.5)], 3)),
            ("TensorRT-LLM with room left", of_tensorrt(900, waiting=3)),
        )
    ),
    Case(
        says="requests that are put back and begin anew are told",
        world=served().counter("vllm:num_preemptions_total", 1, **PAGE),
        rules=(BACK,),
        checks=(silent(BACK, 4), fires(BACK, 15, **OWNED)),
    ),
    Case(
        says="so are those that TensorRT-LLM pauses",
        world=of_tensorrt(900, paused=4),
        rules=(BACK,),
        checks=(fires(BACK, 15, **OWNED),),
    ),
    *(
        Case(says=says, world=world, rules=(BACK,), checks=(silent(BACK, 20),))
        for says, world in (
            ("one in fifty that is put back is not told",
             served().counter("vllm:num_preemptions_total", 0.08, **PAGE)),
            ("one that TensorRT-LLM pauses now and then is not", of_tensorrt(900, paused=0.5)),
        )
    ),
    Case(
        says="what a request costs, and how much of its beginning was there already",
        world=served()
        .counter("vllm:prompt_tokens_total", 2000, **PAGE)
        .counter("vllm:generation_tokens_total", 400, **PAGE)
        .counter("vllm:prefix_cache_queries_total", 2000, **PAGE)
        .counter("vllm:prefix_cache_hits_total", 500, **PAGE),
        rules=(
            "model_version_kind:tritonobs_tokens_per_requests:ratio5m",
            PREFIX,
        ),
        checks=(
            *(
                near(f'model_version_kind:tritonobs_tokens_per_requests:ratio5m{{kind="{kind}"}}',
                    15, {**LLM, "kind": kind}, tokens, tolerance=5,
                )
                for kind, tokens in (("tokens_in", 500), ("tokens_out", 100))
            ),
            near(PREFIX, 15, LLM, 0.25, tolerance=0.01),
        ),
    ),
    Case(
        says="an engine that tells nothing of its cache has no rows about it",
        world=served().counter("vllm:prompt_tokens_total", 2000, **PAGE),
        rules=(USED, "model_version:tritonobs_llm_requests_waiting:sum"),
        checks=(absent(USED, 10), absent("model_version:tritonobs_llm_requests_waiting:sum", 10)),
    ),
)  # fmt: skip
