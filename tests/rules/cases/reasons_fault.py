"""Invalid requests in five minutes: what models called invalid, and what a pipeline is not charged for."""

from support.case import Case, reads
from support.simulate import World, but_at

INVALID = "model_version:triton_requests_invalid:increase5m"
TOLD = "replica_model_version_outcome:tritonobs_requests_told:increase"
SEEN, BAD = (
    "replica_model_version_seen_by:triton_requests_bad:increase",
    "model_version:triton_requests_bad:increase",
)
NOW = 14
BEFORE, LATELY = 4, 10


def came(requests, *, before=0):
    """So many within the last five minutes, and so many before those."""
    return but_at(0, {BEFORE: before, LATELY: requests})


# By model: requests that each server called invalid, that it or Triton saw fail, and that are charged; how
# many are invalid.
MODELS = {
    "refuses": ({"a": came(3), "b": came(2)}, {}, came(0), 5),
    "fails": ({}, {"model": came(4)}, came(4), None),
    "refuses_and_fails": ({"a": came(3)}, {"model": came(4), "triton": came(2)}, came(6), 3),
    "passes_on": ({}, {"model": came(4), "triton": came(3)}, came(2), 5),
    "is_charged_a_share": ({}, {"model": came(4)}, came(3.998), 0.002),
    "is_charged_all_but_a_rounding": ({}, {"model": came(4)}, came(3.9995), None),
    # A hundred of each came long ago.
    "refused_before": ({"a": came(3, before=100)}, {}, came(0), 3),
    "saw_before": ({}, {"model": came(4, before=100)}, came(2), 2),
    "was_charged_before": ({}, {"model": came(4)}, came(2, before=100), 2),
    "nothing_lately": ({"a": came(0, before=100)}, {}, came(0), None),
}


def models():
    """All of them, each on its servers."""
    world, rows = World(minutes=NOW), []
    for model, (told, seen, bad, invalid) in MODELS.items():
        own = {"model": model, "version": "1"}
        for replica, level in told.items():
            world.gauge(TOLD, level, **own, replica=replica, outcome="invalid")
        for by, level in seen.items():
            world.gauge(SEEN, level, **own, replica="a", seen_by=by)
            world.gauge(SEEN, 50, **own, replica="a", part="late")
        world.gauge(TOLD, 50, **own, replica="a", outcome="seen").gauge(BAD, bad, **own)
        rows += [] if invalid is None else [(own, invalid)]
    return Case(
        says="invalid requests of five minutes are those that models refused and those that are not charged",
        world=world,
        rules=(INVALID,),
        given=(TOLD, SEEN, BAD),
        checks=(reads(INVALID, NOW, *rows),),
    )


CASES = (models(),)
