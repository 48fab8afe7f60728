"""tritonobs itself: the daemon, its fleet file, its robots, its rules; and tokens against limits."""

from support.case import Case, fires, reads, silent
from support.simulate import World

SERVE = {"job": "tritonobs", "instance": "serve:9900"}
ROBOT = {**SERVE, "robot": "oncall"}
DOWN, INVALID, FAILING = "TritonobsServeDown", "TritonobsFleetFileInvalid", "TritonobsDeliveryFailing"
MUTED, RULES, WATCHDOG = "TritonobsRobotMuted", "TritonobsRulesFailing", "Watchdog"
TASK = "TritonobsTaskFailing"
TASKS = {**SERVE, "task": "limits log"}
ABOVE, NEAR = "TritonTokensAboveLimit", "TritonTokensNearLimit"
LIMIT = "tritonobs_tokens_per_second_limit"
LLM = {"job": "triton", "replica": "triton-1", "model": "llm", "version": "1"}


def serve(series, level, **labels):
    """The daemon with one of its series."""
    return World(minutes=20).gauge(series, level, **{**SERVE, **labels})


def delivering(errors, waiting):
    """A robot with errors a second, and calls that wait."""
    sim = World(minutes=20).counter("tritonobs_delivery_errors_total", errors, **ROBOT, code="310000")
    return sim.gauge("tritonobs_delivery_waiting_calls", waiting, **ROBOT)


def failing(group, level):
    """Rules of a group that fail so often a second."""
    name = "prometheus_rule_evaluation_failures_total"
    return World(minutes=30).counter(
        name, level, instance="prometheus:9090", rule_group=f"/etc/rules.yml;{group}"
    )


def tokens(level, series="tritonobs_stage_items_total", limit=100, **labels):
    """A language model that makes tokens; its limit is on what comes out."""
    sim = (
        World(minutes=20)
        .triton("llm", qps=1)
        .info("llm", "1", tier="low")
        .counter(series, level, **LLM, **labels)
    )
    return sim.gauge(LIMIT, limit, model="llm", version="1", kind="tokens_out")


OURS = {"stage": "generate", "kind": "tokens_out", "worker": "w-1-a"}
OWNED = {"model": "llm", "version": "1", "kind": "tokens_out", "tier": "low"}

