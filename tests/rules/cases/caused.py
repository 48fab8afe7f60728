"""The share of a pipeline in what its members get, which is its share in what they fail."""

from support.case import Case, reads
from support.simulate import World

CALLS, RATE = "pipeline_stage_model:tritonobs_pipeline_calls:held", "model_version:triton_requests:rate1m"
TOLD = "replica_model_version_outcome:tritonobs_requests_told:increase"
CAUSED = "pipeline_model:tritonobs_requests_caused:ratio"
# Requests a second of each version, by the model.
RATES = {
    # Members with clients of their own.
    "shared": (3, 5),
    "believed_calls": (4, 6),
    "told_long_ago": (10,),
    "calm": (5,),
    # Members that got less than their pipelines have requests, as where an earlier member refused some.
    "short": (0.1, 0.15),
    "short_of_long_ago": (1,),
    # Pipelines.
    "twice": (1, 1),
    "most": (0.1, 0.1),
    "rest": (0.2,),
    "believed": (1, 1),
    "beside": (1,),
    "long_ago": (4,),
    "long_ago_too": (3,),
    "beside_it": (1,),
    "idle": (0,),
    "first_of_two": (2,),
    "alone": (6,),
}
# Calls for each request, stage by stage, and the share in each member.
PIPELINES = {
    "twice": {"shared": ((1, 0.5), 3 / 8)},
    "most": {"short": ((0.5, 0.5), 2 / 3)},
    "rest": {"short": ((0.5,), 1 / 3)},
    "believed": {"believed_calls": ((1, 0.5), 3 / 7)},
    "beside": {"believed_calls": ((1,), 1 / 7)},
    "long_ago": {"told_long_ago": ((1,), 4 / 10)},
    "long_ago_too": {"short_of_long_ago": ((1,), 3 / 4)},
    "beside_it": {"short_of_long_ago": ((1,), 1 / 4)},
    "idle": {"calm": ((1,), 1)},
    "first_of_two": {"calm": ((1,), 2 / 5), "gone": ((1,), 1)},
    "alone": {"calm_too": ((1,), 1)},
}
# Minutes until which each of these pipelines told of its requests that were invalid.
TELLING = {"believed": 20, "long_ago": 10, "long_ago_too": 10}


def traffic():
    """Every pipeline and member side by side, for longer than what a pipeline told is remembered."""
    world = World(minutes=75)
    for model, rates in (RATES | {"calm_too": (6,)}).items():
        for version, rate in enumerate(rates, 1):
            world.gauge(RATE, rate, model=model, version=f"{version}")
    for pipeline, called in PIPELINES.items():
        for model, (stages, _) in called.items():
            for stage, calls in enumerate(stages):
                world.gauge(CALLS, calls, pipeline=pipeline, stage=f"s{stage}", model=model)
    for model, until in TELLING.items():
        own = {"model": model, "version": "1", "replica": "r", "outcome": "seen"}
        world.gauge(TOLD, [(until, 1), (99, None)], **own)
    return world


CASES = (
    Case(
        says="a pipeline has the share of its calls in what comes from clients, it and others not believed",
        world=traffic(),
        rules=(CAUSED,),
        given=(CALLS, RATE, TOLD),
        checks=(
            reads(
                CAUSED,
                75,
                *(
                    ({"pipeline": pipeline, "model": model}, round(share, 4))
                    for pipeline, called in PIPELINES.items()
                    for model, (_, share) in called.items()
                ),
            ),
        ),
    ),
)
