"""Hours and days: the budget counts requests, a clean rollout is silent, healthy noise pages nobody."""

import math
import random

from support.case import Case, absent, near, reads
from support.simulate import World
from tritonobs import names

HOUR, DAY = 60, 24 * 60
ROW = {"model": "nms", "version": "1", "slo": "availability"}
SLOTH = {**ROW, "sloth_id": "nms-availability-v1", "sloth_service": "nms", "sloth_slo": "availability-v1"}
BAD_HOUR, BAD_SHARE = 20, 0.05


def _traffic(hour):
    """Requests a second: none at night, most in the afternoon."""
    return 0 if hour % 24 < 6 else round(2 + 8 * math.sin((hour % 24 - 6) / 18 * math.pi), 3)


def diurnal():
    """A day and a half of traffic by the hour, one of them bad; the exact share of bad requests with it."""
    hours = range(36)
    total = [(HOUR * (hour + 1), _traffic(hour)) for hour in hours]
    bad = [(HOUR * (hour + 1), BAD_SHARE * _traffic(hour) if hour == BAD_HOUR else 0) for hour in hours]
    good = [(until, all_ - wrong) for (until, all_), (_, wrong) in zip(total, bad, strict=True)]
    world = World(minutes=36 * HOUR, scrape_seconds=60).triton("nms", qps=total)
    world.worker("nms", outcomes={"ok": good, "error": bad})
    world.gauge("tritonobs_slo_objective_ratio", 0.99, **ROW)
    until = 35 * HOUR
    exact = sum(rate for end, rate in bad if end <= until) / sum(rate for end, rate in total if end <= until)
    return world, exact


def rollout():
    """Version 2 takes over from version 1 at minute 90; the fleet file follows. Nothing goes wrong."""
    before, after = [(90, 1), (9999, None)], [(90, None), (9999, 1)]
    world = World(minutes=150)
    for version, there, qps, pid in (("1", before, 5, 100), ("2", after, 5, 200)):
        level = [(until, None if state is None else qps) for until, state in there]
        world.triton("nms", version, qps=level)
        world.worker("nms", version, alive=there, pid=pid, outcomes={"ok": level})
        world.stage("nms", "total", version, qps=level, times={0.05: 1}, pid=pid)
        world.gauge(names.MODEL_INFO, there, model="nms", version=version, kind="model")
        world.gauge(names.SLO_OBJECTIVE, there, model="nms", version=version, slo="availability")
        world.gauge(
            names.QPS_LIMIT, [(until, state and 8) for until, state in there], model="nms", version=version
        )
    world.info("nms").gauge(names.QPS_LIMIT, 8, model="nms")
    world.gauge(names.SLO_OBJECTIVE, 0.999, model="nms", slo="latency")
    world.gauge(names.LATENCY_TARGET, 0.5, model="nms", slo="latency", stage="total", le="0.5")
    world.gauge("scrape_samples_scraped", 100, job="triton", instance="triton-1:8002", replica="triton-1")
    return world.outage("triton-1")


def noise(*, hours, objective=0.99):
    """Models at 0.01, 0.1 and 1 request a second, at random, with errors at half of what is allowed."""
    chance = random.Random(20240229)  # noqa: S311 (a repeatable experiment, no secret)
    world = World(minutes=hours * HOUR, scrape_seconds=60)
    for rate in (0.01, 0.1, 1):
        model = f"at_{rate:g}"
        world.triton(model).worker(model).info(model, "1")
        own = next(name for name in world.series if name.startswith(names.TRITON_SUCCESS) and model in name)
        outcomes = {
            outcome: next(name for name in world.series if model in name and f'outcome="{outcome}"' in name)
            for outcome in ("ok", "error")
        }
        done = wrong = 0
        arrival = chance.expovariate(rate)
        for place, time in enumerate(world.times):
            while arrival <= time:
                done += 1
                wrong += chance.random() < (1 - objective) / 2
                arrival += chance.expovariate(rate)
            world.series[own][place] = done
            world.series[outcomes["ok"]][place] = done - wrong
            world.series[outcomes["error"]][place] = wrong
        world.gauge(names.SLO_OBJECTIVE, objective, model=model, version="1", slo="availability")
        world.gauge(names.QPS_LIMIT, 2 * rate, model=model, version="1")
    return world.outage("triton-1")


DIURNAL, EXACT = diurnal()
ALERTS = (
    *("TritonQpsAboveLimit", "TritonQpsNearLimit", "TritonQpsSpike", "TritonQpsWillExceedLimit"),
    *(
        "TritonServerDown",
        "TritonModelUnloaded",
        "TritonWorkerDead",
        "TritonTrafficStopped",
        "TritonTrafficDrop",
    ),
    *("TritonErrorBudgetBurnFast", "TritonErrorBudgetBurnMedium", "TritonErrorBudgetBurnSlow"),
    *("TritonErrorBudgetBurnLong", "TritonErrorBudgetExhausted", "TritonSliMissing", "TritonQueueWaitHigh"),
    *("TritonSaturated", "TritonBatchInefficient", "TritonStageSlow", "TritonErrorReasonSurge"),
    *("TritonCacheCollapse", "TritonModelReloaded", "TritonMetricsEmpty", "TritonCountersFrozen"),
    *("TritonStageMetricsFailing", "TritonRestartLoop", "TritonReplicaSlow", "TritonLimitSourceLost"),
)
PAGES = (
    *("TritonQpsAboveLimit", "TritonErrorBudgetBurnFast", "TritonErrorBudgetBurnMedium"),
    *("TritonServerDown", "TritonModelUnloaded", "TritonWorkerDead"),
)

