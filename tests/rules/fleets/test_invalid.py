"""Bad input is the caller's fault: told by an alert of its own, charged to nobody (N5)."""

import pytest

from support.fleet_sim.curves import between
from support.fleet_sim.fleet import Fleet
from support.fleet_sim.world import live
from tritonobs import names

HOUR = 3600
BAD = "slo:sli_bad_requests:increase"
VALID = "slo:sli_valid_requests:increase"
FAST = "TritonErrorBudgetBurnFast"
SURGE, REASON = "TritonInvalidInputSurge", "TritonErrorReasonSurge"
START, END = 2400, 4200


def damaged(share):
    """So much of what comes from START to END."""
    return between(START, END, share)


def charged(lived, fleet, series=BAD, *, model, slo="availability"):
    """The requests that the last hour and a half count for the SLO of a model over all versions."""
    selector = f'{series}{{model="{model}",version="",slo="{slo}"}}'
    return lived.value(f"sum_over_time({selector}[90m])", fleet.seconds - 1) or 0


def one_model(*, scrape=15, servers=1, qps=20, seed=0, flush=0.0, **ends):
    """A model that promises, and how its requests end."""
    fleet = Fleet(seconds=5400, scrape_seconds=scrape, seed=seed)
    for number in range(servers):
        fleet.serve(fleet.server(f"triton-{number + 1}"), qps=qps, workers=2, flush_seconds=flush, **ends)
    return fleet.owns("nms", "1").promises("nms").promises_time("nms", "0.1")


@pytest.mark.parametrize("how", ["invalid", "refused"])
@pytest.mark.parametrize(("scrape", "share"), [(5, 0.25), (15, 0.9), (60, 0.3)])
def test_bad_input_alone_burns_nothing_and_is_told_once(engine, how, scrape, share):
    """Whether the model answers or raises, however often it is scraped."""
    fleet = one_model(scrape=scrape, servers=2, **{how: damaged(share)})

    lived = live(engine, fleet, BAD, VALID, FAST, SURGE, REASON, phases=scrape)

    assert fleet.truth.count(how) > 1000
    assert fleet.truth.bad() == charged(lived, fleet, model="nms") == 0
    assert charged(lived, fleet, model="nms", slo="latency") == 0
    for slo in ("availability", "latency"):
        assert charged(lived, fleet, VALID, model="nms", slo=slo) == pytest.approx(
            fleet.truth.requests(start=60), rel=0.02
        )
    assert lived.fired(FAST) == lived.fired(REASON) == []
    (told,) = lived.fired(SURGE)
    assert START < told.since < START + 300
    assert END < told.until < END + 900
    assert (
        told.labels.items()
        >= {
            "model": "nms",
            "stage": "decode",
            "reason": "corrupt_image",
            "severity": "warning",
        }.items()
    )


@pytest.mark.parametrize("how", ["invalid", "refused"])
@pytest.mark.parametrize("left", [0.02, 0.2])
def test_bad_input_beside_cancelled_requests_burns_nothing(engine, how, left):
    """A client that cancelled what the model had is in no budget, and is not a failure of somebody else."""
    fleet = one_model(left=damaged(left), **{how: damaged(0.1)})

    lived = live(engine, fleet, BAD, FAST, phases=3)

    assert fleet.truth.count("left") > 500
    assert fleet.truth.bad() == charged(lived, fleet, model="nms") == 0
    assert lived.fired(FAST) == []


@pytest.mark.parametrize("how", ["invalid", "refused"])
@pytest.mark.parametrize("fault", ["raised", "soft", "dead", "expired"])
@pytest.mark.parametrize(("scrape", "bad"), [(5, 0.15), (15, 0.3)])
def test_real_failures_beside_bad_input_are_charged(engine, how, fault, scrape, bad):
    """Whatever each is to Triton and to the model."""
    fleet = one_model(scrape=scrape, **{how: damaged(0.3), fault: between(3000, 3900, bad)})

    lived = live(engine, fleet, BAD, FAST, phases=3)

    assert charged(lived, fleet, model="nms") == pytest.approx(fleet.truth.bad(), rel=0.02)
    (page,) = lived.fired(FAST)
    assert page.since < 3000 + 60 + 0.0144 * HOUR / bad * 1.5


