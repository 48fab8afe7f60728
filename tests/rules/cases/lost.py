"""Traffic, models and versions that are not there any more: who is told, and what explains it otherwise."""

from support.case import Case, reads
from support.simulate import World

CALLS = "pipeline_stage_model:tritonobs_pipeline_calls:held"
OWNER, KNOWN = "subject:tritonobs_owner:info", "subject:tritonobs_model_info:held"
RECENT, PACE = "subject:triton_requests:rate5m", "model_version:triton_requests:rate1m"
USUAL, BEATS = "subject:triton_requests:p75_1h", "model_instance:tritonobs_worker_alive:bool"
PENDING, HIDDEN = (
    "model_version:triton_requests_pending:sum",
    "model_version:triton_servers_unreachable:count",
)
DONE, DONE_THERE = (
    "model_version:triton_requests_succeeded:rate1m",
    "replica_model_version:triton_requests_succeeded:rate1m",
)
FAILED, SEEN = (
    "model_version_reason:triton_requests_failed:rate1m",
    "replica_model_version:triton_loaded:last_seen_seconds",
)
UNLOADED, NOT_LOADED, MISSING = "TritonModelUnloaded", "TritonVersionNotLoaded", "TritonModelMissing"
ANSWERS = "model_instance:tritonobs_worker_answers:info"
STOPPED, DROP, DEAD = "TritonTrafficStopped", "TritonTrafficDrop", "TritonWorkerDead"
DEAD_INSTANCE = "model_instance:tritonobs_worker_dead:info"
HOUR, DAY = 60, 24 * 60
UP = {"job": "triton", "replica": "triton-1"}
LEFT = "replica:triton_unreachable:info"


def told(alert, minute, *models):
    """The alert fires for exactly these models, once each."""
    firing = f'ALERTS{{alertname="{alert}",alertstate="firing"}}'
    return reads(f"count by (model) ({firing})", minute, *(({"model": model}, 1) for model in models))


def owned(world, model, **records):
    """A model, and what is recorded of it over all its versions."""
    world.gauge(OWNER, 1, model=model)
    for record, level in records.items():
        world.gauge(record, level, model=model)
    return world


def stopped():
    """Models without a request since minute 71, each with one thing that makes it no news, or does not."""
    world = World(minutes=82)
    rows = {
        "stops": {},
        "little": {USUAL: 0.03},
        "enough": {USUAL: 0.035},
        "new": {RECENT: [(15, None), (71, 2), (999, 0)]},
        "slows": {RECENT: [(71, 2), (999, 0.003)]},
        "pauses": {RECENT: [(75, 2), (999, 0)]},
        "dead": {BEATS: 0},
        "alive": {BEATS: 1},
        "waiting": {PENDING: 1},
        "nothing_waits": {PENDING: 0},
        "hidden": {HIDDEN: 1},
    }
    for model, changed in rows.items():
        whole = {RECENT: [(71, 2), (999, 0)], USUAL: 2} | changed
        owned(world, model, **{record: whole.pop(record) for record in (RECENT, USUAL)})
        for record, level in whole.items():
            world.gauge(record, level, model=model, version="1")
    return world


def yesterday():
    """Models whose traffic had ended a day ago at this time, too, or had not."""
    world = World(minutes=DAY + 200, scrape_seconds=300)
    for model, before in (("ended", 0), ("went_on", 1)):
        owned(world, model, **{RECENT: [(150, 2), (240, before), (DAY + 180, 2), (1e6, 0)], USUAL: 2})
    return world