CASES = (
    Case(
        says="the budget is spent by requests, not by time: an idle night and one bad hour",
        world=DIURNAL,
        rules=(
            "slo:period_error_budget_remaining:ratio",
            "slo:time_period:days",
            "slo:current_burn_rate:ratio",
            "slo:time_to_exhaustion:seconds",
        ),
        checks=(
            near(
                "1 - slo:period_error_budget_remaining:ratio", 35 * HOUR, SLOTH, EXACT / 0.01, tolerance=0.01
            ),
            near("slo:period_burn_rate:ratio", 35 * HOUR, SLOTH, EXACT / 0.01, tolerance=0.01),
            near(
                "slo:current_burn_rate:ratio", BAD_HOUR * HOUR + 30, SLOTH, BAD_SHARE / 0.01, tolerance=0.02
            ),
            reads("slo:time_period:days", HOUR, (SLOTH, 30)),
            reads("slo:error_budget:ratio", HOUR, (SLOTH, 0.01)),
            reads("slo:objective:ratio", HOUR, (SLOTH, 0.99)),
            absent("slo:current_burn_rate:ratio", 29 * HOUR),
            absent("slo:time_to_exhaustion:seconds", 34 * HOUR),
        ),
    ),
    Case(
        says="the share of bad requests is told for every window",
        world=World(minutes=HOUR, scrape_seconds=30)
        .triton("nms", qps=10)
        .worker("nms", outcomes={"ok": 9.5, "error": 0.5})
        .gauge("tritonobs_slo_objective_ratio", 0.99, **ROW),
        rules=tuple(
            f"slo:sli_error:ratio_rate{window}"
            for window in ("5m", "30m", "1h", "2h", "6h", "1d", "3d", "30d")
        ),
        checks=(
            *(
                near(
                    f"slo:sli_error:ratio_rate{window}",
                    HOUR,
                    {**SLOTH, "sloth_window": window},
                    0.05,
                    tolerance=0.01,
                )
                for window in ("5m", "30m", "1h", "2h", "6h", "1d", "3d", "30d")
            ),
            near("slo:sli_valid_requests:increase / 30", HOUR, SLOTH, 10),
            near("slo:sli_bad_requests:increase / 30", HOUR, SLOTH, 0.5),
        ),
    ),
    Case(
        says="every window looks back exactly as far as its name says",
        world=World(minutes=80 * HOUR, scrape_seconds=300)
        .gauge("tritonobs_slo_objective_ratio", 0.99, **ROW)
        .gauge("slo:sli_valid_requests:increase", 10, **SLOTH)
        .gauge("slo:sli_bad_requests:increase", [(HOUR, 10), (1e9, 0)], **SLOTH),
        rules=tuple(
            f"slo:sli_error:ratio_rate{window}" for window in ("30m", "1h", "2h", "6h", "1d", "3d", "30d")
        ),
        given=("slo:sli_valid_requests:increase", "slo:sli_bad_requests:increase"),
        checks=(
            *(
                check
                for window, minutes in (
                    ("30m", 30),
                    ("1h", 60),
                    ("2h", 120),
                    ("6h", 360),
                    ("1d", DAY),
                    ("3d", 3 * DAY),
                )
                for check in (
                    reads(
                        f"slo:sli_error:ratio_rate{window} > bool 0",
                        HOUR + minutes - 20,
                        (SLOTH | {"sloth_window": window}, 1),
                    ),
                    reads(
                        f"slo:sli_error:ratio_rate{window} > bool 0",
                        HOUR + minutes + 20,
                        (SLOTH | {"sloth_window": window}, 0),
                    ),
                )
            ),
            reads("slo:sli_error:ratio_rate30d > bool 0", 80 * HOUR, (SLOTH | {"sloth_window": "30d"}, 1)),
        ),
    ),
    Case(
        says="time to exhaustion is what is left at the pace of the last hour",
        world=World(minutes=10 * HOUR, scrape_seconds=300)
        .gauge("tritonobs_slo_objective_ratio", 0.99, **ROW)
        .gauge("slo:sli_valid_requests:increase", 10, **SLOTH)
        # A sample counts what came since the one before, and is summed an interval later: the first sum that
        # holds bad ones is that of 8 h 5 min.
        .gauge("slo:sli_bad_requests:increase", [(8 * HOUR, 0), (1e9, 0.2)], **SLOTH),
        rules=("slo:time_to_exhaustion:seconds",),
        given=("slo:sli_valid_requests:increase", "slo:sli_bad_requests:increase"),
        checks=(
            absent("slo:time_to_exhaustion:seconds", 7 * HOUR),
            # Two of ten hours at twice the budget leave 60 % of it, which lasts 9 days at that pace.
            near("slo:time_to_exhaustion:seconds", 10 * HOUR, SLOTH, 9 * 86400, tolerance=0.02),
        ),
    ),
    Case(
        says="a clean rollout from version 1 to version 2 is silent",
        world=rollout(),
        rules=ALERTS,
        checks=(absent("count_over_time(ALERTS{alertstate='firing'}[150m])", 150),),
    ),
    Case(
        says="thirty hours of little, noisy, healthy traffic page nobody",
        world=noise(hours=30),
        rules=PAGES,
        # Only quoted by messages; promtool sums no more than 10,000 samples.
        given=("slo:period_error_budget_remaining:ratio", "slo:time_to_exhaustion:seconds"),
        checks=(absent("count_over_time(ALERTS{alertstate='firing'}[30h])", 30 * HOUR),),
    ),
)