@pytest.mark.parametrize(("scrape", "flush"), [(5, 2.3), (15, 4.7), (60, 5.0)])
@pytest.mark.parametrize("dead", [0.0, 0.15])
def test_what_models_tell_late_is_not_missing(engine, scrape, flush, dead):
    """Triton counts at once what models hand over some seconds later, each time some others."""
    fleet = one_model(scrape=scrape, flush=flush, refused=damaged(0.3), dead=between(3000, 3900, dead))

    lived = live(engine, fleet, BAD, FAST, phases=5)

    # Once in the life of a worker: before it has told of any it is not known to.
    first = 0.3 * 20 * flush
    assert charged(lived, fleet, model="nms") == pytest.approx(fleet.truth.bad(), rel=0.02, abs=first)
    assert (lived.fired(FAST) != []) == (dead > 0)


@pytest.mark.parametrize(("scrape", "flush"), [(5, 2.3), (15, 4.7), (15, 4.9), (60, 4.9)])
@pytest.mark.parametrize("share", [0.02, 0.05])
@pytest.mark.parametrize("how", ["invalid", "refused"])
def test_few_real_failures_are_charged_though_models_tell_late(engine, scrape, flush, share, how):
    """What is told late is as many requests as fail in minutes, and is neither charged nor taken off."""
    fleet = one_model(scrape=scrape, flush=flush, dead=between(3300, 5100, share), **{how: damaged(0.1)})

    lived = live(engine, fleet, BAD, phases=5)

    # Where Triton counts bad input as failed, too, what is not told yet may be either.
    untold = 20 * flush if how == "refused" else 0
    assert charged(lived, fleet, model="nms") == pytest.approx(fleet.truth.bad(), rel=0.03, abs=untold)


@pytest.mark.parametrize(("scrape", "flush"), [(5, 2.3), (15, 4.7), (60, 5.0)])
def test_a_pipeline_waits_for_what_its_members_tell(engine, scrape, flush):
    """The first ones are given back as soon as they are told."""
    fleet = pipeline(kind="ensemble", scrape=scrape, flush=flush)

    lived = live(engine, fleet, BAD, FAST, phases=5)

    assert charged(lived, fleet, model="pipe") == pytest.approx(0, abs=2)
    assert lived.fired(FAST) == []


def pipeline(
    *,
    kind,
    scrape=15,
    seed=0,
    direct=0.0,
    told=False,
    real=0.0,
    member_real=0.0,
    spare=0.0,
    dirty=True,
    flush=0.0,
    active=(0, 5400),
):
    """A pipeline of two members; a third of what comes to the first is bad input. It is asked while `active`.

    `real` of the pipeline's requests fail where no member sees it, `member_real` in the second member.
    Clients call the first member directly, with `direct` good requests a second and `spare` bad ones. A
    pipeline that is `told` knows the outcome; one that is `dirty` gets bad input.
    """
    fleet = Fleet(seconds=5400, scrape_seconds=scrape, seed=seed)
    server = fleet.server()
    bad, fault = 1 / 3 if dirty else 0, between(3000, 3900, member_real)
    asked = between(*active, 12)
    fleet.serve(server, "first", qps=asked, invalid=damaged(bad), steady=True, flush_seconds=flush)
    if direct or spare:
        fleet.serve(
            server, "first", "2", qps=direct + spare, invalid=damaged(spare / (direct + spare)), steady=True
        )
    passing = between(*active, 12 * (1 - bad))
    fleet.serve(server, "second", qps=passing, raised=fault, steady=True)
    how = {"refused": damaged(bad)} if told or kind == "ensemble" else {"soft": damaged(bad)}
    how["dead" if kind == "ensemble" else "raised"] = between(3000, 3900, real + member_real * (1 - bad))
    fleet.serve(
        server,
        "pipe",
        qps=asked,
        ensemble=kind == "ensemble",
        bounds=None if kind == "ensemble" else (0.1,),
        steady=True,
        refuses=("first", "corrupt_image"),
        **how,
    )
    for model in ("first", "second"):
        fleet.owns(model, "1").promises(model)
        fleet.exports(names.PIPELINE_CALLS, pipeline="pipe", stage=model, model=model)
    return fleet.owns("pipe", "1", kind=kind, pipeline="pipe").promises("pipe")


