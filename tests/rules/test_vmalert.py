"""A second rule engine takes the same rules, and evaluates them alike."""

import subprocess
from decimal import Decimal

import pytest

from tritonobs import names
from tritonobs.plan.windows import rule_windows
from tritonobs.render.artifact import Artifact, write_artifacts, yaml_text
from tritonobs.render.rules import evaluate_mixin, window_knobs
from tritonobs.stack import binaries
from tritonobs.stack.ports import free_ports
from tritonobs.testing.promtool import Case, absent, rule_name, seen
from tritonobs.testing.simulate import World, series_name
from tritonobs.testing.victoria import Past, victoria_metrics

MINUTES = (12, 30)
# An age is counted from now, which is another time in each.
EVERYTHING = '{__name__=~".+:.+",__name__!~".+_age_seconds:max"} or ALERTS'
SLO = {"model": "nms", "version": "1", "slo": "latency"}
SERVE = {"job": "tritonobs", "instance": "serve:9900"}
TOLERANCE = 1e-6


@pytest.fixture(name="program")
def _program():
    def found(name):
        path = binaries.look(name)
        return path or pytest.skip(f"no {name} here; Debian's package victoria-metrics has it")

    return found


@pytest.fixture(name="steady", scope="module")
def _steady():
    """A fleet with a bit of everything.

    Its rates do not change within a window. VictoriaMetrics takes the increase between real samples, the
    last one before the window included; Prometheus extrapolates to the window's ends: after a change they
    differ for as long as one window.
    """
    world = World(minutes=30)
    world.triton("nms", qps=8, failures={"BACKEND": 2, "REJECTED": 1}, queue=0.2, pending=[(20, 1), (99, 9)])
    world.triton("nms", replica="triton-2", qps=8, seconds=0.4).triton("nms", "2", qps=4)
    world.triton("inspect", qps=4).triton("frozen", qps=0).triton("quiet", qps=[(15, 4), (99, 0)])
    world.worker("nms", outcomes={"ok": 8, "error": 1}).worker("nms", slot="1", alive=[(20, 1), (99, 0)])
    world.worker("frozen", outcomes={"ok": 4})
    world.stage("nms", "total", qps=8, times={0.02: 0.75, 2.5: 0.25}).stage(
        "nms", "decode", qps=8, times={0.2: 1}
    )
    world.info("nms", "1", team="vision").info("nms").info("inspect", kind="bls").info("gone", "1")
    world.gauge(names.QPS_LIMIT, 10, model="nms").gauge(names.QPS_LIMIT, 17, model="nms", version="1")
    world.gauge(names.QPS_LIMIT, 4, model="inspect").gauge(names.QPS_LIMIT, 4, model="inspect", version="1")
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
    windows = window_knobs(rule_windows(Decimal(15), Decimal(15)))
    same = {"sloSeconds": 15, "longSeconds": 15, "replicaLabel": names.REPLICA, "keepFiring": False}
    rules = evaluate_mixin(windows | same)
    return [
        {**group, "rules": [{**rule, "for": "0s"} if "alert" in rule else rule for rule in group["rules"]]}
        for file in rules.values()
        for group in file["groups"]
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


def test_vmalert_evaluates_alike(program, steady, groups, promtool, tmp_path):
    """The same samples give the same records and the same alerts in both engines."""
    every = tuple(rule_name(rule) for group in groups for rule in group["rules"])
    case = Case(
        says="steady",
        world=steady,
        rules=every,
        checks=tuple(absent(EVERYTHING, minute) for minute in MINUTES),
    )
    prometheus = seen(promtool, groups, case, tmp_path)

    with victoria_metrics(program("victoria-metrics"), tmp_path, free_ports(1)[0]) as address:
        past = Past(address, steady)
        past.evaluate(program("vmalert"), groups, tmp_path)
        victoria = [past.reads(EVERYTHING, minute) for minute in MINUTES]

    for ours, theirs in zip(prometheus, victoria, strict=True):
        assert len(ours) > 150
        assert shown(set(theirs) - set(ours)) == []
        assert shown(set(ours) - set(theirs)) == []
        assert {
            labels: (value, theirs[labels])
            for labels, value in ours.items()
            if theirs[labels] != pytest.approx(value, rel=TOLERANCE)
        } == {}
