"""An SLO of a version that charges what is the caller's fault: of every server, and once."""

from support.case import Case, reads
from support.simulate import World

OF_SLO, VALID = "slo:sli_bad_requests:increase", "slo:sli_valid_requests:increase"
DONE, BAD = "model_version:triton_requests:increase", "model_version:triton_requests_bad:increase"
TOLD = "replica_model_version_outcome:tritonobs_requests_told:increase"
SEEN = "replica_model_version_seen_by:triton_requests_bad:increase"
CHARGED = "subject_slo:tritonobs_slo_invalid_charged:held"
COUNTED = "worker_stage_le:tritonobs_stage_duration_seconds_bucket:last"
TIMED = "model_version_stage_le:tritonobs_requests_timed:increase"
IN_TIME = "model_version_stage_le:tritonobs_requests_in_time:increase"
# By version: its requests; what it called invalid, and failures, by server; failures that it is charged for.
VERSIONS = {
    "1": (40, {"r": 3, "s": 1}, {"r": 4, "s": 2}, 6),
    # A pipeline, which is not charged for all of its failures.
    "2": (50, {}, {"r": 5, "s": 3}, 2),
    "3": (60, {"r": 7}, {}, 0),
}


def versions():
    """Two SLOs of every version, of which one charges what is the caller's fault."""
    world, bad, valid = World(minutes=3), [], []
    for version, (done, invalid, failed, charged) in VERSIONS.items():
        own = {"model": "nms", "version": version}
        world.gauge(DONE, done, **own).gauge(BAD, charged, **own)
        for replica, value in invalid.items():
            world.gauge(TOLD, value, **own, replica=replica, outcome="invalid")
        for replica, value in failed.items():
            world.gauge(SEEN, value, **own, replica=replica, seen_by="triton")
        for slo in ("usual", "strict"):
            world.gauge(COUNTED, 1, **own, slo=slo, bound="counted")
        world.gauge(CHARGED, 1, **own, slo="strict")
        faults = sum(invalid.values()) + sum(failed.values()) - charged
        bad += [({**own, "slo": "usual"}, charged), ({**own, "slo": "strict"}, charged + faults)]
        valid += [({**own, "slo": "usual"}, done - faults), ({**own, "slo": "strict"}, done)]
    return Case(
        says="what is the caller's fault is bad where the SLO of a version charges it, on all servers",
        world=world,
        rules=(OF_SLO, VALID),
        given=(DONE, BAD, TOLD, SEEN, CHARGED, COUNTED, TIMED, IN_TIME),
        checks=(reads(OF_SLO, 2, *bad), reads(VALID, 2, *valid)),
    )


CASES = (versions(),)
