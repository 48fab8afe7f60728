"""Failures that Triton counts, of models that tell bad input: what a model told nothing of, once it is much.

A model tells what it did a little earlier or later than Triton does, so what it has not told counts once ten
minutes of it are more than six seconds of traffic: first the whole of it, then what each scrape adds or takes
back, until that was not so for half an hour. A scrape adds at most its failures. What it has not told beyond
these is kept for the next scrapes, at most the traffic of one.
"""

from support.case import Case, reads
from support.simulate import World, but_at

TOLD = "replica_model_version_outcome:tritonobs_requests_told:increase"
FAILED = "replica_model_version_reason:triton_requests_failed:increase"
SEEN = "replica_model_version_seen_by:triton_requests_bad:increase"
OF_PIPELINES = "model_outcome:tritonobs_pipeline_requests_told:increase"
UNTOLD = "model:tritonobs_pipeline_requests_untold:increase"
# A scrape sees 20 requests, so 8 are much. What came at minute 2 does not count any more when it is asked.
TRAFFIC, LONG_AGO, EARLIER, LATER, NOW = 20, 2, 54, 55, 61
BEFORE, TWICE_BEFORE = NOW - 0.25, NOW - 0.5
OLD_TRAFFIC = {LONG_AGO: 50 * TRAFFIC}
# Requests that were not told of, by minute; failures by minute, of the reason BACKEND and of none.
TWO_FIVES, THREE_MORE = {BEFORE: 5, NOW: 5}, {EARLIER: 10, LATER: -4, NOW: 3}
FLICKER = {TWICE_BEFORE: 10, BEFORE: -4, NOW: 3}
SEVEN, TWELVE = {BEFORE: (4, None), NOW: (None, 3)}, {BEFORE: (3, 2), NOW: (4, 3)}
THIRTEEN, OLD_FAILURES = {EARLIER: (6, 4), NOW: (2, 1)}, {LONG_AGO: (50, 50)}
# By model: what was not told of, what failed, all requests where they are others, and what counts now.
MODELS = {
    # The whole of ten minutes when it becomes much, or the failures of each scrape where they are fewer.
    "begins": (TWO_FIVES, TWELVE, {}, 10),
    "begins_with_fewer_failures": (TWO_FIVES, SEVEN, {}, 7),
    "just_not_much": ({NOW: 8}, {NOW: (9, 3)}, {}, None),
    # Then what the scrape adds, or its failures where there are fewer in all.
    "goes_on": ({EARLIER: 10, NOW: 2}, THIRTEEN, {}, 2),
    "goes_on_with_fewer_failures": ({EARLIER: 10, NOW: 5}, THIRTEEN, {}, 3),
    "goes_on_without_a_failure": (THREE_MORE, {EARLIER: (1, 1)}, OLD_TRAFFIC, 0),
    "takes_back": ({EARLIER: 10, NOW: -2}, {EARLIER: (6, 4)}, {}, -2),
    # What exceeds the failures is kept, 3 here, and of 28 no more than 20: it is told of later, or is of the
    # next failures. All requests may be late where they are the first.
    "takes_back_what_was_kept": ({EARLIER: 10, BEFORE: 5, NOW: -3}, {EARLIER: (6, 4), BEFORE: (1, 1)}, {}, 0),
    "takes_back_more": ({EARLIER: 10, BEFORE: 5, NOW: -4}, {EARLIER: (6, 4), BEFORE: (1, 1)}, {}, -1),
    "tells_nothing_of_what_was_kept": (
        {EARLIER: 10, BEFORE: 5},
        {EARLIER: (6, 4), BEFORE: (1, 1), NOW: (4, 5)},
        {},
        3,
    ),
    "keeps_no_more_than_a_scrape": (
        {EARLIER: 10, BEFORE: 30},
        {EARLIER: (6, 4), BEFORE: (1, 1), NOW: (14, 10)},
        {},
        20,
    ),
    "takes_back_what_was_first": ({BEFORE: 7, NOW: -7}, {}, {None: None, BEFORE: 9, NOW: 20}, 0),
    "begins_with_what_was_kept": ({BEFORE: 7, NOW: 2}, {BEFORE: (2, 1), NOW: (4, 4)}, {}, 9),
    # It was much within half an hour, and was not at the last scrape.
    "rested": (THREE_MORE, THIRTEEN, OLD_TRAFFIC, 3),
    "rested_for_a_scrape": (FLICKER, {TWICE_BEFORE: (6, 4), NOW: (2, 1)}, {}, 3),
    "rested_for_a_scrape_without_a_failure": (FLICKER, {TWICE_BEFORE: (1, 1)}, {}, 0),
    "rested_for_long": ({NOW - 28: 10, NOW: 3}, {NOW - 28: (6, 4), NOW: (2, 1)}, {}, 3),
    "rested_for_too_long": ({NOW - 41: 10, NOW: 3}, {NOW - 41: (6, 4), NOW: (2, 1)}, {}, None),
    # Of what was long ago only the 20 that were kept are left.
    "begins_again": ({LONG_AGO: 100, **TWO_FIVES}, TWELVE, {}, 12),
    "not_much_again": ({LONG_AGO: 100, NOW: 5}, {NOW: (6, 3)}, {}, None),
    "begins_after_much_traffic": (TWO_FIVES, TWELVE, OLD_TRAFFIC, 10),
    "begins_after_much_traffic_with_fewer_failures": (TWO_FIVES, SEVEN, OLD_TRAFFIC, 7),
    "begins_after_failures": (TWO_FIVES, OLD_FAILURES | SEVEN, {}, 7),
    "goes_on_after_failures": ({EARLIER: 10, NOW: 5}, OLD_FAILURES | THIRTEEN, {}, 3),
    "goes_on_again": ({LONG_AGO: 100, EARLIER: 10, NOW: 2}, THIRTEEN, {}, 3),
    # What was not told of is compared with the traffic of the same time: 9 are not more than 0.4 of 25, and 4
    # not of 12, but 6 are, and 11 are more than 0.4 of 25.
    "less_of_less_traffic": (
        {NOW - 2: 9, TWICE_BEFORE: -5, NOW: 2},
        {NOW - 2: (4, 1), NOW: (2, 1)},
        {None: 12, NOW - 10.5: 25},
        6,
    ),
    "more_of_more_traffic": (
        {NOW - 2: 4, TWICE_BEFORE: 5, NOW: 2},
        {NOW - 2: (4, 1), NOW: (5, 4)},
        {None: 12, TWICE_BEFORE: 25},
        11,
    ),
}


