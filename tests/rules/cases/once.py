"""One overflow is one alert, of the model or of its version; and where limits come from."""

from support.case import Case, all_fire, fires, silent
from support.simulate import World

LIMIT, TOKENS = "tritonobs_qps_limit", "tritonobs_tokens_per_second_limit"
ABOVE, NEAR, SPIKE, WILL = (
    "TritonQpsAboveLimit",
    "TritonQpsNearLimit",
    "TritonQpsSpike",
    "TritonQpsWillExceedLimit",
)
TOKENS_ABOVE, TOKENS_NEAR = "TritonTokensAboveLimit", "TritonTokensNearLimit"
LOST, REFUSED, DOWN = "TritonLimitSourceLost", "TritonLimitRefused", "TritonobsServeDown"
SERVE = {"job": "tritonobs", "instance": "serve:9900"}
MODEL = {"model": "nms"}
FIRST, SECOND = {"model": "nms", "version": "1"}, {"model": "nms", "version": "2"}
GROWTH = [(step / 4, 3 + step * 0.03) for step in range(1, 161)]


def inherited(*, first, second=None, minutes=20, limits=(8, 8, 8)):
    """A model and its versions with their limits: of the model, the first and the second version."""
    world = World(minutes=minutes).triton("nms", "1", qps=first)
    world.gauge(LIMIT, limits[0], **MODEL).gauge(LIMIT, limits[1], **FIRST)
    if second is not None:
        world.triton("nms", "2", qps=second).gauge(LIMIT, limits[2], **SECOND)
    return world


def tokens(first, second=None, limits=(100, 100)):
    """A language model with a limit that its versions inherit."""
    world = World(minutes=20).triton("nms", "1", qps=1)
    world.counter("tritonobs_stage_items_total", first, job="triton", stage="s", kind="tokens_out", **FIRST)
    for labels, limit in zip((MODEL, FIRST, SECOND), (*limits, limits[-1]), strict=True):
        world.gauge(TOKENS, limit, kind="tokens_out", **labels)
    if second is not None:
        world.triton("nms", "2", qps=1)
        world.counter(
            "tritonobs_stage_items_total", second, job="triton", stage="s", kind="tokens_out", **SECOND
        )
    return world


CRITICAL, WARNING = {"severity": "critical"}, {"severity": "warning"}
OUT = {"kind": "tokens_out"}

