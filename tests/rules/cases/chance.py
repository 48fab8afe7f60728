"""How far above its limit traffic must be: a thousandth below and above chance, in each window."""

from math import sqrt

from support.case import Case, Check, absent, all_fire, silent
from support.simulate import World, series_name

ABOVE, NEAR, SPIKE = "TritonQpsAboveLimit", "TritonQpsNearLimit", "TritonQpsSpike"
RECORDS = {ABOVE: "subject:tritonobs_limit_exceeded:rate", NEAR: "subject:tritonobs_limit_near:rate"}
"""What each reads of the comparison with its limit."""
OFFERED = "subject:triton_requests_offered"
HELD, OWNER, TOLD = (
    "subject:tritonobs_qps_limit:held",
    "subject:tritonobs_owner:info",
    "model_version:tritonobs_limit_of_model:info",
)
BREATHS = (f"{OFFERED}:breath", f"{OFFERED}:breath5m")
WAITS = "subject:tritonobs_queue_waits:info"
GIVEN = (
    HELD,
    OWNER,
    TOLD,
    *(f"{OFFERED}:{rate}" for rate in ("rate1m", "irate1m", "mean1m", "rate5m", "mean15m")),
    *BREATHS,
    WAITS,
)
LIMITS = (0.5, 8, 300)
OWNED = {"pipeline": "inspect", "team": "vision", "tier": "critical"}
# Of each window: what it reads, over how many seconds, how many deviations are no chance, how many times the
# limit it must be all the same, what must be above the limit, too, and after how many minutes.
# The shortest has four scrapes, which are three intervals of 15 s.
WINDOWS = (
    ("mean15m", 900, 4, 1.03, "mean1m", 0),
    ("rate1m", 45, 5, 1.5, "irate1m", 0.5),
    ("mean1m", 60 + 90, 4.5, 1.1, "rate1m", 1.75),
    ("rate5m", 300 + 240, 4, 1.05, "mean1m", 4.25),
)
BARELY = 1.001


def turn(allowed, seconds, deviations):
    """The most requests a second that chance explains: deviations of the count, and its tail."""
    return allowed + (deviations * sqrt(allowed * seconds) + deviations**2 / 5) / seconds


def subject(world, limit, rates, **labels):
    """A subject with a limit and an owner, and these rates; the others are 0."""
    world.gauge(HELD, limit, **labels).gauge(OWNER, 1, **labels, **OWNED)
    for record in GIVEN[3:8]:
        world.gauge(record, rates.get(record.rpartition(":")[2], 0), **labels)


def during(value):
    """A level from minute 4 to 12, nothing before and afterwards."""
    return [(4, 0), (12, value), (99, 0)]


def excess(share):
    """Subjects above `share` of their limits from minute 4 to 12, and after how many minutes each fires."""
    world, told = World(minutes=16), []
    severity = {"severity": "critical" if share == 1 else "warning"}
    for limit in LIMITS:
        allowed = share * limit
        hot, even = during(allowed * BARELY), during(allowed)
        for window, seconds, deviations, floor, also, after in WINDOWS:
            edge = max(turn(allowed, seconds, deviations), floor * allowed)
            labels = {"model": f"{limit:g} a second in {window}"}
            more, fewer = during(edge * BARELY), during(edge / BARELY)
            subject(world, limit, {also: hot, window: more}, **labels)
            told.append((after, {**labels, **OWNED, **severity}))
            subject(world, limit, {also: hot, window: fewer}, **labels, version="1")
            same = {**labels, "version": "2"}
            subject(world, limit, {also: hot, window: more}, **same)
            world.gauge(TOLD, 1, **same)
            subject(world, limit, {also: even, window: more}, **labels, version="3")
            if window == "rate1m":
                pulses = [
                    (4, 0),
                    *((4 + step / 4, allowed * 2 * (step % 3 > 0)) for step in range(1, 33)),
                    (99, 0),
                ]
                subject(world, limit, {also: pulses, window: more}, **labels, version="4")
            # Traffic that breathes by as much as its limit; and where requests wait, too.
            for version, waits in (("5", False), ("6", True)):
                breathing = {**labels, "version": version}
                subject(world, limit, {also: hot, window: more}, **breathing)
                for record in BREATHS:
                    world.gauge(record, limit, **breathing)
                if waits:
                    world.gauge(WAITS, 1, **breathing)
                    if window != "rate1m":
                        told.append((after, {**breathing, **OWNED, **severity}))
    return world, told


def exceeded(record, minute, *subjects):
    """These are above their limits at this minute, and no others."""
    seen = ({label: one[label] for label in ("model", "version") if label in one} for one in subjects)
    samples = {series_name("", labels): 1 for labels in seen}
    return Check(expr=f"group by (model, version) ({record})", minute=minute, samples=samples)


def surpassed(alert, share, wait):
    """The alert about a share of the limits, which must hold for `wait` minutes."""
    world, told = excess(share)
    return Case(
        says=f"{alert}: a thousandth more than chance in any window, for each size of limit, and no less",
        world=world,
        rules=(alert, RECORDS[alert]),
        given=GIVEN,
        checks=(
            absent(RECORDS[alert], 3.75),
            *(
                exceeded(RECORDS[alert], 4 + after, *(one for since, one in told if since <= after))
                for *_, after in WINDOWS
            ),
            absent(RECORDS[alert], 13.5),
            silent(alert, 3.75 + wait),
            *(
                all_fire(alert, 4 + wait + after, *(one for since, one in told if since <= after))
                for *_, after in WINDOWS
            ),
            all_fire(alert, 12.75, *(one for _, one in told)),
            *([silent(alert, 16, since=13.25)] if share == 1 else []),
        ),
    )


def spikes():
    """Bursts of one scrape at minute 4: of as many as chance allows, of half above the limit, and of more."""
    world, told = World(minutes=37), []
    for limit in LIMITS:
        edge = max(turn(limit, 15, 4.5), 1.5 * limit)
        for version, (times, minute) in enumerate(((BARELY, 1), (1 / BARELY, 1), (BARELY, BARELY)), start=1):
            labels = {"model": f"{limit:g} a second", "version": str(version)}
            burst = {"irate1m": [(4, 0), (4.25, edge * times), (99, 0)], "mean1m": limit * minute}
            subject(world, limit, burst, **labels)
            if version == 1:
                told.append({**labels, **OWNED, "severity": "warning"})
    subject(world, 8, {"irate1m": 80})
    return Case(
        says="a burst of one scrape is a spike a thousandth above half more than the limit and above chance",
        world=world,
        rules=(SPIKE,),
        given=GIVEN,
        checks=(
            silent(SPIKE, 4.75),
            all_fire(SPIKE, 5, *told),
            all_fire(SPIKE, 35, *told),
            silent(SPIKE, 37, since=36),
        ),
    )


CASES = (surpassed(ABOVE, 1, 0), surpassed(NEAR, 0.8, 1), spikes())
