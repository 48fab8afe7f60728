"""A second rule engine takes the same rules, and evaluates them alike."""

import re
import subprocess

import pytest

from support.case import Case, absent, rule_name
from support.promtool import seen
from support.rule_cases import groups_for
from support.simulate import World, series_name
from support.victoria import Past, victoria_metrics
from tritonobs import names, programs
from tritonobs.programs import free_ports
from tritonobs.render.artifact import Artifact, write_artifacts, yaml_text
from tritonobs.render.rules import evaluate_mixin

MINUTES = (12, 30)
# Where a burn begins is one sample, which VictoriaMetrics goes on showing for 5 minutes: samples are counted.
BEGINS = "slo:error_budget_burn_fast:begins"
BEGAN = f"count_over_time({BEGINS}[1h])"
# An age is counted from now, which is another time in each. What is usual begins with the replay, whose first
# minutes the engines' `rate` reads differently.
ALERTS = 'ALERTS{alertname!="TritonErrorReasonSurge"}'
EVERYTHING = f'{{__name__=~".+:.+",__name__!~".+_age_seconds:max|{BEGINS}"}} or {ALERTS}'
SLO = {"model": "nms", "version": "1", "slo": "latency"}
SERVE = {"job": "tritonobs", "instance": "serve:9900"}
TOLERANCE = 1e-6
# promtool's time begins at 0; what is evaluated seldom, or over 15 m and more, differs after 12 minutes.
# So does what is compared with a limit that is near: by how much traffic breathes, and the mean of 15 m.
OF_THE_CLOCK = (
    r"replica_model_version:triton_loaded:.+|replica:triton_requests_succeeded:sum|.+:timestamp_seconds"
    r"|slo:tritonobs_counted:kept"
    r"|.+:(?:near_limit|mean15m|mean1h|mean1d|p75_1h|breath(?:5m)?|breath(?:5m)?_step)"
)

# Sums over the whole world hold its first interval (15 s of 12 minutes); a replay begins it a sample later.
OF_BUDGETS = r"slo:(?!tritonobs_counted:kept$).+"
BUDGET_TOLERANCE = 0.02


def _found(name):
    return programs.look(name) or pytest.skip(f"no {name} here; Debian's package victoria-metrics has it")


@pytest.fixture(name="program")
def _program():
    return _found


@pytest.fixture(name="steady", scope="module")
def _steady():
    """A fleet with a bit of everything.

    Its rates do not change within a window. VictoriaMetrics takes the increase between real samples, the
    last one before the window included; Prometheus extrapolates to the window's ends: after a change they
    differ for as long as one window.
    """
    world = World(minutes=30)
    # Nothing fails in the first minute: the engines begin a replay differently.
    failures = {"BACKEND": [(1, 0), (99, 2)], "REJECTED": [(1, 0), (99, 1)]}
    world.triton("nms", qps=8, failures=failures, queue=0.2, seconds=0.25, pending=[(20, 1), (99, 9)])
    world.triton("nms", replica="triton-2", qps=8, seconds=0.4).triton("nms", "2", qps=4)
    world.triton("inspect", qps=4).triton("frozen", qps=0).triton("quiet", qps=[(15, 4), (99, 0)])
    world.worker("nms", outcomes={"ok": 8, "error": 1}).worker("nms", slot="1", alive=[(20, 1), (99, 0)])
    world.worker("frozen", outcomes={"ok": 4})
    world.stage("nms", "total", qps=8, times={0.02: 0.75, 2.5: 0.25}).stage(
        "nms", "decode", qps=8, times={0.2: 1}
    )
    world.info("nms", "1", team="vision").info("nms").info("inspect", kind="bls").info("gone", "1")
    world.gauge(names.QPS_LIMIT, 10, model="nms").gauge(names.QPS_LIMIT, 25, model="nms", version="1")
    world.gauge(names.QPS_LIMIT, 8, model="inspect").gauge(names.QPS_LIMIT, 8, model="inspect", version="1")
    world.gauge(names.PIPELINE_CALLS, 2, pipeline="inspect", stage="nms", model="nms")
    world.gauge(names.SLO_OBJECTIVE, 0.99, **SLO)
    world.gauge(names.LATENCY_TARGET, 0.5, **SLO, stage="total", le="0.5")
    world.gauge(names.SLO_OBJECTIVE, 0.99, **{**SLO, "slo": "availability"})
    own = {"job": "triton", "replica": "triton-1", "model": "nms", "version": "1"}
    world.counter(names.STAGE_ERRORS, 1, **own, worker="w", stage="decode", reason="corrupt_image")
    world.counter(names.STAGE_ITEMS, 8, **own, worker="w", stage="decode", kind="tokens_out")
    world.counter("vllm:prompt_tokens_total", 40, **{**own, "model": "llm"})
    world.gauge(names.TOKENS_LIMIT, 20, model="llm", kind="tokens_in")
    world.counter("nv_cache_num_hits_per_model", 2, **own).counter("nv_cache_num_misses_per_model", 6, **own)
    world.gauge("nv_model_load_duration_secs", 3, **own)
    world.gauge("DCGM_FI_DEV_GPU_UTIL", 98, UUID="GPU-1", instance="h").gauge(
        "DCGM_FI_DEV_FB_USED", 990, UUID="GPU-1", instance="h"
    )
    world.gauge("DCGM_FI_DEV_FB_FREE", 10, UUID="GPU-1", instance="h").gauge(
        "DCGM_FI_DEV_POWER_USAGE", 300, UUID="GPU-1", instance="h"
    )
    world.gauge("npu_chip_info_temperature", 61, vdie_id="V", id="0", instance="n")
    world.gauge("up", [(20, 1), (99, 0)], **SERVE).gauge("tritonobs_config_valid", 0, **SERVE)
    world.gauge("tritonobs_limit_source_up", 0, source="kubernetes", **SERVE)
    return world.outage("triton-1").outage("triton-2")


