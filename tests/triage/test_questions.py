"""What triage asks Prometheus, answered by its engine: a card with several series, and rare scrapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.case import Case, reads
from support.promtool import run
from support.simulate import World
from tritonobs import names, programs
from tritonobs.extensions.triage.checks import CHECKS
from tritonobs.extensions.triage.snapshot import ASKS
from tritonobs.registry import answer
from tritonobs.timings.promql import Scope
from tritonobs.timings.questions import trend_questions, window_questions

if TYPE_CHECKING:
    from pathlib import Path

CARD = {"UUID": "GPU-1", "instance": "gpu-1:9400"}


@pytest.fixture(name="promtool", scope="module")
def _promtool() -> Path:
    return programs.find("promtool")


@pytest.mark.parametrize(
    ("question", "metric"),
    [("gpu_clock", "DCGM_FI_DEV_SM_CLOCK"), ("gpu_temperature", "DCGM_FI_DEV_GPU_TEMP")],
)
def test_a_card_is_one_whoever_uses_it(promtool: Path, tmp_path: Path, question: str, metric: str) -> None:
    """dcgm-exporter names the pod: after a rollout the same card has a series more in the window."""
    world = World(minutes=20)
    world.gauge(metric, [(10, 60), (99, None)], **CARD, pod="old")
    world.gauge(metric, [(10, None), (99, 60)], **CARD, pod="new")
    assert "accelerator" in CHECKS
    expr = ASKS[question](Scope(), 600.0)

    case = Case(says=question, world=world, rules=(), checks=(reads(expr, 15, ({"UUID": "GPU-1"}, 60.0)),))

    assert run(promtool, (), case, tmp_path) == ""


@pytest.mark.parametrize("scrape_seconds", [5.0, 15.0, 30.0, 60.0])
@pytest.mark.parametrize("question", ["peak", "burst"])
def test_the_busiest_moments_are_seen_however_rare_scrapes_are(
    promtool: Path, tmp_path: Path, question: str, scrape_seconds: float
) -> None:
    """Steady traffic: its busiest moment is like any other."""
    world = World(minutes=30, scrape_seconds=scrape_seconds).triton("nms", qps=10, failures={"BACKEND": 0})
    expr = window_questions(Scope(), 600.0, scrape_seconds)[question]
    asked = reads(
        f"round({expr}, 0.1)", 20, ({"model": "nms", "version": "1"}, 10.0), ({"model": "nms"}, 10.0)
    )

    case = Case(says=question, world=world, rules=(), checks=(asked,))

    assert run(promtool, (), case, tmp_path) == ""


@pytest.mark.parametrize("question", ["peak", "burst"])
def test_what_was_before_the_window_is_not_its_busiest_moment(
    promtool: Path, tmp_path: Path, question: str
) -> None:
    """A surge that ended as the window began: rates look back, the window does not."""
    world = World(minutes=30, scrape_seconds=5.0)
    world.triton("nms", qps=[(18, 50), (99, 2)], failures={"BACKEND": 0})
    expr = window_questions(Scope(), 120.0, 5.0)[question]

    checks = (
        reads(f"round(({expr}) < 10)", 20, ({"model": "nms", "version": "1"}, 2.0), ({"model": "nms"}, 2.0)),
    )
    assert run(promtool, (), Case(says=question, world=world, rules=(), checks=checks), tmp_path) == ""


@pytest.mark.parametrize(
    ("cache", "waiting", "full"),
    [
        ([(18, 0.3), (99, 0.97)], 4, True),
        ([(12, 0.3), (14, 0.97), (99, 0.3)], 4, True),
        ([(18, 0.3), (99, 0.97)], 0.2, False),
        ([(19.5, 0.3), (99, 0.97)], 4, False),
        ([(10, 0.97), (99, 0.3)], 4, False),
    ],
    ids=["at the end", "for a while", "and none waits", "for a moment", "before the window"],
)
def test_a_cache_is_full_where_it_was_for_two_minutes(
    promtool: Path, tmp_path: Path, cache: list[tuple[float, float]], waiting: float, *, full: bool
) -> None:
    """Within a window of ten: on average such a cache is not full."""
    llm = {"model": "llm", "version": "1", "instance": "triton-1"}
    world = World(minutes=30)
    world.gauge(names.KV_CACHE_OF_REPLICA, cache, **llm)
    world.gauge(names.WAITING_OF_REPLICA, waiting, **llm)
    expr = window_questions(Scope(), 600.0)["kv_cache_blocked"]
    rows = (({"model": "llm", "version": "1"}, 0.97),) if full else ()

    case = Case(says="full", world=world, rules=(), checks=(reads(expr, 20, *rows),))

    assert run(promtool, (), case, tmp_path) == ""


def test_a_load_is_seen_in_workers_counters_and_load_times(promtool: Path, tmp_path: Path) -> None:
    """Loaded after ten minutes: one worker is new then, and no more a window later; the rest is Triton's."""
    world = World(minutes=20, scrape_seconds=5.0)
    world.worker("nms", pid=100, alive=[(10, 1), (99, None)])
    world.worker("nms", pid=200, alive=[(10, None), (99, 1)])
    world.triton("rank", qps=[(10, 4), (10.5, None), (99, 4)], queue=0.002, compute=0.01, seconds=0.02)
    world.gauge("up", 1, job="triton", instance="triton-1:8002")
    world.gauge(
        "nv_model_load_duration_secs",
        [(10, 1.5), (99, 2.5)],
        model="onnx",
        version="1",
        instance="triton-1:8002",
    )
    asked = trend_questions(Scope(), 20.0)
    where = {"instance": "triton-1:8002", "version": "1"}
    checks = (
        reads(asked["arrived"], 9, *()),
        reads(asked["arrived"], 10 + 10 / 60, ({**where, "model": "nms"}, 1.0)),
        reads(asked["arrived"], 11, *()),
        reads(f"round({asked['counted']})", 9.5, ({**where, "model": "rank"}, 2280.0)),
        reads(f"{asked['counted']} < 300", 11.5, ({**where, "model": "rank"}, 240.0)),
        reads(asked["load_seconds"], 9, ({**where, "model": "onnx"}, 1.5)),
        reads(asked["load_seconds"], 11, ({**where, "model": "onnx"}, 2.5)),
    )

    assert run(promtool, (), Case(says="loads", world=world, rules=(), checks=checks), tmp_path) == ""


def test_what_may_follow_from_what_is_what_checks_say() -> None:
    """Other parts ask it by name; of checks that are not known nothing follows."""
    follows = answer("follows")

    assert follows("error_surge", "model_gone")
    assert not follows("model_gone", "error_surge")
    assert not follows("error_surge", "unheard of")