CASES = (
    Case(
        says="the watchdog always fires",
        world=World(minutes=20),
        rules=(WATCHDOG,),
        checks=(fires(WATCHDOG, 0, severity="info"), fires(WATCHDOG, 20, severity="info")),
    ),
    Case(
        says="a daemon that does not answer is down",
        world=serve("up", [(5, 1), (99, 0)]),
        rules=(DOWN,),
        checks=(silent(DOWN, 5.5), fires(DOWN, 8, severity="critical", **SERVE)),
    ),
    Case(
        says="a daemon that answers is not", world=serve("up", 1), rules=(DOWN,), checks=(silent(DOWN, 20),)
    ),
    Case(
        says="another job that is down is not the daemon",
        world=serve("up", 0, job="triton"),
        rules=(DOWN,),
        checks=(silent(DOWN, 20),),
    ),
    Case(
        says="a fleet file with errors is said",
        world=serve("tritonobs_config_valid", [(5, 1), (99, 0)]),
        rules=(INVALID,),
        checks=(silent(INVALID, 5), fires(INVALID, 8, severity="warning", **SERVE)),
    ),
    Case(
        says="a good fleet file is not",
        world=serve("tritonobs_config_valid", 1),
        rules=(INVALID,),
        checks=(silent(INVALID, 20),),
    ),
    Case(
        says="a fleet file that was wrong for one scrape is not",
        world=serve("tritonobs_config_valid", [(5, 1), (5.25, 0), (99, 1)]),
        rules=(INVALID,),
        checks=(silent(INVALID, 20),),
    ),
    Case(
        says="errors while alerts wait are a failing delivery",
        world=delivering([(5, 0), (99, 0.2)], 1),
        rules=(FAILING,),
        checks=(
            silent(FAILING, 5.5),
            fires(FAILING, 10, severity="critical", robot="oncall", instance="serve:9900"),
        ),
    ),
    Case(
        says="errors that no alert waits for are over",
        world=delivering(0.2, 0),
        rules=(FAILING,),
        checks=(silent(FAILING, 20),),
    ),
    Case(
        says="alerts that wait for their digest are on their way",
        world=delivering(0, 1),
        rules=(FAILING,),
        checks=(silent(FAILING, 20),),
    ),
    Case(
        says="a robot that DingTalk mutes is said at once",
        world=serve("tritonobs_robot_muted", [(5, 0), (99, 1)], robot="oncall"),
        rules=(MUTED,),
        checks=(silent(MUTED, 4.75), fires(MUTED, 5, severity="warning", **ROBOT)),
    ),
    Case(
        says="a robot that may speak is not",
        world=serve("tritonobs_robot_muted", 0, robot="oncall"),
        rules=(MUTED,),
        checks=(silent(MUTED, 20),),
    ),
    Case(
        says="a robot of somebody else's daemon is not ours",
        world=serve("tritonobs_robot_muted", 1, robot="oncall", job="other"),
        rules=(MUTED,),
        checks=(silent(MUTED, 20),),
    ),
    Case(
        says="a task of serve that does not do its work is said",
        world=serve("tritonobs_task_up", [(5, 1), (99, 0)], task="limits log"),
        rules=(TASK,),
        checks=(silent(TASK, 6.5), fires(TASK, 9, severity="warning", **TASKS)),
    ),
    Case(
        says="one that works between its failures is said, too",
        world=serve("tritonobs_task_up", 1, task="limits log").counter(
            "tritonobs_task_failures_total", 0.02, **TASKS
        ),
        rules=(TASK,),
        checks=(fires(TASK, 18, severity="warning", **TASKS),),
    ),
    Case(
        says="a task that failed once and went on is not",
        world=serve("tritonobs_task_up", [(5, 1), (6, 0), (99, 1)], task="limits log").counter(
            "tritonobs_task_failures_total", [(5, 0), (6, 0.02), (99, 0)], **TASKS
        ),
        rules=(TASK,),
        checks=(silent(TASK, 10), silent(TASK, 20)),
    ),
    Case(
        says="a task of somebody else's program is not ours",
        world=serve("tritonobs_task_up", 0, task="limits log", job="other"),
        rules=(TASK,),
        checks=(silent(TASK, 20),),
    ),
    Case(
        says="rules of ours that fail are said",
        world=failing("tritonobs.traffic", [(5, 0), (99, 0.1)]),
        rules=(RULES,),
        checks=(
            silent(RULES, 5),
            fires(
                RULES,
                10,
                severity="warning",
                instance="prometheus:9090",
                group="tritonobs.traffic",
                rule_group="/etc/rules.yml;tritonobs.traffic",
            ),
        ),
    ),
    Case(
        says="rules of others that fail are theirs",
        world=failing("node.rules", 0.1),
        rules=(RULES,),
        checks=(silent(RULES, 30),),
    ),
    Case(
        says="rules of ours that work are not said",
        world=failing("tritonobs.traffic", 0),
        rules=(RULES,),
        checks=(silent(RULES, 30),),
    ),
    Case(
        says="more tokens than the limit, by our own counter",
        world=tokens(130, **OURS),
        rules=(ABOVE, NEAR),
        checks=(
            fires(ABOVE, 10, severity="critical", **OWNED),
            fires(NEAR, 10, severity="warning", **OWNED),
        ),
    ),
    Case(
        says="ninety percent of the limit are near it",
        world=tokens(90, **OURS),
        rules=(ABOVE, NEAR),
        checks=(silent(ABOVE, 20), fires(NEAR, 10, severity="warning", **OWNED)),
    ),
    Case(
        says="seventy percent are neither",
        world=tokens(70, **OURS),
        rules=(ABOVE, NEAR),
        checks=(silent(ABOVE, 20), silent(NEAR, 20)),
    ),
    Case(
        says="tokens of the other kind do not count",
        world=tokens(130, **{**OURS, "kind": "tokens_in"}),
        rules=(ABOVE, NEAR),
        checks=(silent(ABOVE, 20), silent(NEAR, 20)),
    ),
    Case(
        says="a burst of tokens for a quarter of a minute is none",
        world=tokens([(10, 50), (10.25, 260), (99, 50)], **OURS),
        rules=(ABOVE, NEAR),
        checks=(silent(ABOVE, 20), silent(NEAR, 20)),
    ),
    Case(
        says="vLLM's name for tokens is understood",
        world=tokens(130, series="vllm:generation_tokens_total"),
        rules=(ABOVE,),
        checks=(fires(ABOVE, 10, severity="critical", **OWNED),),
    ),
    Case(
        says="TensorRT-LLM's name for tokens is understood",
        world=tokens(130, series="nv_llm_output_token_len_sum", response_metric_type="total_output_tokens"),
        rules=(ABOVE,),
        checks=(fires(ABOVE, 10, severity="critical", **OWNED),),
    ),
    Case(
        says="what comes in is told apart, whoever counts it; two stages that count the same count once",
        world=World(minutes=20)
        .counter("vllm:prompt_tokens_total", 30, **LLM)
        .counter("nv_llm_input_token_len_sum", 20, **{**LLM, "model": "trt"})
        .counter(
            "tritonobs_stage_items_total",
            10,
            **{**LLM, "model": "own"},
            stage="a",
            kind="tokens_in",
            worker="w",
        )
        .counter(
            "tritonobs_stage_items_total",
            10,
            **{**LLM, "model": "own"},
            stage="b",
            kind="tokens_in",
            worker="w",
        ),
        rules=("model_version_kind:tritonobs_tokens:rate1m",),
        checks=(
            reads(
                "model_version_kind:tritonobs_tokens:rate1m",
                10,
                *(
                    ({"model": model, "version": "1", "kind": "tokens_in"}, rate)
                    for model, rate in (("llm", 30), ("trt", 20), ("own", 10))
                ),
            ),
        ),
    ),
    Case(
        says="a limit for a model over its versions adds them up",
        world=World(minutes=20)
        .triton("llm", "1", qps=1)
        .triton("llm", "2", qps=1)
        .counter("tritonobs_stage_items_total", 60, **LLM, **OURS)
        .counter("tritonobs_stage_items_total", 60, **{**LLM, "version": "2"}, **OURS)
        .gauge(LIMIT, 100, model="llm", kind="tokens_out"),
        rules=(ABOVE,),
        checks=(fires(ABOVE, 10, severity="critical", model="llm", kind="tokens_out"),),
    ),
)