def unloaded():
    """Promised first versions; other versions took over from some, and lost requests of others.

    Of two ensembles that are not there, one calls a model that is not there either.
    """
    world = World(minutes=70).gauge("up", 1, **UP, cluster="b").gauge("up", 0, **UP, cluster="dark")

    def version(model, cluster="b", **records):
        world.gauge(KNOWN, 1, model=model, version="1", kind="model", cluster=cluster)
        for record, level in records.items():
            world.gauge(record, level, model=model, version="1", cluster=cluster)

    def others(model, before, *paces):
        version(model)
        world.gauge(RECENT, before, model=model, cluster="b")
        for number, pace in enumerate(paces, 2):
            own = {"model": model, "version": str(number), "cluster": "b"}
            world.gauge(DONE, 1, **own).gauge(PACE, pace, **own)

    version("gone")
    version("there", **{DONE: 0})
    version("hidden", **{HIDDEN: 1})
    version("in_the_dark", "dark")
    for model, member in (("with_member", "gone"), ("alone", "there")):
        version(model)
        world.gauge(CALLS, 1, pipeline=model, stage="s", model=member, cluster="b")
    others("replaced", 2, 1.1)
    others("shared", 2, 0.8, 0.4)
    others("missed", 2, 0.5, 0.4)
    others("few", 0.3, 0.01)
    others("enough", 0.35, 0.01)
    others("rose", [(30, 0.1), (99, 2)], 0.5)
    others("fell", [(40, 2), (99, 0.1)], 0.5)
    others("rose_a_bit", [(30, 0.1), (99, 0.5)], 0.2)
    others("fell_a_bit", [(40, 0.5), (99, 0.1)], 0.2)
    return world


def dropped():
    """What models get now, and got three days, a day and a week ago at this time."""
    world = World(minutes=7 * DAY + 3 * HOUR, scrape_seconds=600)
    for model, week, three, day, now in (
        ("drops", 2, 2, 2, 0.9),
        ("less", 3, 3, 2, 1.1),
        ("ends", 2, 2, 2, 0),
        ("little", 2, 2, 0.45, 0.1),
        ("enough", 2, 2, 0.55, 0.1),
        ("after_a_pause", 2, 0.2, 2, 0.9),
        ("as_last_week", 0.9, 2, 2, 0.5),
        ("more_last_week", 1.1, 2, 2, 0.5),
        ("hidden", 2, 2, 2, 0.9),
    ):
        steps = [(DAY, week), (4.5 * DAY, three), (6.5 * DAY, day), (7 * DAY + HOUR, day), (1e6, now)]
        owned(world, model, **{RECENT: steps})
    return world.gauge(HIDDEN, 1, model="hidden", version="1")


DEAD_STILL = (
    *("hangs", "answers_little", "answered", "fails", "failed_once"),
    *("taken_from_few", "half_dead"),
)


def dead():
    """Workers that do not beat, of models that answer without a failure, or with one, or hardly at all."""
    world = World(minutes=45)
    for model, beats, done, failed in (
        ("hangs", 0, 0, 0),
        ("answers", 0, 0.07, 0),
        ("answers_little", 0, 0.06, 0),
        ("answers_again", 0, [(34, 0), (99, 0.12)], 0),
        ("answered", 0, [(34, 5), (99, 0.05)], 0),
        ("fails", 0, 1, 0.01),
        ("failed_once", 0, 1, [(26, 0), (26.25, 0.01), (99, 0)]),
        ("failed_before", 0, 1, [(10, 1), (99, 0)]),
        ("taken_away", [(30, 1), (99, 0)], 1, 0),
        ("taken_from_few", [(30, 1), (99, 0)], 0.1, 0),
        ("half_dead", [(20, 1), (99, 0)], 1, 0),
        ("died_before", [(20, 1), (99, 0)], 1, 0),
        ("lives", 1, 0, 0),
    ):
        own = {"model": model, "version": "1"}
        world.gauge(OWNER, 1, **own).gauge(BEATS, beats, **own, replica="r", model_instance="i")
        if model == "half_dead":
            world.gauge(ANSWERS, 1, **own, replica="r", model_instance="i")
        world.gauge(DONE_THERE, done, **own, replica="r").gauge(FAILED, failed, **own, reason="BACKEND")
    return world


def taken_away():
    """Instances that beat until minute 20, of models that answer so much a minute without a failure."""
    world = World(minutes=36)
    for model, a_minute in (("many", 18), ("enough", 10.2), ("fewer", 9.6), ("few", 4.2), ("hardly", 3.6)):
        own = {"model": model, "version": "1"}
        world.gauge(BEATS, [(20, 1), (99, 0)], **own, replica="r", model_instance="i")
        world.gauge(DONE_THERE, a_minute / 60, **own, replica="r").gauge(FAILED, 0, **own, reason="BACKEND")
    return world


