"""A fleet at a glance, from two readings of its pages."""

from __future__ import annotations

import pytest

from tritonobs.clients.exposition import parse_page
from tritonobs.timings.top import Pages, TopRow, TopView, rates, sorted_rows, view_of_pages

LABELS = 'model="inspect",version="1"'


def _page(requests: float, *, beat: float = 1000.0, errors: float = 0.0, seconds: float = 0.05) -> str:
    worker = f'{LABELS},worker="inspect_0_0-7-1"'
    spent = requests * seconds
    return "\n".join(
        (
            f"nv_inference_request_success{{{LABELS}}} {requests}",
            f'nv_inference_request_failure{{{LABELS},reason="BACKEND"}} 0',
            f"nv_inference_request_duration_us{{{LABELS}}} {spent * 1e6}",
            f"nv_inference_queue_duration_us{{{LABELS}}} {requests * 2000}",
            f"nv_inference_count{{{LABELS}}} {requests}",
            f"nv_inference_exec_count{{{LABELS}}} {requests / 2}",
            f"nv_inference_pending_request_count{{{LABELS}}} 3",
            f'tritonobs_requests_total{{{worker},outcome="ok"}} {requests - errors}',
            f'tritonobs_requests_total{{{worker},outcome="error"}} {errors}',
            f"tritonobs_heartbeat_timestamp_seconds{{{worker}}} {beat}",
            f'tritonobs_stage_duration_seconds_sum{{{worker},stage="total"}} {spent}',
            f'tritonobs_stage_duration_seconds_sum{{{worker},stage="preprocess"}} {spent * 0.7}',
            f'tritonobs_stage_duration_seconds_sum{{{worker},stage="nms"}} {spent * 0.1}',
            f'tritonobs_stage_duration_seconds_bucket{{{worker},stage="total",le="0.1"}} {requests}',
            f'tritonobs_stage_duration_seconds_bucket{{{worker},stage="total",le="+Inf"}} {requests}',
        )
    )


def _pages(at: float, *texts: str) -> Pages:
    return Pages(at=at, pages={f"http://{number}": parse_page(text) for number, text in enumerate(texts)})


def _view(before: Pages, now: Pages, limits: dict[tuple[str, str], float] | None = None) -> TopView:
    return view_of_pages(before, now, limits or {})


def test_a_row_is_what_happened_between_two_looks() -> None:
    """Two replicas, ten seconds, a hundred requests each."""
    before = _pages(990.0, _page(500, beat=989.5), _page(0, beat=989.5))
    now = _pages(1000.0, _page(600, beat=999.5, errors=10), _page(100, beat=999.5))

    (row,) = _view(before, now, {("inspect", ""): 15.0}).rows

    assert (row.qps, row.limit) == (pytest.approx(20.0), 15.0)
    assert row.error_ratio == pytest.approx(0.05)
    assert (row.mean, row.queue) == (pytest.approx(0.05), pytest.approx(0.002))
    assert (row.p99, row.bounds) == (pytest.approx(0.099), (0.1, 0.1))
    assert (row.pending, row.batch) == (6.0, pytest.approx(2.0))
    assert [stage for stage, _ in row.stages] == ["preprocess", "nms"]
    assert row.silent_workers == 0


def test_a_p99_of_ten_requests_is_at_least_what_they_tell() -> None:
    """Of a hundred it is a P99."""
    before, now = _pages(990.0, _page(0)), _pages(1000.0, _page(10))

    (row,) = _view(before, now).rows

    assert (row.p99, row.known) == (None, pytest.approx(0.09))


def test_of_two_limits_the_one_that_is_used_up_more_is_shown() -> None:
    """Here the narrower one: there is one version."""
    before, now = _pages(990.0, _page(0)), _pages(1000.0, _page(10))

    (row,) = _view(before, now, {("inspect", ""): 15.0, ("inspect", "1"): 9.0}).rows

    assert (row.limit, row.limited_qps) == (9.0, pytest.approx(1.0))


def test_a_limit_of_the_model_counts_all_its_versions() -> None:
    """Two versions of six requests/s are over a limit of eight, though neither is."""
    second = _page(60).replace('version="1"', 'version="2"')
    before = _pages(990.0, _page(0), second.replace(" 60", " 0"))
    now = _pages(1000.0, _page(60), second)

    rows = _view(before, now, {("inspect", ""): 8.0, ("inspect", "1"): 7.0}).rows

    assert [(row.version, row.limit) for row in rows] == [("1", 8.0), ("2", 8.0)]
    assert [row.limited_qps for row in rows] == pytest.approx([12.0, 12.0])
    assert [row.qps for row in rows] == pytest.approx([6.0, 6.0])


@pytest.mark.parametrize("handed_over", [995.0, 1000.0])
def test_what_workers_say_is_of_the_time_between_their_beats(handed_over: float) -> None:
    """Ten requests/s, a tenth of them bad, handed over every five seconds; the look is of eight."""

    def page(at: float, beat: float) -> str:
        own = _page(10 * (beat - 900), beat=beat, errors=beat - 900)
        triton = _page(10 * (at - 900))
        lines = [line for line in triton.splitlines() if line.startswith("nv_")]
        return "\n".join((*lines, *(line for line in own.splitlines() if not line.startswith("nv_"))))

    before, now = _pages(992.0, page(992.0, 990.0)), _pages(1000.0, page(1000.0, handed_over))

    (row,) = _view(before, now).rows

    assert (row.qps, row.error_ratio) == (pytest.approx(10.0), pytest.approx(0.1))
    assert dict(row.stages) == {"preprocess": pytest.approx(0.035), "nms": pytest.approx(0.005)}


