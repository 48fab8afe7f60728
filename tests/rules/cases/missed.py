"""Evaluations that Prometheus or vmalert missed, because its machine was busy."""

from support.case import Case, reads
from support.simulate import World, but_at

UNMEASURED, COUNTED = "slo:sli_unmeasured_requests:increase", "slo:tritonobs_counted:info"
TIMED = "model_version_stage_le:tritonobs_requests_timed:increase"
DONE, VALID = "model_version:triton_requests:increase", "slo:sli_valid_requests:increase"
OWNER, MISSING = "subject:tritonobs_owner:info", "TritonSliMissing"
PROMISED, BAD = "slo:objective:ratio", "slo:sli_bad_requests:increase"
SCRAPE = 0.25


def missed_evaluations():
    """Every four minutes an evaluation was missed: nothing was recorded then, the SLO measured all the rest.

    Of each moment in the interval of the record; the twin lacks only what its SLO measured.
    """
    world = World(minutes=45)
    for number in range(8):
        missed = but_at(50, dict.fromkeys(3 + number * SCRAPE + 4 * lap for lap in range(11)))
        for model, timed in ((f"missed_{number}", missed), (f"lost_{number}", 50)):
            own = {"model": model, "version": "1"}
            world.gauge(OWNER, 1, **own).gauge(COUNTED, 1, **own, slo="late", stage="total", le="0.5")
            world.gauge(DONE, timed, **own).gauge(TIMED, timed, **own, stage="total", le="+Inf")
            world.gauge(VALID, missed, **own, slo="late")
    firing = f'count by (model) (ALERTS{{alertname="{MISSING}",alertstate="firing"}})'
    lost = [({"model": f"lost_{number}"}, 1) for number in range(8)]
    return Case(
        says="evaluations that were missed leave nothing unmeasured; what the SLO alone lacks is unmeasured",
        world=world,
        rules=(UNMEASURED, MISSING),
        given=(OWNER, COUNTED, TIMED, DONE, VALID, PROMISED, BAD, "subject:triton_requests:rate5m"),
        checks=tuple(reads(firing, minute, *lost) for minute in (25, 35, 42)),
    )


CASES = (missed_evaluations(),)
