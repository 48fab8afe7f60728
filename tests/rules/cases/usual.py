"""Traffic against the same time yesterday and last week, from what was recorded then."""

from support.case import Case, fires, silent
from support.simulate import World

STOPPED, DROP = "TritonTrafficStopped", "TritonTrafficDrop"
RATE, PENDING = "subject:triton_requests:rate5m", "model_version:triton_requests_pending:sum"
BEATS = "model_instance:tritonobs_worker_alive:bool"
OWNER = "subject:tritonobs_owner:info"
AWAY = "model_version:triton_servers_unreachable:count"
GIVEN = (RATE, PENDING, BEATS, OWNER, AWAY)
FIRING = {"severity": "warning", "model": "nms", "team": "vision"}
DAY, WEEK = 1440, 10080


def recorded(levels, *, minutes, scrape_seconds=60):
    """A model with the rates that were recorded of it, and an owner."""
    world = World(minutes=minutes, scrape_seconds=scrape_seconds)
    world.gauge(OWNER, 1, model="nms", team="vision")
    return world.gauge(RATE, levels, model="nms")


def case(says, alert, world, *checks):
    """The alert alone, all it reads given."""
    return Case(says=says, world=world, rules=(alert,), given=GIVEN, checks=checks)


def drop(yesterday, now, *, week=None):
    """An hour of now, after the same hour yesterday and last week."""
    levels = [(60, week), (WEEK - DAY, None), (WEEK - DAY + 60, yesterday), (WEEK, None), (1e6, now)]
    return recorded(levels, minutes=WEEK + 60, scrape_seconds=300)


def stopped(*levels, minutes=240):
    """Traffic up to minute 200, none afterwards."""
    return recorded([*levels, (1e6, 0)], minutes=minutes)


END = WEEK + 55
CASES = (
    case(
        "a quarter of yesterday's traffic is a drop after ten minutes, not before",
        DROP,
        drop(4, 1),
        silent(DROP, WEEK + 5),
        fires(DROP, WEEK + 15, **FIRING),
    ),
    case("three quarters of yesterday's are none", DROP, drop(4, 3), silent(DROP, END)),
    case("no traffic at all is another alert", DROP, drop(4, 0), silent(DROP, END)),
    case("less than half a request a second was too little", DROP, drop(0.4, 0.1), silent(DROP, END)),
    case("more than that was enough", DROP, drop(0.6, 0.1), fires(DROP, END, **FIRING)),
    case("as little last week is usual", DROP, drop(4, 1, week=1), silent(DROP, END)),
    case("a little more last week is usual, too", DROP, drop(4, 1, week=1.9), silent(DROP, END)),
    case("more last week makes it a drop", DROP, drop(4, 1, week=4), fires(DROP, END, **FIRING)),
    case(
        "a little more last week than twice as much does",
        DROP,
        drop(4, 1, week=2.2),
        fires(DROP, END, **FIRING),
    ),
    case(
        "what cannot be scraped is no drop, where it had the model",
        DROP,
        drop(4, 1).gauge(AWAY, 1, model="nms", version="1"),
        silent(DROP, END),
    ),
    case(
        "a server that is down and never had the model does not matter",
        DROP,
        drop(4, 1).gauge("up", 0, job="triton", replica="r").gauge(AWAY, 1, model="ocr", version="1"),
        fires(DROP, END, **FIRING),
    ),
    case(
        "30 requests in ten minutes were to be expected: silence after five minutes of none",
        STOPPED,
        stopped((200, 0.05)),
        silent(STOPPED, 204),
        fires(STOPPED, 206, **FIRING),
    ),
    case("12 were too few", STOPPED, stopped((200, 0.02)), silent(STOPPED, 240)),
    case(
        "what was asked hours ago is not expected now",
        STOPPED,
        stopped((100, 2), (200, 0.001)),
        silent(STOPPED, 240),
    ),
    case(
        "what was asked until ten minutes ago is",
        STOPPED,
        stopped((175, 0), (200, 0.15)),
        fires(STOPPED, 215, **FIRING),
    ),
    case(
        "silence at this time yesterday is usual",
        STOPPED,
        recorded([(60, 0), (DAY, 1), (1e6, 0)], minutes=DAY + 50),
        silent(STOPPED, DAY + 50),
    ),
    case(
        "traffic at this time yesterday makes it unusual",
        STOPPED,
        recorded([(60, 1), (DAY, 1), (1e6, 0)], minutes=DAY + 50),
        fires(STOPPED, DAY + 40, **FIRING),
    ),
    case(
        "a dead worker is another alert",
        STOPPED,
        stopped((200, 1)).gauge(BEATS, 0, model="nms", version="1", model_instance="a"),
        silent(STOPPED, 240),
    ),
    case(
        "a worker that lives does not matter",
        STOPPED,
        stopped((200, 1)).gauge(BEATS, 4, model="nms", version="1", model_instance="a"),
        fires(STOPPED, 220, **FIRING),
    ),
    case(
        "a request that waits is no silence",
        STOPPED,
        stopped((200, 1)).gauge(PENDING, 1, model="nms", version="1"),
        silent(STOPPED, 240),
    ),
    case(
        "none that waits is",
        STOPPED,
        stopped((200, 1)).gauge(PENDING, 0, model="nms", version="1"),
        fires(STOPPED, 220, **FIRING),
    ),
    case(
        "what cannot be scraped is no silence",
        STOPPED,
        stopped((200, 1)).gauge(AWAY, 1, model="nms", version="1"),
        silent(STOPPED, 240),
    ),
)