@pytest.mark.parametrize("seen", [50, 150])
def test_a_burst_between_a_look_and_a_beat_has_the_shares_and_stages_of_its_requests(seen: float) -> None:
    """Of a hundred requests that the workers hand over, Triton counted more or fewer in this look."""

    def page(requests: float, handed_over: float, beat: float) -> str:
        triton, own = _page(requests), _page(handed_over, beat=beat, errors=handed_over / 10)
        of_triton = [line for line in triton.splitlines() if line.startswith("nv_")]
        return "\n".join((*of_triton, *(line for line in own.splitlines() if not line.startswith("nv_"))))

    before, now = _pages(990.0, page(0, 0, 990.0)), _pages(1000.0, page(seen, 100, 1000.0))

    (row,) = _view(before, now).rows

    assert row.qps == pytest.approx(seen / 10)
    assert row.error_ratio is not None
    assert row.error_ratio == pytest.approx(10 / max(seen, 100)), (
        "workers hand over the rest in the next look"
    )
    assert dict(row.stages) == {"preprocess": pytest.approx(0.035), "nms": pytest.approx(0.005)}


def test_an_idle_model_has_no_latency() -> None:
    """Nothing measured is nothing, not 0 ms."""
    before, now = _pages(990.0, _page(10)), _pages(1000.0, _page(10))

    (row,) = _view(before, now).rows

    assert (row.qps, row.mean, row.p99, row.error_ratio, row.stages) == (0, None, None, None, ())


def test_a_silent_worker_is_counted() -> None:
    """Its last heartbeat is a minute old."""
    before, now = _pages(990.0, _page(10, beat=940)), _pages(1000.0, _page(20, beat=940))

    assert _view(before, now).rows[0].silent_workers == 1


def test_a_clock_that_is_wrong_kills_nobody() -> None:
    """A heartbeat an hour behind that moves is a heartbeat; two looks too close together tell nothing."""
    before, now = _pages(990.0, _page(10, beat=-2600)), _pages(1000.0, _page(20, beat=-2590))
    close = _pages(999.0, _page(10, beat=940)), _pages(1000.0, _page(20, beat=940))

    assert _view(before, now).rows[0].silent_workers == 0
    assert _view(*close).rows[0].silent_workers == 0


def test_a_worker_that_was_replaced_is_not_counted_for_ever() -> None:
    """Its series stay until the server restarts; its model instance has another worker."""
    dead = f'tritonobs_heartbeat_timestamp_seconds{{{LABELS},worker="inspect_0_0-5-0"}} 340'
    before, now = _pages(990.0, f"{_page(10, beat=990)}\n{dead}"), _pages(1000.0, f"{_page(20)}\n{dead}")

    row = _view(before, now).rows[0]

    assert (row.workers, row.silent_workers) == (1, 0)


def test_an_error_reply_and_a_failure_of_the_same_request_are_one_error() -> None:
    """Of what the model told and what Triton saw the worse counts; what was cancelled is none."""
    failed = 'nv_inference_request_failure{model="inspect",version="1",reason="%s"} %s'
    more = "\n".join((failed % ("BACKEND", "%d"), failed % ("CANCELED", "%d"), failed % ("REJECTED", "%d")))
    before = _pages(990.0, f"{_page(0)}\n{more % (0, 0, 0)}")
    now = _pages(1000.0, f"{_page(85, errors=5)}\n{more % (10, 4, 1)}")

    (row,) = _view(before, now).rows

    assert row.qps == pytest.approx(10.0)
    assert row.error_ratio == pytest.approx(0.11)


def test_a_failed_ensemble_request_counts_once() -> None:
    """Triton counts it twice as OTHER, here under version 1 and under 3."""
    failed = 'nv_inference_request_failure{model="flow",version="%s",reason="OTHER"} %s'
    good = 'nv_inference_request_success{model="flow",version="1"} %s'
    before = _pages(990.0, "\n".join((good % 0, failed % ("1", 0), failed % ("3", 0))))
    now = _pages(1000.0, "\n".join((good % 90, failed % ("1", 10), failed % ("3", 10))))

    rows = view_of_pages(before, now, {}, {"flow"}).rows

    assert [(row.version, row.qps, row.error_ratio) for row in rows] == [("1", 10.0, pytest.approx(0.1))]


def test_a_restart_counts_from_zero() -> None:
    """A counter that fell grew by what it shows now."""
    before, now = _pages(990.0, _page(500)), _pages(1000.0, _page(30))

    assert rates(before, now, "nv_inference_request_success", "model") == {("inspect",): 3.0}


def test_a_series_seen_for_the_first_time_counts_nothing() -> None:
    """Its 500 requests may be a week old."""
    before, now = _pages(990.0, "a 1"), _pages(1000.0, _page(500))

    assert rates(before, now, "nv_inference_request_success", "model") == {("inspect",): 0.0}


def _row(model: str, qps: float, p99: float | None) -> TopRow:
    return TopRow(
        model=model,
        version="1",
        qps=qps,
        limit=None,
        limited_qps=qps,
        error_ratio=None,
        mean=None,
        p99=p99,
        queue=None,
        pending=0,
        batch=None,
        stages=(),
        workers=0,
        silent_workers=0,
    )


def test_rows_are_sorted_and_chosen() -> None:
    """Largest first, what is not measured last; a filter is part of a name, in any case."""
    rows = [_row("a", 1, 0.3), _row("b", 3, None), _row("Ab", 2, 0.5)]

    assert [row.model for row in sorted_rows(rows, "qps")] == ["b", "Ab", "a"]
    assert [row.model for row in sorted_rows(rows, "p99")] == ["Ab", "a", "b"]
    assert [row.model for row in sorted_rows(rows, "model", "A")] == ["Ab", "a"]
