"""Servers that are silent, unreachable, back, down or only starting, by what `up` says at minute 100."""

from support.case import Case, absent, reads
from support.simulate import World, series_name

SILENT, UNREACHABLE = "replica:triton_silent:info", "replica:triton_unreachable:info"
RETURNED, DOWN = "replica:triton_returned:info", "replica:triton_down:info"
OUTAGE, BEGINS = "replica:triton_outage:info", "replica:triton_outage_begins:info"
STARTING, SEEN = "replica:triton_starting:info", "replica_model_version:triton_loaded:last_seen_seconds"
EVALUATED, KNOWN = "cluster:tritonobs_evaluated:info", "cluster:tritonobs_known:info"
SAME_PAGE, TWICE = "replica:triton_same_page:info", "replica:triton_scraped_twice:count"
ANSWERED, RESTARTED = "replica:triton_requests_succeeded:sum", "replica:triton_restarted:bool"
MICROS, HIDDEN = "replica:triton_request_microseconds:sum", "model_version:triton_servers_unreachable:count"
DONE, DONE_THERE = (
    "model_version:triton_requests_succeeded:rate1m",
    "replica_model_version:triton_requests_succeeded:rate1m",
)
SAMPLES = "scrape_samples_post_metric_relabeling"
NOW = 100
POD = {"namespace": "models"}


def since(minute, level=1.0):
    """A level from a minute on."""
    return [(minute, None), (999, level)]


def until(minute, level=1.0):
    """A level up to a minute."""
    return [(minute, level), (999, None)]


def turned(minute, before, after):
    """One level up to a minute, and another from then on."""
    return [(minute, before), (999, after)]


def servers(rows, *, minutes=NOW):
    """Servers by name, with levels of their series; labels of a cluster or pod may stand among these."""
    world = World(minutes=minutes)
    for replica, row in rows.items():
        own = {"replica": replica, **{name: label for name, label in row.items() if isinstance(label, str)}}
        for series, level in row.items():
            if isinstance(level, str):
                continue
            raw = {"job": "triton"} if series in {"up", SAMPLES} else {}
            world.gauge(series, level, **own, **raw)
    return world


def unsent(world, minute, **labels):
    """Nobody has sent samples of a server that answered since this minute, nor said that there are none."""
    scrapes = int(minute * 60 / world.scrape_seconds) + 1
    world.series[series_name("up", {"job": "triton", **labels})] = [1.0] * scrapes
    return world


def told(says, record, world, *those, given=(), by="replica"):
    """At minute 100 the record is there of these servers alone."""
    return Case(
        says=says,
        world=world,
        rules=(record,),
        given=given,
        checks=(reads(f"count by ({by}) ({record})", world.minutes, *(({by: name}, 1) for name in those)),),
    )


def valued(says, record, world, given, **values):
    """At minute 100 the record has these values, by the server."""
    return Case(
        says=says,
        world=world,
        rules=(record,),
        given=given,
        checks=(
            reads(
                record, NOW, *(({"replica": name.replace("_", "-")}, value) for name, value in values.items())
            ),
        ),
    )


def silences():
    """Servers of clusters that were evaluated all the time, or a part of it."""
    world = World(minutes=NOW)
    for cluster, level in (
        ("always", 1),
        ("enough", since(95.75)),
        ("lately", since(96)),
        ("again", [(90, 1), (98, None), (999, 1)]),
    ):
        world.gauge(EVALUATED, level, cluster=cluster)
        unsent(world, 99, cluster=cluster, replica=cluster)
    return unsent(world, 99.5, cluster="always", replica="late")


def pages():
    """Pages of two models each: how many requests were answered, and for how many microseconds."""
    world = World(minutes=NOW)
    for replica, answered in (("enough", (12, 8)), ("few", (12, 7))):
        for model, requests in zip("ab", answered, strict=True):
            own = {"job": "triton", "replica": replica, "model": model, "version": "1"}
            world.gauge("nv_inference_request_success", requests, **own)
            world.gauge("nv_inference_request_duration_us", 1000 * requests, **own)
    return world


