"""Where the time of a request goes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tritonobs.timings.measured import PipelineCall, Timing, Timings
from tritonobs.timings.stages import COMPUTE, OTHER, QUEUE, Row, StageTable, stage_tables


def _table(timings: Timings, model: str) -> StageTable:
    (table,) = stage_tables(timings, model=model)
    return table


def _row(table: StageTable, *path: str) -> Row:
    (row,) = [row for row in table.rows if row.path == path]
    return row


def test_the_slow_stage_of_a_pipeline_is_named_in_the_model_it_calls(timings: Timings) -> None:
    """Not "preprocess is slow" but which of its stages."""
    slowest = _table(timings, "inspect").slowest

    assert slowest is not None
    assert slowest.path == ("preprocess", "decode")
    assert slowest.seconds == pytest.approx(0.040)
    assert slowest.share == pytest.approx(0.4)


def test_a_request_is_its_wait_and_its_time_in_the_model(timings: Timings) -> None:
    """100 ms: 2 in Triton's queue, 98 in the model."""
    table = _table(timings, "inspect")

    assert table.request.mean == pytest.approx(0.100)
    assert _row(table, QUEUE).seconds == pytest.approx(0.002)


def test_the_parts_of_a_request_add_up(timings: Timings) -> None:
    """Leaves are the whole request, but for rests too small for a row."""
    table = _table(timings, "inspect")

    assert sum(row.share or 0.0 for row in table.rows if row.leaf) == pytest.approx(1.0, abs=0.02)


def test_a_stage_not_every_request_passes_counts_by_how_often(timings: Timings) -> None:
    """A stage reached by nine of ten requests: 4.5 ms of each, on average."""
    assert _row(_table(timings, "inspect"), "nms").seconds == pytest.approx(0.0045)


def test_a_model_called_twice_counts_twice(timings: Timings) -> None:
    """One stage observation per call, two calls per request."""
    stage = ("inspect", "1", "detector")
    twice = replace(
        timings,
        calls=(PipelineCall(pipeline="inspect", stage="detector", model="detector", per_request=2.0),),
        stages={
            **timings.stages,
            stage: replace(timings.stages[stage], rate=20),
            ("inspect", "1", "preprocess"): replace(
                timings.stages[("inspect", "1", "preprocess")], mean=0.02
            ),
        },
    )
    table = _table(twice, "inspect")

    assert _row(table, "detector").seconds == pytest.approx(0.072)
    assert _row(table, "detector", "infer").seconds == pytest.approx(0.060)


def test_traced_requests_give_a_model_without_stages_its_percentiles(timings: Timings) -> None:
    """Of the request and of the queue; means stay Triton's, and a note says where the others come from."""
    quantiles = {"p50": 0.01, "p95": 0.03, "p99": 0.09, "lowest": 0.0001, "highest": 61.9}
    traced = replace(
        timings,
        traced={
            ("alone", "3", "request"): Timing(rate=4.9, mean=None, **quantiles),
            ("alone", "3", "queue"): Timing(rate=4.9, mean=None, **{**quantiles, "p99": 0.08}),
        },
    )
    table = _table(traced, "alone")

    assert table.request == Timing(rate=5, mean=0.020, **quantiles)
    assert (_row(table, QUEUE).timing.mean, _row(table, QUEUE).timing.p99) == (0.015, 0.08)
    assert table.notes == ("percentiles of request and phases are those of the requests that Triton traced",)


def test_traced_phases_take_the_computation_apart(timings: Timings) -> None:
    """How the time is split is theirs, how much there is Triton's counters'; each keeps its percentiles."""
    phases = {
        "input": Timing(rate=4.9, mean=0.001, p99=0.002),
        "infer": Timing(rate=4.9, mean=0.008, p99=0.019),
        "output": Timing(rate=4.9, mean=0.001, p99=0.001),
    }
    traced = replace(timings, traced={("alone", "3", name): timing for name, timing in phases.items()})
    table = _table(traced, "alone")

    assert [row.path for row in table.rows] == [
        (QUEUE,),
        (COMPUTE,),
        (COMPUTE, "(input)"),
        (COMPUTE, "(infer)"),
        (COMPUTE, "(output)"),
    ]
    infer = _row(table, COMPUTE, "(infer)")
    assert (infer.timing, infer.seconds) == (replace(phases["infer"], rate=5), pytest.approx(0.004))
    assert not _row(table, COMPUTE).leaf


def test_a_model_without_stages_shows_what_triton_knows(timings: Timings) -> None:
    """Queue and compute, no percentiles, and a note that says why."""
    table = _table(timings, "alone")

    assert [row.name for row in table.rows] == [QUEUE, COMPUTE]
    assert (table.request, table.inside) == (Timing(rate=5, mean=0.020), None)
    assert table.slowest is not None
    assert table.slowest.name == QUEUE
    assert table.notes == ("alone reports no stages of its own: means are Triton's, without percentiles",)


def test_an_ensemble_is_drawn_from_the_models_it_calls(timings: Timings) -> None:
    """It has no code of its own to time itself: its steps are the requests its models served."""
    stages = {key: timing for key, timing in timings.stages.items() if key[0] != "inspect"}
    table = _table(replace(timings, stages=stages), "inspect")

    assert [row.path for row in table.rows if len(row.path) == 1] == [
        (QUEUE,),
        ("preprocess",),
        ("detector",),
        ("nms",),
        (OTHER,),
    ]
    assert _row(table, "preprocess", "decode").share == pytest.approx(0.4)


def test_models_inside_a_shown_pipeline_have_no_table_of_their_own(timings: Timings) -> None:
    """The overview is as short as the fleet has entrances; idle models are left out."""
    assert [table.model for table in stage_tables(timings)] == ["alone", "inspect"]


def test_a_called_model_is_shown_when_its_pipeline_is_idle(timings: Timings) -> None:
    """Direct traffic is never hidden by a pipeline nobody uses."""
    quiet = replace(
        timings,
        servers={key: value for key, value in timings.servers.items() if key[0] != "inspect"},
        stages={key: value for key, value in timings.stages.items() if key[0] != "inspect"},
    )

    assert "preprocess" in [table.model for table in stage_tables(quiet)]


def test_a_model_that_also_serves_others_is_noted(timings: Timings) -> None:
    """Its means are then a mixture, and the reader must know."""
    busy = replace(timings.servers[("preprocess", "1")], rate=40)
    table = _table(replace(timings, servers={**timings.servers, ("preprocess", "1"): busy}), "inspect")

    assert table.notes == ("preprocess also serves others: 40 requests/s, 10 from inspect",)


def test_pipelines_that_call_each_other_end(timings: Timings) -> None:
    """A circle in the series (a fleet file would refuse it) is drawn once, not for ever."""
    circle = (
        *timings.calls,
        PipelineCall(pipeline="preprocess", stage="decode", model="inspect", per_request=1),
    )

    table = _table(replace(timings, calls=circle), "inspect")

    assert max(len(row.path) for row in table.rows) == 2


def test_overlapping_stages_leave_no_negative_rest(timings: Timings) -> None:
    """Stages that run side by side may take more than the whole: no row is below 0."""
    slow = replace(timings.stages[("preprocess", "1", "decode")], mean=0.5)
    table = _table(
        replace(timings, stages={**timings.stages, ("preprocess", "1", "decode"): slow}), "preprocess"
    )

    assert all((row.seconds or 0) >= 0 for row in table.rows)
    assert OTHER not in [row.name for row in table.rows]