def usual(traffic):
    """All requests of a model, where they are not the usual ones."""
    others = {minute: value for minute, value in traffic.items() if minute is not None}
    return but_at(traffic.get(None, TRAFFIC), others)


def models():
    """Every model, and what counts of it at the end."""
    world = World(minutes=NOW)
    rows = []
    for model, (untold, failures, traffic, counts) in MODELS.items():
        own = {"model": model, "version": "1", "replica": "r"}
        world.gauge(TOLD, usual(traffic), **own, outcome="seen")
        world.gauge(TOLD, but_at(0, untold), **own, outcome="untold")
        for place, reason in enumerate(("BACKEND", "")):
            of_reason = {minute: values[place] for minute, values in failures.items()}
            world.gauge(FAILED, but_at(None, of_reason), **own, reason=reason)
        rows += [] if counts is None else [({**own, "seen_by": "triton"}, counts)]
    return world, rows


def pipelines():
    """The same of pipelines: failures that none of their members accounts for."""
    world = World(minutes=NOW)
    rows = []
    for model, (untold, failures, traffic, counts) in MODELS.items():
        failed = {minute: sum(filter(None, values)) for minute, values in failures.items()}
        for outcome, levels in (
            ("seen", usual(traffic)),
            ("untold", but_at(0, untold)),
            ("failed", but_at(None, failed)),
        ):
            world.gauge(OF_PIPELINES, levels, model=model, outcome=outcome)
        rows += [] if counts is None else [({"model": model}, counts)]
    return world, rows


WORLD, ROWS = models()
PIPELINES, ROWS_OF_PIPELINES = pipelines()
CASES = (
    Case(
        says="what a model that tells bad input left out counts when it is much, and Triton saw it fail",
        world=WORLD,
        rules=(SEEN,),
        given=(TOLD, FAILED),
        checks=(reads(f'{SEEN}{{part=""}}', NOW, *ROWS),),
    ),
    Case(
        says="what members of a pipeline left out counts when it is much, and the pipeline failed",
        world=PIPELINES,
        rules=(UNTOLD,),
        given=(OF_PIPELINES,),
        checks=(reads(f'{UNTOLD}{{part=""}}', NOW, *ROWS_OF_PIPELINES),),
    ),
)