CASES = (
    told(
        "a cluster is known while samples of its servers come",
        KNOWN,
        unsent(
            unsent(World(minutes=NOW), 99.5, cluster="late", replica="a"), 99, cluster="silent", replica="b"
        ),
        "late",
        given=(DONE,),
        by="cluster",
    ),
    told(
        "a server is silent when samples of it end, where nine tenths of five minutes were evaluated",
        SILENT,
        silences(),
        *("always", "enough"),
        given=(EVALUATED,),
    ),
    told(
        "a server is unreachable that did not answer twice in a minute, or with an empty page, or is silent",
        UNREACHABLE,
        servers(
            {
                "answers": {"up": 1, SAMPLES: 100},
                "twice": {"up": turned(99.7, 0, 1)},
                "once": {"up": turned(99.9, 0, 1)},
                "fails": {"up": turned(98.5, 1, 0)},
                "empty": {"up": 1, SAMPLES: 0},
                "silent": {SILENT: 1},
                "silent-and-back": {SILENT: 1, "up": 1},
                "silent-lately": {SILENT: until(41)},
                "silent-before": {SILENT: until(39)},
                "silent-and-ended": {SILENT: 1, "up": until(98.5)},
            }
        ),
        *("once", "fails", "empty", "silent", "silent-lately", "silent-and-ended"),
        given=(SILENT,),
    ),
    told(
        "a server is back for two minutes when it answers, and was there five minutes before",
        RETURNED,
        servers(
            {
                "back": {UNREACHABLE: until(98.7), "up": 1},
                "back-before": {UNREACHABLE: until(97), "up": 1},
                "fails": {UNREACHABLE: until(98.7), "up": 0},
                "new": {UNREACHABLE: until(98.7), "up": since(97)},
                "rather-new": {UNREACHABLE: until(98.7), "up": since(90)},
                "always": {"up": 1},
            }
        ),
        *("back", "rather-new"),
        given=(UNREACHABLE,),
    ),
    told(
        "a server is down that does not answer, once it has been there for four minutes or did answer",
        DOWN,
        servers(
            {
                "answers": {"up": 1},
                "fails": {"up": turned(90, 1, 0)},
                "found": {"up": since(97, 0)},
                "found-before": {"up": since(94, 0)},
                "found-again": {"up": [(88, None), (92, 1), (97, None), (999, 0)]},
            }
        ),
        *("fails", "found-before"),
        given=(SILENT,),
    ),
    told(
        "a pod may load for ten minutes, and be dark for two when it ends",
        DOWN,
        servers(
            {
                "fails": {**POD, "up": turned(90, 1, 0)},
                "loads": {**POD, "up": since(93, 0)},
                "loads-for-long": {**POD, "up": since(85, 0)},
                "loads-again": {**POD, "up": [(75, None), (80, 1), (93, None), (999, 0)]},
                "ends": {**POD, "up": turned(99, 1, 0)},
                "ended": {**POD, "up": turned(96, 1, 0)},
            }
        ),
        *("fails", "loads-for-long", "ended"),
        given=(SILENT,),
    ),
    told(
        "a silent server is down for an hour, while others of its cluster are heard",
        DOWN,
        servers(
            {
                "heard": {"cluster": "east", "up": 1},
                "silent": {"cluster": "east", SILENT: 1},
                "silent-and-back": {"cluster": "east", SILENT: 1, "up": 1},
                "silent-lately": {"cluster": "east", SILENT: until(41)},
                "silent-before": {"cluster": "east", SILENT: until(39)},
                "silent-and-ended": {"cluster": "east", SILENT: 1, "up": until(98.5)},
                "alone": {"cluster": "west", SILENT: 1},
                "alone-since": {"cluster": "west", "up": until(98.5)},
            }
        ),
        *("silent", "silent-lately", "silent-and-ended"),
        given=(SILENT,),
    ),
    told(
        "an outage is three quarters of a minute in which a server was down, and is still",
        OUTAGE,
        servers({"long": {DOWN: since(99.2)}, "short": {DOWN: since(99.4)}, "over": {DOWN: until(99.9)}}),
        "long",
        given=(DOWN,),
    ),
    told(
        "an outage begins once, and another one soon after it",
        BEGINS,
        servers(
            {
                "begins": {OUTAGE: since(99.9)},
                "began": {OUTAGE: since(99.7)},
                "begins-again": {OUTAGE: [(99.4, 1), (99.9, None), (999, 1)]},
            }
        ),
        *("begins", "begins-again"),
        given=(OUTAGE,),
    ),
    Case(
        says="an outage begins once, also where rules are evaluated every two seconds",
        world=World(minutes=1, scrape_seconds=2).gauge(OUTAGE, since(0.5), replica="r"),
        rules=(BEGINS,),
        given=(OUTAGE,),
        checks=(
            absent(BEGINS, 28 / 60),
            reads(BEGINS, 0.5, ({"replica": "r"}, 1)),
            absent(BEGINS, 32 / 60),
            absent(BEGINS, 34 / 60),
        ),
    ),
    told(
        "an unreachable server starts that is ten minutes old or answers now, and had no models",
        STARTING,
        servers(
            {
                "found": {UNREACHABLE: 1, "up": since(91.4, 0)},
                "found-before": {UNREACHABLE: 1, "up": since(91.2, 0)},
                "found-again": {UNREACHABLE: 1, "up": [(65, None), (75, 0), (91.4, None), (999, 0)]},
                "answers": {UNREACHABLE: 1, "up": 1},
                "fails": {UNREACHABLE: 1, "up": 0},
                "known": {UNREACHABLE: 1, "up": since(97, 0), SEEN: 5},
                "reachable": {"up": since(97)},
            }
        ),
        *("found", "found-again", "answers"),
        given=(UNREACHABLE, SEEN),
    ),
    told(
        "what an unreachable server had may be there still",
        HIDDEN,
        World(minutes=NOW)
        .gauge(SEEN, 5, replica="a", model="hidden", version="1")
        .gauge(SEEN, 5, replica="b", model="seen", version="1")
        .gauge(UNREACHABLE, 1, replica="a"),
        "hidden",
        given=(SEEN, UNREACHABLE),
        by="model",
    ),
    valued(
        "a page tells a server once it has answered twenty requests, of all its models",
        MICROS,
        pages(),
        (),
        enough=20_000,
    ),
    valued(
        "requests of a server are those of all its models",
        ANSWERED,
        pages(),
        (),
        enough=20,
        few=19,
    ),
    valued(
        "two pages that are alike within two minutes are those of one server",
        TWICE,
        servers(
            {
                "twice": {SAME_PAGE: since(99.7)},
                "once": {SAME_PAGE: since(99.9)},
                "again": {SAME_PAGE: [(95, None), (95.25, 1), (99.9, None), (999, 1)]},
            }
        ),
        (SAME_PAGE,),
        twice=2,
    ),
    valued(
        "a server has started again that has answered less than half of what it had a scrape ago",
        RESTARTED,
        servers(
            {
                "started": {ANSWERED: turned(99.9, 100, 49)},
                "unloaded": {ANSWERED: turned(99.9, 100, 51)},
                "started-before": {ANSWERED: turned(99.7, 100, 10)},
                "away": {ANSWERED: [(90, 100), (99.9, None), (999, 1)]},
                "away-for-less": {ANSWERED: [(96, 100), (99.9, None), (999, 1)]},
            }
        ),
        (ANSWERED,),
        started=1,
        unloaded=0,
        started_before=0,
        away_for_less=1,
    ),
)
