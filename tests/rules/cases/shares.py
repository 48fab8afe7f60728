"""Shares of bad requests: of all versions, of next to no traffic, of nothing before their window."""

from support.case import Case, near, reads
from support.simulate import World

SHOWN = "model_version:triton_requests_bad_per_requests:ratio_rate5m"
NMS = {"model": "nms", "version": "1"}
VALID, BAD = (
    f"sum_over_time(slo:sli_{what}_requests:increase[4m59s999ms]) / 300" for what in ("valid", "bad")
)


def slow_ratio(record, given):
    """Traffic of a request in hours still has a share of bad ones."""
    world = World(minutes=10, scrape_seconds=15)
    labels = {**NMS, "slo": "a"}
    for what, value in (("valid", 0.0004), ("bad", 0.0001)):
        world.gauge(f"slo:sli_{what}_requests:{given}", value, **labels)
    return Case(
        says=f"the share of bad requests is told for next to no traffic: {record}",
        world=world,
        rules=(record,),
        given=tuple(f"slo:sli_{what}_requests:{given}" for what in ("valid", "bad")),
        checks=(reads(record, 8, ({**labels, "sloth_window": record.split("ratio_rate")[1]}, 0.25)),),
    )


def old_news(window, hours, given, *, told=True):
    """Requests from before the window count for nothing in it; how many were bad is `told` beside."""
    world = World(minutes=5 * hours * 60, scrape_seconds=hours * 150)
    labels = {**NMS, "slo": "a"}
    valid, bad = (f"slo:sli_{what}_requests:{given}" for what in ("valid", "bad"))
    world.gauge(valid, [(3.5 * hours * 60, 8), (1e9, 1)], **labels)
    world.gauge(bad, [(3.5 * hours * 60, 4), (1e9, 0.25)], **labels)
    record, end = f"slo:sli_error:ratio_rate{window}", 5 * hours * 60
    # Twenty-four samples of a quarter each, or one more where a window counts its first moment, too.
    counted = [near(f"slo:sli_bad_requests:sum{window}", end, labels, 6, tolerance=0.05)]
    return Case(
        says=f"what happened before the window is not in it: {record}",
        world=world,
        rules=(record,),
        given=(valid, bad),
        checks=(
            reads(record, end, ({**labels, "sloth_window": window}, 0.25)),
            *(counted if told else ()),
        ),
    )


def slos():
    """Two models of two versions with an SLO of each kind over both; a change at minute 10."""
    world = World(minutes=25)
    for model, factor in (("nms", 1), ("ocr", 2)):
        subject = {"model": model, "slo": "up"}
        world.gauge("tritonobs_slo_objective_ratio", 0.9, **subject)
        world.gauge("tritonobs_slo_objective_ratio", 0.9, **{**subject, "slo": "fast"})
        world.gauge(
            "tritonobs_latency_target_seconds", 0.5, **{**subject, "slo": "fast"}, stage="total", le="0.5"
        )
        for version, share in (("1", 1), ("2", 3)):
            pace = 4 * factor * share
            world.triton(
                model,
                version,
                qps=[(10, pace), (99, 2 * pace)],
                failures={"BACKEND": [(10, 0), (99, pace)]},
            )
            world.stage(
                model,
                "total",
                version,
                qps=[(10, pace), (99, 2 * pace)],
                times={0.1: [(10, 1), (99, 0.75)], 2: [(10, 0), (99, 0.25)]},
            )
    return world


def of_slos(record, values):
    """The four SLOs of `slos` as a record reads them."""
    rows = []
    for model, up, fast in values:
        for slo, value in (("up", up), ("fast", fast)):
            sloth = {"sloth_id": f"{model}-{slo}", "sloth_service": model, "sloth_slo": slo}
            rows.append(({"model": model, "slo": slo, **sloth}, value))
    return reads(record, 17, *rows)


CASES = (
    Case(
        says="SLOs of a model count all its versions, of each model apart, in the last five minutes",
        world=slos(),
        rules=tuple(f"slo:sli_{what}_requests:increase" for what in ("valid", "bad")),
        checks=(
            of_slos(VALID, (("nms", 48, 48), ("ocr", 96, 96))),
            of_slos(BAD, (("nms", 16, 24), ("ocr", 32, 48))),
        ),
    ),
    *(
        slow_ratio(f"slo:sli_error:ratio_rate{window}", samples)
        for samples, windows in (
            ("increase", ("5m", "30m", "1h")),
            ("sampled", ("2h", "6h", "1d", "3d")),
            ("rarely_sampled", ("30d",)),
        )
        for window in windows
    ),
    old_news("1h", 1, "increase", told=False),
    old_news("2h", 2, "sampled", told=False),
    old_news("6h", 6, "sampled"),
    old_news("1d", 24, "sampled"),
    old_news("3d", 72, "sampled"),
    old_news("30d", 720, "rarely_sampled"),
    Case(
        says="the share of bad requests is told of a single one, too",
        world=World(minutes=10)
        .gauge("model_version:triton_requests:increase", [(4, 0), (4.25, 1), (99, 0)], **NMS)
        .gauge("model_version:triton_requests_bad:increase", [(1, 5), (4, 0), (4.25, 0.5), (99, 0)], **NMS)
        .gauge("model_version:triton_requests:rate5m", 1 / 300, **NMS),
        rules=(SHOWN,),
        given=(
            "model_version:triton_requests:increase",
            "model_version:triton_requests_bad:increase",
            "model_version:triton_requests:rate5m",
        ),
        checks=(reads(SHOWN, 8, (NMS, 0.5)), reads(SHOWN, 10)),
    ),
    Case(
        says="the period is told as it is, and a burn below 1 has an end when something is left",
        world=World(minutes=10)
        .gauge("slo:objective:ratio", 0.9, **NMS, slo="a")
        .gauge("slo:sli_error:ratio_rate1h", 0.05, **NMS, slo="a", sloth_window="1h")
        .gauge("slo:sli_error:ratio_rate30d", 0.05, **NMS, slo="a", sloth_window="30d"),
        rules=("slo:time_period:days", "slo:time_to_exhaustion:seconds"),
        given=("slo:objective:ratio", "slo:sli_error:ratio_rate1h", "slo:sli_error:ratio_rate30d"),
        checks=(
            reads("slo:time_period:days", 8, ({**NMS, "slo": "a"}, 30)),
            reads("slo:time_to_exhaustion:seconds", 8, ({**NMS, "slo": "a"}, 2592000)),
        ),
    ),
)
