"""Engines of language models on two servers: full caches, who waits and runs, and which promises are kept."""

from support.case import Case, absent, reads
from support.simulate import World

USED, WAITING, RUNNING = (
    "tritonobs_kv_cache_used:ratio",
    "tritonobs_llm_requests_waiting:sum",
    "tritonobs_llm_requests_running:sum",
)
GOODPUT = "model_version:tritonobs_goodput:rate5m"
VERSION, REPLICA = "model_version:", "replica_model_version:"
REQUESTS, ERROR = "model_version:triton_requests:rate5m", "slo:sli_error:ratio_rate5m"
TARGET = "subject_slo:tritonobs_latency_target_seconds:held"
BLOCKS, OF_TRT = "nv_trt_llm_kv_cache_block_metrics", "nv_trt_llm_request_metrics"
PREFIX = "model_version:tritonobs_prefix_cache_hits_per_lookups:ratio5m"
COST = "model_version_kind:tritonobs_tokens_per_requests:ratio5m"


def told(model, **labels):
    """The labels of a model's only version, and these."""
    return {"model": model, "version": "1", **labels}


def page(model, replica="a", **labels):
    """What every series of a model on a server carries."""
    return {"job": "triton", "instance": f"{replica}:8002", "replica": replica, **told(model), **labels}


def engines(**series):
    """Two engines of vLLM on server a and one on server b: the values of the three, by series."""
    world = World(minutes=2)
    for name, values in series.items():
        for (replica, engine), value in zip((("a", "0"), ("a", "1"), ("b", "0")), values, strict=True):
            world.gauge(f"vllm:{name}", value, **page("llm", replica, engine=engine))
    return world


def tensorrt(world, replica, instance, **types):
    """TensorRT-LLM on a server, with one of its pages: requests by their type."""
    for kind, value in types.items():
        world.gauge(OF_TRT, value, **page("trt", replica) | {"instance": instance}, request_type=kind)
    return world


def blocks(*pages):
    """TensorRT-LLM: the used blocks and all of them, by model and page."""
    world = World(minutes=2)
    for model, instance, used, most in pages:
        for kind, value in (("used", used), ("max", most)):
            world.gauge(BLOCKS, value, **page(model) | {"instance": instance}, kv_cache_block_type=kind)
    return world


def kept(**late):
    """A model with 8 requests a second, and the share that is late by promise."""
    world = World(minutes=2).gauge(REQUESTS, 8, **told("llm"))
    for stage, share in late.items():
        world.gauge(ERROR, share, **told("llm", slo=stage, sloth_window="5m"))
        world.gauge(TARGET, 0.5, **told("llm", slo=stage, stage=stage, le="0.5"))
    return world