@pytest.fixture(name="groups", scope="module")
def _groups():
    """All at one interval; what is compared are conditions, because a replay of vmalert 1.79 ends no wait."""
    return [
        {**group, "rules": [{**rule, "for": "0s"} if "alert" in rule else rule for rule in group["rules"]]}
        for group in groups_for(15, keepFiring=False)
    ]


def shown(subjects):
    """Sets of labels, fit to read."""
    return sorted(series_name(dict(one).get("__name__", ""), dict(sorted(one))) for one in subjects)


def test_vmalert_accepts_every_rule(program, tmp_path):
    """Without keep_firing_for, which vmalert learned later, expressions and templates are valid MetricsQL."""
    rules = evaluate_mixin({"keepFiring": False})
    written = write_artifacts(
        [Artifact(path=f"{name}.rules.yml", text=yaml_text(rules[name])) for name in rules], tmp_path
    )

    done = subprocess.run(
        [str(program("vmalert")), "-dryRun", *(f"-rule={path}" for path in written)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


@pytest.fixture(name="both", scope="module")
def _both(steady, groups, promtool, tmp_path_factory):
    """What the two engines read at each minute."""
    folder = tmp_path_factory.mktemp("engines")
    every = tuple(rule_name(rule) for group in groups for rule in group["rules"])
    case = Case(
        says="steady",
        world=steady,
        rules=every,
        checks=tuple(absent(expr, minute) for minute in MINUTES for expr in (EVERYTHING, BEGAN)),
    )
    with victoria_metrics(_found("victoria-metrics"), folder, free_ports(1)[0]) as address:
        past = Past(address, steady)
        past.evaluate(_found("vmalert"), groups, folder)
        victoria = [past.reads(EVERYTHING, minute) | began(past.reads(BEGAN, minute)) for minute in MINUTES]
    read = seen(promtool, groups, case, folder)
    prometheus = [every | began(counts) for every, counts in zip(read[::2], read[1::2], strict=True)]
    return list(zip(prometheus, victoria, strict=True))


def began(counts):
    """How often each burn began, under the name of the record."""
    return {labels | {("__name__", f"{BEGINS}:count")}: count for labels, count in counts.items()}


def require_alike(both, pattern, tolerance=TOLERANCE):
    """The records whose names match have the same samples in both, and there are some."""
    for prometheus, victoria in both:
        ours, theirs = (
            {labels: value for labels, value in read.items() if re.fullmatch(pattern, named(labels))}
            for read in (prometheus, victoria)
        )
        assert ours
        assert shown(set(theirs) - set(ours)) == []
        assert shown(set(ours) - set(theirs)) == []
        assert {
            labels: (value, theirs[labels])
            for labels, value in ours.items()
            if theirs[labels] != pytest.approx(value, rel=tolerance)
        } == {}


def named(labels):
    """The name among a sample's labels; an alert's is ALERTS."""
    return dict(labels).get("__name__", "")


def test_vmalert_evaluates_alike(both):
    """The same samples give the same records and the same alerts in both engines."""
    assert len(both[0][0]) > 150
    require_alike(both, f"(?!(?:{OF_THE_CLOCK}|{OF_BUDGETS})$).+")


def test_vmalert_evaluates_error_budgets_alike(both):
    """The same samples burn the same budgets, and begin to as often."""
    assert f"{BEGINS}:count" in map(named, both[0][0])
    require_alike(both, OF_BUDGETS, BUDGET_TOLERANCE)
