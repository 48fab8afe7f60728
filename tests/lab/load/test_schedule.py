"""When requests go out."""

from __future__ import annotations

import pytest

from tritonobs.extensions.lab.load.run import kind_of
from tritonobs.extensions.lab.load.schedule import Percentiles, Recorder, Segment, percentiles, send_times


@pytest.mark.parametrize(
    ("segments", "times"),
    [
        pytest.param([Segment(qps=2, seconds=2)], (0, 0.5, 1, 1.5), id="a steady rate starts at once"),
        pytest.param(
            [Segment(qps=1, seconds=2), Segment(qps=2, seconds=1)],
            (0, 1, 2, 2.5),
            id="steps follow each other",
        ),
        pytest.param([Segment(qps=0, seconds=5)], (), id="no traffic"),
        pytest.param(
            [Segment(qps=0, seconds=5), Segment(qps=1, seconds=2)], (5, 6), id="traffic after silence"
        ),
        pytest.param([Segment(qps=0, end_qps=2, seconds=2)], (0, 2**0.5), id="a ramp from nothing"),
        pytest.param([Segment(qps=2, end_qps=0, seconds=2)], (0, 2 - 2**0.5), id="a ramp to nothing"),
        pytest.param(
            [Segment(qps=0.5, seconds=3), Segment(qps=0.5, seconds=3)], (0, 2, 4), id="parts of a request"
        ),
    ],
)
def test_send_times_follow_the_segments(segments: list[Segment], times: tuple[float, ...]) -> None:
    """Even arrivals: every moment at which the area under the rate passes a whole number."""
    assert send_times(segments) == pytest.approx(times)


def test_the_number_of_requests_is_the_area_under_the_rate() -> None:
    """No request is lost or added where segments meet."""
    segments = [
        Segment(qps=7.3, seconds=10),
        Segment(qps=7.3, end_qps=31.7, seconds=9),
        Segment(qps=0.1, seconds=10),
    ]

    times = send_times(segments)

    assert len(times) == 250  # 73 + 175.5 + 1, rounded up
    assert list(times) == sorted(times)


def test_poisson_arrivals_repeat_with_the_seed_and_keep_the_rate() -> None:
    """Independent clients, reproducibly."""
    segments = [Segment(qps=100, seconds=50)]
    times = send_times(segments, arrivals="poisson", seed=1)

    assert times == send_times(segments, arrivals="poisson", seed=1)
    assert times != send_times(segments, arrivals="poisson", seed=2)
    assert len(times) == pytest.approx(5000, rel=0.06)
    assert 0 <= times[0] <= times[-1] < 50


@pytest.mark.parametrize(
    "wrong",
    [
        {"qps": -1, "seconds": 1},
        {"qps": 1, "seconds": 0},
        {"qps": float("nan"), "seconds": 1},
        {"qps": 1, "end_qps": -2, "seconds": 1},
        {"qps": 1, "seconds": float("inf")},
    ],
)
def test_a_segment_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    """At once, not in the middle of a run."""
    with pytest.raises(ValueError, match=r"is not a duration|are not rates"):
        Segment(**wrong)


def test_percentiles_are_values_that_occurred() -> None:
    """Nearest rank: p99 of a hundred values is the 99th, not a mixture."""
    assert percentiles([value / 10 for value in range(100, 0, -1)]) == Percentiles(
        mean=pytest.approx(5.05), p50=5.0, p90=9.0, p95=9.5, p99=9.9, max=10.0
    )


def test_percentiles_of_one_value_are_that_value() -> None:
    """Small runs are no special case."""
    assert percentiles([0.25]) == Percentiles(mean=0.25, p50=0.25, p90=0.25, p95=0.25, p99=0.25, max=0.25)


def test_percentiles_of_nothing_are_nothing() -> None:
    """No answer has no latency, not a latency of 0."""
    assert percentiles([]) is None


@pytest.mark.parametrize(
    ("sent_at", "achieved_qps"),
    [
        pytest.param((0.0, 0.25, 0.5, 0.75), 4.0, id="in time"),
        pytest.param((0.0, 0.6, 0.6, 0.75), 4.0, id="one in the middle was late"),
        pytest.param((0.0, 0.25, 0.5, 1.25), 3.2, id="the last was late"),
        pytest.param((), 0.0, id="none"),
    ],
)
def test_a_late_end_is_a_lower_rate(sent_at: tuple[float, ...], achieved_qps: float) -> None:
    """All that was sent, over the time it took: a second was planned."""
    recorder = Recorder(planned=4, total_seconds=1.0)
    for due, now in zip((0.0, 0.25, 0.5, 0.75), sent_at, strict=False):
        recorder.went_out(due, now, "64x64")

    result = recorder.result(model="inspect", version="", seconds=1.0, stopped=False)

    assert result.achieved_qps == pytest.approx(achieved_qps)


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        ("503", "Exceeds maximum queue size", "503 Exceeds maximum queue size"),
        ("400", "too_large: 12000x8000 is more than 4000 a side", "400 too_large: NxN is more than N a side"),
        ("404", "unknown model: 'a \"b\" c' is not found", "404 unknown model: … is not found"),
        ("500", "first line\nTraceback", "500 first line"),
        ("", "", ""),
    ],
)
def test_kind_of_leaves_out_particulars(status: str, message: str, kind: str) -> None:
    """Grouping needs the sentence, not the numbers in it."""
    assert kind_of(status, message) == kind
