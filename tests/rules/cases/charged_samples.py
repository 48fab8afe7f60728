"""Samples that long windows are summed from: each has what came within one interval, and ends one earlier."""

from support.case import Case, reads
from support.simulate import World, but_at

SCRAPE, CAME = 0.25, 10
SLO = {"model": "nms", "version": "1", "slo": "a"}
SAMPLED = {
    "slo:sli_valid_requests:sampled": "slo:sli_valid_requests:increase",
    "slo:sli_bad_requests:sampled": "slo:sli_bad_requests:increase",
    "slo:sli_bad_samples:sampled": "slo:sli_bad_samples:increase",
}
HALF_AN_HOUR, BAD = "slo:sli_bad_requests:sum30m", "slo:sli_bad_requests:increase"


def once():
    """Some requests of each kind that come at once."""
    world = World(minutes=CAME + 1)
    for place, name in enumerate(SAMPLED.values()):
        world.gauge(name, but_at(0, {CAME: 7 + place}), **SLO)
    return Case(
        says="a request is in the sample that follows it, and in no other",
        world=world,
        rules=tuple(SAMPLED),
        given=tuple(SAMPLED.values()),
        checks=tuple(
            reads(name, CAME + scrapes * SCRAPE, (SLO, 7 + place if scrapes == 1 else 0))
            for place, name in enumerate(SAMPLED)
            for scrapes in range(4)
        ),
    )


def half_an_hour():
    """One bad request at the start, three more while the first is in the window."""
    return Case(
        says="half an hour of bad requests is half an hour long",
        world=World(minutes=50).gauge(BAD, but_at(0, {CAME: 1, CAME + 20: 3}), **SLO),
        rules=(HALF_AN_HOUR,),
        given=(BAD,),
        checks=(
            reads(HALF_AN_HOUR, CAME + 29, (SLO, 4)),
            reads(HALF_AN_HOUR, CAME + 31, (SLO, 3)),
        ),
    )


CASES = (once(), half_an_hour())
