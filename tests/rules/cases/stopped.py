"""When traffic stopped, and when something came last since."""

from support.case import Case, absent, all_fire, fires, reads, silent
from support.simulate import World

STOPPED, BACK = (
    "model:tritonobs_traffic_stopped:timestamp_seconds",
    "model:tritonobs_traffic_back:timestamp_seconds",
)
RECENT, USUAL = "subject:triton_requests:rate5m", "subject:triton_requests:p75_1h"
BEATS, HIDDEN = "model_instance:tritonobs_worker_alive:bool", "model_version:triton_servers_unreachable:count"
PENDING, COUNTED = (
    "model_version:triton_requests_pending:sum",
    "model_version_outcome:tritonobs_requests:rate1m",
)
ALERT, OWNER = "TritonTrafficStopped", "subject:tritonobs_owner:info"
DAY = 24 * 60


def stopped():
    """Models of which Triton counts nothing from minute 71 on; two of them count for themselves."""
    world = World(minutes=80)
    for model, counted in (("stops", None), ("counts", 0.5), ("counted", [(73, 0.5), (99, 0)])):
        world.gauge(RECENT, [(71, 2), (99, 0)], model=model).gauge(USUAL, 2, model=model)
        world.gauge(COUNTED, counted, model=model, version="1", outcome="ok")
    return world


def back():
    """Models that were seen to stop, but for one, and what came since."""
    world = World(minutes=5)
    for model, rate, waiting, seen in (
        ("comes", 0.5, 0, 60),
        ("waits", 0, 1, 60),
        ("nothing", 0, 0, 60),
        ("never-stopped", 0.5, 1, None),
    ):
        world.gauge(RECENT, rate, model=model).gauge(STOPPED, seen, model=model)
        world.gauge(PENDING, waiting, model=model, version="1")
    return world


def long_ago():
    """Models without a request, and when they were seen to stop, or to get one."""
    world = World(minutes=DAY + 90, scrape_seconds=120)
    for model, seen, came in (
        ("stopped", [(60, 5), (9e9, None)], None),
        ("came-back", 5, [(60, 9), (9e9, None)]),
        ("came-back-since", [(60, 9), (9e9, 5)], 7),
    ):
        world.gauge(RECENT, 0, model=model).gauge(OWNER, 1, model=model)
        world.gauge(STOPPED, seen, model=model).gauge(BACK, came, model=model)
    return world


def warned(minute, *models):
    """The alert fires for exactly these models."""
    return all_fire(ALERT, minute, *({"model": model, "severity": "warning"} for model in models))


CASES = (
    Case(
        says="traffic has not stopped while the model counts requests itself, nor for five minutes after",
        world=stopped(),
        rules=(STOPPED,),
        given=(RECENT, USUAL, BEATS, PENDING, COUNTED, HIDDEN),
        checks=(
            reads(STOPPED, 77, ({"model": "stops"}, 77 * 60)),
            reads(STOPPED, 80, ({"model": "stops"}, 80 * 60), ({"model": "counted"}, 80 * 60)),
        ),
    ),
    Case(
        says="traffic is back when a request came or waits, of a model whose traffic had stopped",
        world=back(),
        rules=(BACK,),
        given=(STOPPED, RECENT, PENDING),
        checks=(reads(BACK, 5, ({"model": "comes"}, 300), ({"model": "waits"}, 300)),),
    ),
    Case(
        says="traffic that stopped more than a day ago is forgotten",
        world=World(minutes=DAY + 90, scrape_seconds=120)
        .gauge(STOPPED, [(60, 5), (9e9, None)], model="nms")
        .gauge(RECENT, 2, model="nms"),
        rules=(BACK,),
        given=(STOPPED, RECENT, PENDING),
        checks=(
            reads(BACK, DAY - 40, ({"model": "nms"}, (DAY - 40) * 60)),
            absent(BACK, DAY + 90),
        ),
    ),
    Case(
        says="what stopped traffic, or brought it back, a day ago is not compared",
        world=long_ago(),
        rules=(ALERT,),
        given=(STOPPED, BACK, RECENT, BEATS, OWNER),
        checks=(warned(DAY - 40, "stopped", "came-back-since"), warned(DAY + 90, "came-back")),
    ),
    Case(
        says="a model that no one knows of for five minutes has not stopped",
        world=World(minutes=17)
        .gauge(RECENT, [(10, 0), (99, None)], model="nms")
        .gauge(OWNER, 1, model="nms")
        .gauge(STOPPED, 5, model="nms"),
        rules=(ALERT,),
        given=(STOPPED, BACK, RECENT, BEATS, OWNER),
        checks=(fires(ALERT, 14, severity="warning", model="nms"), silent(ALERT, 17, since=16)),
    ),
)