def missing():
    """Versions that server `a` had, and has not; `b` has them."""
    world = World(minutes=10)
    for model in ("lost", "there", "nowhere", "gone", "silent", "replaced"):
        own = {"model": model, "version": "1"}
        replica = f"{model}-a"
        world.gauge(OWNER, 1, **own).gauge(SEEN, [(5, None), (99, 300)], **own, replica=replica)
        if model != "nowhere":
            world.gauge(DONE, 2, **own)
        if model != "gone":
            world.gauge("up", 1, **UP | {"replica": replica})
        if model == "silent":
            world.gauge(LEFT, 1, replica=replica)
        if model in ("there", "replaced"):
            version = "1" if model == "there" else "2"
            world.gauge(DONE_THERE, 0, model=model, version=version, replica=replica)
    return world


PRESENCE = (OWNER, KNOWN, CALLS, RECENT, PACE, DONE, HIDDEN)
GONE, FELL, ROSE = ("gone", "alone", "missed", "enough"), ("fell", "fell_a_bit"), ("rose", "rose_a_bit")

CASES = (
    Case(
        says="a model that was asked for an hour and is not any more is told, unless something explains it",
        world=stopped(),
        rules=(STOPPED,),
        given=(OWNER, RECENT, USUAL, BEATS, PENDING, HIDDEN),
        checks=(
            told(STOPPED, 76.25),
            told(STOPPED, 77, "stops", "enough", "alive", "nothing_waits"),
            told(STOPPED, 82, "stops", "enough", "alive", "nothing_waits", "pauses"),
        ),
    ),
    Case(
        says="a model that had ended yesterday by now is not told when it ends today",
        world=yesterday(),
        rules=(STOPPED,),
        given=(OWNER, RECENT, USUAL, BEATS, PENDING, HIDDEN),
        checks=(told(STOPPED, DAY + 200, "went_on"),),
    ),
    Case(
        says="a version that is nowhere is told, unless others took over, nobody sees, or a member is gone",
        world=unloaded(),
        rules=(UNLOADED,),
        given=PRESENCE,
        checks=(
            told(UNLOADED, 0.75),
            told(UNLOADED, 30, *GONE, *FELL),
            told(UNLOADED, 37, *GONE, *FELL, *ROSE),
            told(UNLOADED, 56, *GONE, *FELL, *ROSE),
            told(UNLOADED, 67, *GONE, *ROSE),
        ),
    ),
    Case(
        says="a version that others replaced is told after a quarter of an hour",
        world=unloaded(),
        rules=(NOT_LOADED,),
        given=PRESENCE,
        checks=(
            told(NOT_LOADED, 14.75),
            told(NOT_LOADED, 16, "replaced", "shared", "missed", "few", "enough", *FELL, *ROSE),
        ),
    ),
    Case(
        says="half of what came yesterday is a drop, unless it was hardly anything or last week is no better",
        world=dropped(),
        rules=(DROP,),
        given=(OWNER, RECENT, HIDDEN),
        checks=(
            told(DROP, 7 * DAY + HOUR),
            told(DROP, 7 * DAY + 2 * HOUR, "drops", "enough", "after_a_pause", "more_last_week"),
        ),
    ),
    Case(
        says="a worker that does not beat is dead, unless its model answers well without it",
        world=dead(),
        rules=(DEAD,),
        given=(OWNER, BEATS, DONE_THERE, FAILED, ANSWERS),
        checks=(
            # It answers again, and for less than five minutes.
            told(DEAD, 39.5, *DEAD_STILL, "answers_again"),
            told(DEAD, 44.75, *DEAD_STILL),
        ),
    ),
    Case(
        says="an instance was taken away where ten a minute are answered, or later twenty in five minutes",
        world=taken_away(),
        rules=(DEAD_INSTANCE,),
        given=(BEATS, DONE_THERE, FAILED, ANSWERS),
        checks=tuple(
            reads(f"count by (model) ({DEAD_INSTANCE})", minute, *(({"model": model}, 1) for model in models))
            for minute, models in ((34.5, ("fewer", "few", "hardly")), (35.5, ("hardly",)))
        ),
    ),
    Case(
        says="a version that one server lost is told, unless nobody has it or the server is not there to ask",
        world=missing(),
        rules=(MISSING,),
        given=(OWNER, SEEN, DONE, DONE_THERE, LEFT),
        checks=(told(MISSING, 6.75), told(MISSING, 7.25, "lost")),
    ),
)
