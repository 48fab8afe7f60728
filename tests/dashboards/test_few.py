"""Percentiles on boards that too few requests stand behind."""

from __future__ import annotations

import re

import pytest

from support.case import Case, reads
from support.promtool import run
from support.simulate import World
from tritonobs import programs

RECORD = "model_version_stage:tritonobs_stage_duration_seconds"
FILE = {"cluster": "c", "model": "m", "version": "1"}
KNOWN = {"p50": 0.05, "p95": 0.2, "p99": 0.9}


@pytest.fixture(name="promtool", scope="module")
def _promtool():
    return programs.find("promtool")


def _world(requests, stage):
    """What the rules record of so many requests in five minutes."""
    world = World(minutes=15).gauge(f"{RECORD}_count:rate1m", requests / 300, **FILE, stage=stage)
    for name, value in KNOWN.items():
        world.gauge(f"{RECORD}:{name}_5m", value, **FILE, stage=stage)
    world.gauge("pipeline_stage_model:tritonobs_pipeline_calls:held", 1, cluster="c", pipeline="p", model="m")
    world.gauge("subject_slo:tritonobs_latency_target_seconds:held", 1, **FILE, stage=stage, slo="s", le="1")
    return world


def _targets(panels, board, title):
    (panel,) = [panel for name, panel in panels if (name, panel["title"]) == (board, title)]
    chosen = {"cluster": "c", "model": ".*", "version": ".*", "stage": ".*"}
    return [
        re.sub(r"\$(\w+)", lambda found: chosen.get(found[1], found[0]), target["expr"])
        for target in panel["targets"]
    ]


def _shown(promtool, tmp_path, world, expr, *samples):
    case = Case(says="few", world=world, rules=(), checks=(reads(expr, 12, *samples),))
    return run(promtool, (), case, tmp_path)


@pytest.mark.parametrize(
    ("requests", "p99", "few"),
    [
        pytest.param(100, 0.9, None, id="a hundred tell a P99"),
        pytest.param(99, None, ("P95 of few", 0.2), id="ninety-nine do not"),
        pytest.param(20, None, ("P95 of few", 0.2), id="twenty tell a P95"),
        pytest.param(19, None, ("P50 of few", 0.05), id="nineteen do not"),
    ],
)
@pytest.mark.parametrize(
    ("board", "title", "labels"),
    [
        pytest.param("pipeline", "P99 by stage, 5 min", ("stage",), id="stages"),
        pytest.param("pipeline", "P99 by stage of the called models, 5 min", ("model", "stage"), id="called"),
    ],
)
def test_a_stage_shows_the_highest_percentile_that_so_many_tell(  # noqa: PLR0917 (as parametrised)
    promtool, tmp_path, panels, board, title, labels, requests, p99, few
):
    """Of fewer than a hundred requests no P99 is drawn, and what is drawn says what it is."""
    stage = {"model": "m", "stage": "decode"}
    stage = {label: stage[label] for label in labels}
    known, of_few = _targets(panels, board, title)
    world = _world(requests, "decode")

    assert _shown(promtool, tmp_path, world, known, *([(stage, p99)] if p99 else [])) == ""
    assert (
        _shown(promtool, tmp_path, world, of_few, *([({**stage, "of": few[0]}, few[1])] if few else [])) == ""
    )


@pytest.mark.parametrize(("requests", "shown"), [(100, True), (99, False)])
def test_no_p99_of_few_is_a_share_of_a_threshold(promtool, tmp_path, panels, requests, shown):
    """Of fewer than a hundred requests none is drawn."""
    (expr,) = _targets(panels, "model", "P99 of its threshold, 5 min")

    seen = [({}, 0.9)] if shown else []
    assert _shown(promtool, tmp_path, _world(requests, "total"), expr, *seen) == ""


def test_every_p99_of_stages_on_a_board_asks_how_many_stand_behind_it(queries):
    """A new panel has the same rule; variables only list names."""
    bare = [
        (query.board, query.place)
        for query in queries
        if f"{RECORD}:p99_5m" in query.expr
        and f"{RECORD}_count:rate" not in query.expr
        and not query.place.startswith("variable ")
    ]

    assert bare == []