@pytest.mark.parametrize(("kind", "told"), [("ensemble", False), ("model", False), ("model", True)])
@pytest.mark.parametrize("scrape", [5, 30])
def test_a_pipeline_is_not_charged_what_its_members_call_invalid(engine, kind, told, scrape):
    """Nor is it told again: the alert is about the member that refused it."""
    fleet = pipeline(kind=kind, told=told, scrape=scrape)

    lived = live(engine, fleet, BAD, FAST, SURGE, REASON, phases=scrape)

    assert charged(lived, fleet, model="first") == 0
    assert charged(lived, fleet, model="pipe") == pytest.approx(0, abs=1)
    assert lived.fired(FAST) == lived.fired(REASON) == []
    (told_once,) = lived.fired(SURGE)
    assert told_once.labels["model"] == "first"


@pytest.mark.parametrize(("kind", "told"), [("ensemble", False), ("model", False), ("model", True)])
@pytest.mark.parametrize("fault", [{"real": 0.1}, {"member_real": 0.2}, {"real": 0.05, "member_real": 0.1}])
def test_real_failures_of_a_pipeline_are_charged_beside_bad_input(engine, kind, told, fault):
    """Whether a member tells of them or none does, as of a full queue."""
    fleet = pipeline(kind=kind, told=told, **fault)

    lived = live(engine, fleet, BAD, FAST)

    real = fleet.truth.count("dead", "raised", model="pipe")
    assert real > 500
    assert charged(lived, fleet, model="pipe") == pytest.approx(real, rel=0.02)
    # What only the member fails is the member's page.
    assert lived.fired(FAST, model="pipe" if "real" in fault else "second")


@pytest.mark.parametrize("kind", ["ensemble", "model"])
@pytest.mark.parametrize(
    "others", [{"direct": 12.0}, {"direct": 4.0, "spare": 8.0, "dirty": False, "member_real": 0.2}]
)
def test_clients_of_a_member_change_nothing_for_its_pipeline(engine, kind, others):
    """Good ones make none of its bad input charged, bad ones excuse none of its failures."""
    fleet = pipeline(kind=kind, **others)

    lived = live(engine, fleet, BAD, FAST)

    real = fleet.truth.count("dead", "raised", model="pipe")
    assert charged(lived, fleet, model="pipe") == pytest.approx(real, rel=0.02, abs=1)
    assert (lived.fired(FAST, model="second") != []) == (real > 0)


@pytest.mark.parametrize("others", [{}, {"direct": 12.0}])
@pytest.mark.parametrize("scrape", [5, 15, 30])
def test_the_first_failures_after_a_pause_are_charged(engine, scrape, others):
    """Beside the first bad input; whether clients ask its member directly meanwhile or nobody does."""
    fleet = pipeline(kind="ensemble", scrape=scrape, member_real=0.3, active=(3005, 3105), **others)

    lived = live(engine, fleet, BAD, phases=scrape)

    real = fleet.truth.count("dead", "raised", model="pipe")
    assert real > 150
    assert charged(lived, fleet, model="pipe") == pytest.approx(real, rel=0.02)


def test_who_wants_it_charged_is_charged(engine):
    """By `invalid: bad` in the fleet file: the model and its pipeline, as a failure like any other."""
    fleet = pipeline(kind="ensemble", member_real=0.1)
    for model in ("first", "pipe"):
        own = {"model": model, "version": "", "slo": "availability"}
        fleet.exports(names.SLO_INVALID_CHARGED, **own)

    lived = live(engine, fleet, BAD, VALID, FAST)

    for model in ("first", "pipe"):
        bad = fleet.truth.count("invalid", "refused", "dead", model=model)
        assert charged(lived, fleet, model=model) == pytest.approx(bad, rel=0.02)
        assert charged(lived, fleet, VALID, model=model) == pytest.approx(12 * 5400, rel=0.02)
    # The pipeline's page is its members'.
    assert lived.fired(FAST, model="first")