CASES = (
    Case(
        says="the only version of a model is its model: one alert each",
        world=inherited(first=16),
        rules=(ABOVE, NEAR),
        checks=(fires(ABOVE, 10, **CRITICAL, **MODEL), silent(NEAR, 10)),
    ),
    Case(
        says="a second version without traffic changes nothing",
        world=inherited(first=10, second=0),
        rules=(ABOVE,),
        checks=(fires(ABOVE, 10, **CRITICAL, **MODEL),),
    ),
    Case(
        says="of two versions the one above the limit is named beside the model",
        world=inherited(first=10, second=1),
        rules=(ABOVE,),
        checks=(all_fire(ABOVE, 10, {**CRITICAL, **MODEL}, {**CRITICAL, **FIRST}),),
    ),
    Case(
        says="two versions that are above the limit only together are their model's",
        world=inherited(first=7.5, second=7.5, limits=(8, 16, 16)),
        rules=(ABOVE, NEAR),
        checks=(fires(ABOVE, 10, **CRITICAL, **MODEL), silent(NEAR, 10)),
    ),
    Case(
        says="a version whose own limit is tighter speaks for itself",
        world=inherited(first=7, limits=(20, 5, None)),
        rules=(ABOVE,),
        checks=(fires(ABOVE, 10, **CRITICAL, **FIRST),),
    ),
    Case(
        says="a version whose own limit is looser leaves it to its model",
        world=inherited(first=12, limits=(8, 9, None)),
        rules=(ABOVE,),
        checks=(fires(ABOVE, 10, **CRITICAL, **MODEL),),
    ),
    Case(
        says="the limit of the fleet is not a model's",
        world=World(minutes=20).triton("nms", "1", qps=10).gauge(LIMIT, 8).gauge(LIMIT, 8, **FIRST),
        rules=(ABOVE,),
        checks=(all_fire(ABOVE, 10, CRITICAL, {**CRITICAL, **FIRST}),),
    ),
    Case(
        says="a burst of the only version is one spike",
        world=inherited(first=[(10, 1), (10.25, 14), (99, 1)]),
        rules=(SPIKE,),
        checks=(fires(SPIKE, 11.25, **WARNING, **MODEL),),
    ),
    Case(
        says="a burst of one of two versions names it",
        world=inherited(first=[(10, 1), (10.25, 14), (99, 1)], second=0.5),
        rules=(SPIKE,),
        checks=(all_fire(SPIKE, 11.25, {**WARNING, **MODEL}, {**WARNING, **FIRST}),),
    ),
    Case(
        says="growth of the only version is one forecast",
        world=inherited(first=GROWTH, minutes=35),
        rules=(WILL,),
        checks=(fires(WILL, 30, **WARNING, **MODEL),),
    ),
    Case(
        says="growth of one of two versions names it",
        world=inherited(first=GROWTH, second=0.1, minutes=35),
        rules=(WILL,),
        checks=(all_fire(WILL, 30, {**WARNING, **MODEL}, {**WARNING, **FIRST}),),
    ),
    Case(
        says="tokens of the only version are its model's",
        world=tokens(130),
        rules=(TOKENS_ABOVE, TOKENS_NEAR),
        checks=(
            fires(TOKENS_ABOVE, 10, **CRITICAL, **MODEL, **OUT),
            fires(TOKENS_NEAR, 10, **WARNING, **MODEL, **OUT),
        ),
    ),
    Case(
        says="of two versions the one with too many tokens is named beside the model",
        world=tokens(130, 10),
        rules=(TOKENS_ABOVE,),
        checks=(all_fire(TOKENS_ABOVE, 10, {**CRITICAL, **MODEL, **OUT}, {**CRITICAL, **FIRST, **OUT}),),
    ),
    Case(
        says="a version with a tighter limit of tokens speaks for itself",
        world=tokens(130, limits=(200, 100)),
        rules=(TOKENS_ABOVE,),
        checks=(fires(TOKENS_ABOVE, 10, **CRITICAL, **FIRST, **OUT),),
    ),
    Case(
        says="annotations that cannot be followed are a lost source, and the file's limits are not",
        world=World(minutes=20)
        .info("nms")
        .gauge("tritonobs_limit_source_up", [(10, 1), (99, 0)], source="kubernetes", **SERVE),
        rules=(LOST,),
        checks=(silent(LOST, 11), fires(LOST, 12, **WARNING, source="kubernetes", **SERVE)),
    ),
    Case(
        says="that serve is down is told before that its limits are lost",
        world=World(minutes=20)
        .triton("nms", qps=10)
        .gauge("tritonobs_model_info", [(10, 1), (99, None)], model="nms", version="1", kind="model")
        .gauge("up", [(10, 1), (99, 0)], **SERVE),
        rules=(LOST, DOWN),
        checks=(
            fires(DOWN, 11.25, **SERVE, severity="critical"),
            silent(LOST, 11.25),
            fires(LOST, 13, **WARNING),
        ),
    ),
    Case(
        says="an API server that did not answer once is not lost",
        world=World(minutes=20)
        .info("nms")
        .gauge("tritonobs_limit_source_up", [(10, 1), (10.25, 0), (99, 1)], source="kubernetes", **SERVE),
        rules=(LOST,),
        checks=(silent(LOST, 20),),
    ),
    Case(
        says="an annotation that is not valid is said",
        world=World(minutes=20).gauge("tritonobs_limit_annotations_refused", [(10, 0), (99, 2)], **SERVE),
        rules=(REFUSED,),
        checks=(silent(REFUSED, 10), fires(REFUSED, 11, **WARNING, **SERVE)),
    ),
    Case(
        says="an annotation that is corrected at once is not",
        world=World(minutes=20).gauge(
            "tritonobs_limit_annotations_refused", [(10, 0), (10.25, 1), (99, 0)], **SERVE
        ),
        rules=(REFUSED,),
        checks=(silent(REFUSED, 20),),
    ),
    Case(
        says="annotations that are all meant are not said, nor what another job counts",
        world=World(minutes=20)
        .gauge("tritonobs_limit_annotations_refused", 0, **SERVE)
        .gauge("tritonobs_limit_annotations_refused", 3, **{**SERVE, "job": "other"})
        .gauge("tritonobs_limit_source_up", 0, source="kubernetes", **{**SERVE, "job": "other"})
        .info("nms"),
        rules=(REFUSED, LOST),
        checks=(silent(REFUSED, 20), silent(LOST, 20)),
    ),
)
