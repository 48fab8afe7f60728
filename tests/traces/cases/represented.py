"""What traces represent of each server: requests since the evaluation before, and their share of an hour."""

from support.case import WRITTEN, Case, reads
from support.simulate import World

ANSWERED, SPANS = "tritonobs_trace_requests_total", "tritonobs_trace_spans_total"
STEADY = "replica_model:tritonobs_trace_rate:steady"
TRACED = "replica_model:tritonobs_requests_traced:increase"
DUE = "replica_model:triton_requests_traceable:increase"
SHARE = "replica_model:tritonobs_requests_traced:ratio1h"
TRACES = {"job": "tritonobs-traces"}
# A counter, by what its model is called, and what came when. Its receiver has the name of the model.
COUNTERS = {
    "steps": ([(80, 4), (85, 10), (99, 11)], {80: 6, 85: 1}),
    "resets": ([(80, 9), (99, 2)], {80: 2}),
    "comes_late": ([(80, None), (99, 3)], {80: 3}),
    "away_for_minutes": ([(75, 4), (80, None), (99, 9)], {80: 5}),
    "away_for_hours": ([(5, 4), (80, None), (99, 9)], {80: 9}),
    "goes": ([(79.5, 4), (99, None)], {}),
    "new": ([(80, None), (99, 7)], {}),
    "new_again": ([(5, 4), (80, None), (99, 9)], {}),
}
# Receivers that were not there all the time.
RECEIVERS = {
    "new": [(80, None), (99, 1)],
    "new_again": [(5, 1), (80, None), (99, 1)],
}


def where(model):
    """Labels of a model on its only server."""
    return {"model": model, "replica": "r"}


def received():
    """Counters of traced requests, and a model that two receivers know by two versions and outcomes."""
    world = World(minutes=90)
    rows = [(model, model, levels) for model, (levels, _) in COUNTERS.items()]
    # A counter that comes a scrape after its receiver, and one without a steady rate.
    rows += [("second", "new", [(80.25, None), (99, 6)]), ("unsteady", "steps", [(80, 4), (99, 9)])]
    for model, instance, levels in rows:
        world.gauge(ANSWERED, levels, **TRACES, **where(model), version="1", instance=instance, outcome="ok")
    for instance, more in (("steps", 1), ("resets", 2)):
        for version, times in (("1", 1), ("2", 10)):
            for outcome, value in (("ok", 1), ("error", 100), ("rejected", 5000)):
                own = {**where("summed"), "version": version, "instance": instance, "outcome": outcome}
                world.gauge(ANSWERED, [(80, 1), (99, 1 + more * times * value)], **TRACES, **own)
    for instance in COUNTERS:
        world.gauge(SPANS, RECEIVERS.get(instance, 1), **TRACES, instance=instance)
    for model in (*COUNTERS, "second", "summed"):
        world.gauge(STEADY, 1, **where(model))
    return world


def came(minute, **values):
    """What came at this minute, model by model."""
    return reads(TRACED, minute + WRITTEN, *((where(model), value) for model, value in values.items()))


def pulses(world, record, model, steps):
    """Requests that came at these minutes, and none in between."""
    levels = [level for minute, value in steps.items() for level in ((minute, 0), (minute + 0.25, value))]
    world.gauge(record, [*levels, (999, 0)], **where(model))


# Requests of each model that were due, and that traces stood for, by the minute; and their share at minute
# 100: of the hour until then, or of the hour until half a minute before, which began at minute 39.5.
HOURS = {
    "all": ({70: 20}, {70: 20}, 1),
    "late": ({30: 100, 70: 20}, {30: 100, 70: 10, 99.75: 8}, 18 / 20),
    "left": ({30: 100, 70: 20}, {30: 100, 39.75: 6, 70: 10}, 16 / 20),
    "later_than_half_a_minute": ({70: 20}, {39: 5, 70: 10, 99.75: 1}, 11 / 20),
    "left_and_late": ({70: 20}, {39.75: 3, 70: 10, 99: 1}, 14 / 20),
    "none_traced": ({70: 20}, {}, 0),
    "single": ({70: 1}, {70: 1}, 1),
    "more_than_due": ({70: 4}, {70: 5}, 5 / 4),
    "nothing_due": ({30: 20}, {70: 5}, None),
}


def compared():
    """Requests that were due and traced, model by model; the traces of one begin in this moment."""
    world = World(minutes=101)
    for model, (due, traced, _) in HOURS.items():
        pulses(world, DUE, model, due)
        if traced:
            pulses(world, TRACED, model, traced)
    pulses(world, DUE, "begins", {70: 20})
    world.gauge(TRACED, [(99.75, None), (100, 5), (999, 0)], **where("begins"))
    return world


QUIET = {"steps": 0, "resets": 0, "summed": 0}
CASES = (
    Case(
        says="traced requests count once, from 0 for a new counter of a receiver that is not",
        world=received(),
        rules=(TRACED,),
        given=(STEADY,),
        checks=(
            came(79, **QUIET, goes=0),
            came(
                80,
                **{model: steps[80] for model, (_, steps) in COUNTERS.items() if steps},
                summed=(1 + 2) * (1 + 10) * (1 + 100),
            ),
            *(
                came(
                    minute,
                    **QUIET,
                    **{model: 0 for model in COUNTERS if model not in {*QUIET, "goes"}},
                    second=value,
                )
                for minute, value in ((80.25, 6), (80.5, 0))
            ),
            reads(f'{TRACED}{{model="steps"}}', 85 + WRITTEN, (where("steps"), 1)),
        ),
    ),
    Case(
        says="the share is of what traces stood for now or half a minute ago, whichever is more",
        world=compared(),
        rules=(SHARE,),
        given=(DUE, TRACED),
        checks=(
            reads(
                SHARE,
                100,
                *((where(model), share) for model, (_, _, share) in HOURS.items() if share is not None),
                (where("begins"), 5 / 20),
            ),
        ),
    ),
)