CASES = (
    *(
        Case(
            says=f"the fullest cache of a server counts, and the fullest of all servers: {name}",
            world=engines(**{name: (0.4, 0.7, 0.5)}),
            rules=(f"{REPLICA}{USED}", f"{VERSION}{USED}"),
            checks=(
                reads(
                    f"{REPLICA}{USED}", 1, (told("llm", replica="a"), 0.7), (told("llm", replica="b"), 0.5),
                ),
                reads(f"{VERSION}{USED}", 1, (told("llm"), 0.7)),
            ),
        )
        for name in ("kv_cache_usage_perc", "gpu_cache_usage_perc")
    ),
    Case(
        says="a cache of one block is one, and an engine without a cache has none that is full",
        world=blocks(("tiny", "a:8002", 1, 1), ("none", "a:8002", 0, 0), ("large", "a:8002", 300, 400)),
        rules=(f"{REPLICA}{USED}",),
        checks=(
            reads(
                f"{REPLICA}{USED}", 1,
                (told("tiny", replica="a"), 1), (told("large", replica="a"), 0.75),
            ),
        ),
    ),
    Case(
        says="of two pages of one server, one of them older, the fuller cache counts",
        world=blocks(("trt", "a:8002", 300, 400), ("trt", "a:9002", 100, 400)),
        rules=(f"{REPLICA}{USED}",),
        checks=(reads(f"{REPLICA}{USED}", 1, (told("trt", replica="a"), 0.75)),),
    ),
    Case(
        says="those who wait and those who run are counted over engines and servers",
        world=engines(num_requests_waiting=(3, 5, 7), num_requests_running=(2, 4, 9)),
        rules=(f"{REPLICA}{WAITING}", f"{VERSION}{WAITING}", f"{REPLICA}{RUNNING}", f"{VERSION}{RUNNING}"),
        checks=(
            reads(f"{REPLICA}{WAITING}", 1, (told("llm", replica="a"), 8), (told("llm", replica="b"), 7)),
            reads(f"{VERSION}{WAITING}", 1, (told("llm"), 15)),
            reads(f"{REPLICA}{RUNNING}", 1, (told("llm", replica="a"), 6), (told("llm", replica="b"), 9)),
            reads(f"{VERSION}{RUNNING}", 1, (told("llm"), 15)),
        ),
    ),
    Case(
        says="TensorRT-LLM on two ports of one server: those who wait and run add up",
        world=tensorrt(
            tensorrt(World(minutes=2), "a", "a:8002", waiting=3, active=9, scheduled=6),
            "a", "a:9002", waiting=5, active=7, scheduled=2,
        ),
        rules=(f"{REPLICA}{WAITING}", f"{REPLICA}{RUNNING}"),
        checks=(
            reads(f"{REPLICA}{WAITING}", 1, (told("trt", replica="a"), 8)),
            reads(f"{REPLICA}{RUNNING}", 1, (told("trt", replica="a"), 8)),
        ),
    ),
    Case(
        says="an older TensorRT-LLM on two ports: those it has taken and not scheduled wait",
        world=tensorrt(
            tensorrt(World(minutes=2), "a", "a:8002", active=9, scheduled=6),
            "a", "a:9002", active=7, scheduled=2,
        ),
        rules=(f"{REPLICA}{WAITING}",),
        checks=(reads(f"{REPLICA}{WAITING}", 1, (told("trt", replica="a"), (9 + 7) - (6 + 2))),),
    ),
    Case(
        says="requests that met both promises are at least those that broke neither",
        world=kept(first_token=0.1, output_token=0.25, total=0.5),
        rules=(GOODPUT,),
        given=(REQUESTS, ERROR, TARGET),
        checks=(reads(GOODPUT, 1, (told("llm"), 8 * (1 - 0.1 - 0.25))),),
    ),
    Case(
        says="no request met both promises where more were late than there were",
        world=kept(first_token=0.5, output_token=0.75),
        rules=(GOODPUT,),
        given=(REQUESTS, ERROR, TARGET),
        checks=(reads(GOODPUT, 1, (told("llm"), 0)),),
    ),
    *(
        Case(
            says=f"a cache asked once in ten seconds has a share of hits, one not asked has none: {name}",
            world=World(minutes=10)
            .counter(f"vllm:{name}_queries_total", 0.1, **page("llm"))
            .counter(f"vllm:{name}_hits_total", 0.05, **page("llm"))
            .counter(f"vllm:{name}_queries_total", 0, **page("idle"))
            .counter(f"vllm:{name}_hits_total", 0, **page("idle")),
            rules=(PREFIX,),
            checks=(reads(f"round({PREFIX}, 0.1)", 10, (told("llm"), 0.5)),),
        )
        for name in ("prefix_cache", "gpu_prefix_cache")
    ),
    Case(
        says="a request in five seconds has its cost in tokens; without requests there is none",
        world=World(minutes=10)
        .triton("llm", qps=0.2)
        .counter("vllm:prompt_tokens_total", 20, **page("llm"))
        .triton("idle", qps=0)
        .counter("vllm:prompt_tokens_total", 20, **page("idle")),
        rules=(COST,),
        checks=(
            reads(f"round({COST}{{model='llm'}}, 10)", 10, (told("llm", kind="tokens_in"), 100)),
            absent(f"{COST}{{model='idle'}}", 10),
        ),
    ),
)  # fmt: skip
