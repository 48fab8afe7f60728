"""Shares of bad requests: of all versions, of next to no traffic, of nothing before their window."""

from tritonobs.testing.promtool import Case, reads
from tritonobs.testing.simulate import World

NMS = {"model": "nms", "version": "1"}
VALID, BAD = "slo:sli_valid_requests:rate5m", "slo:sli_bad_requests:rate5m"


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


def old_news(record, days):
    """Requests from before the window count for nothing in it."""
    world = World(minutes=5 * days * 1440, scrape_seconds=days * 3600)
    labels = {**NMS, "slo": "a"}
    begin = 3.5 * days * 1440
    world.gauge("slo:sli_valid_requests:rate5m_sampled", [(begin, 8), (1e9, 1)], **labels)
    world.gauge("slo:sli_bad_requests:rate5m_sampled", [(begin, 4), (1e9, 0.25)], **labels)
    return Case(
        says=f"what happened before the window is not in it: {record}",
        world=world,
        rules=(record,),
        given=("slo:sli_valid_requests:rate5m_sampled", "slo:sli_bad_requests:rate5m_sampled"),
        checks=(reads(record, 5 * days * 1440, ({**labels, "sloth_window": f"{days}d"}, 0.25)),),
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
        rules=(VALID, BAD),
        checks=(
            of_slos(VALID, (("nms", 48, 32), ("ocr", 96, 64))),
            of_slos(BAD, (("nms", 16, 8), ("ocr", 32, 16))),
        ),
    ),
    *(
        slow_ratio(f"slo:sli_error:ratio_rate{window}", "rate5m")
        for window in ("5m", "30m", "1h", "2h", "6h")
    ),
    *(slow_ratio(f"slo:sli_error:ratio_rate{window}", "rate5m_sampled") for window in ("1d", "3d", "30d")),
    old_news("slo:sli_error:ratio_rate1d", 1),
    old_news("slo:sli_error:ratio_rate3d", 3),
    old_news("slo:sli_error:ratio_rate30d", 30),
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
