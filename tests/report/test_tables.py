"""Tables of stages for people."""

from __future__ import annotations

import pytest

from tritonobs.report.console import table_text
from tritonobs.report.formats import bounded
from tritonobs.report.tables import stage_table
from tritonobs.timings.measured import PipelineCall, ServerTiming, Timing, Timings
from tritonobs.timings.stages import stage_tables


def _timings(
    stages: dict[str, Timing], *, queue: float = 0.0, calls: tuple[PipelineCall, ...] = ()
) -> Timings:
    total = stages["total"].mean or 0.0
    return Timings(
        at=0.0,
        window_seconds=60.0,
        servers={("m", "1"): ServerTiming(rate=5, request=queue + total, queue=queue)},
        stages={("m", "1", stage): timing for stage, timing in stages.items()},
        calls=calls,
    )


def _text(timings: Timings) -> str:
    return "\n\n".join(table_text(stage_table(table)) for table in stage_tables(timings))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        pytest.param(0.0005, "<1 ms", id="in the lowest bucket nobody knows where"),
        pytest.param(0.001, "<1 ms", id="nor at its bound"),
        pytest.param(0.0021, "2.1 ms", id="between bounds as computed"),
        pytest.param(10.0, ">10 s", id="above the highest it may be anything"),
        pytest.param(None, "-", id="not measured"),
    ],
)
def test_a_quantile_outside_of_the_buckets_is_no_number(seconds: float | None, text: str) -> None:
    """A mean of 49 µs beside a p50 of 0.5 ms is what made people distrust the table."""
    assert bounded(seconds, 0.001, 10.0) == text


def test_a_request_has_a_quantile_only_where_nobody_waits() -> None:
    """20 s in the queue and 2 s in the model: the model's p50 is no p50 of a request."""
    total = Timing(rate=5, mean=2.0, p50=1.73, p95=2.4, p99=2.48, lowest=0.001, highest=10.0)

    waits, serves = _text(_timings({"total": total}, queue=20.6)), _text(_timings({"total": total}))

    assert _cells(waits, "request") == ["5", "22.6 s", "-", "-", "-", "100%"]
    assert _cells(waits, "in the model")[1:5] == ["2 s", "1.73 s", "2.4 s", "2.48 s"]
    assert "no percentiles of the whole request: Triton has no histogram of queue time" in waits
    assert _cells(serves, "request")[1:5] == ["2 s", "1.73 s", "2.4 s", "2.48 s"]


def test_parts_side_by_side_share_the_time_that_passes() -> None:
    """Two calls at once of 9.5 ms each in a request of 10 ms: marked, and together no more than the whole."""
    text = _text(_timings({"total": Timing(rate=5, mean=0.010), "leaf": Timing(rate=10, mean=0.0095)}))

    assert _cells(text, "‖ leaf") == ["10", "9.5 ms", "-", "-", "-", "100%"]
    assert "Most of a request goes to leaf: 10 ms, 100% of it (side by side with others)." in text


def test_a_called_model_is_never_more_than_the_call() -> None:
    """It takes 50 ms for others and 10 ms here: its parts are scaled to the call, and marked."""
    timings = _timings(
        {"total": Timing(rate=5, mean=0.012), "leaf": Timing(rate=5, mean=0.010)},
        calls=(PipelineCall(pipeline="m", stage="leaf", model="leaf", per_request=1.0),),
    )
    servers = {
        **timings.servers,
        ("leaf", "1"): ServerTiming(rate=50, request=0.05, queue=0.01),
    }
    (table,) = stage_tables(
        Timings(at=0.0, window_seconds=60.0, servers=servers, stages=timings.stages, calls=timings.calls),
        model="m",
    )

    below = [row for row in table.rows if row.path[0] == "leaf" and len(row.path) == 2]
    assert sum(row.seconds or 0.0 for row in below) == pytest.approx(0.010)
    assert all(row.overlaps for row in below)


def test_a_backend_that_streams_is_timed_by_what_it_exports() -> None:
    """Triton's 0.65 ms end at the first response; vLLM tells 600 ms."""
    timings = Timings(
        at=0.0,
        window_seconds=60.0,
        servers={("llm", "1"): ServerTiming(rate=2, request=0.00065, queue=0.0001)},
        stages={},
        backends={
            ("llm", "1"): Timing(rate=2, mean=0.6, p50=0.6, p95=0.9, p99=1.0, lowest=0.3, highest=60.0)
        },
    )

    text = _text(timings)

    assert _cells(text, "request")[1:4] == ["600 ms", "600 ms", "900 ms"]
    assert "because Triton's counters end at the first response" in text


def test_a_decoupled_model_nobody_times_is_noted() -> None:
    """What Triton tells of it is not what a client waits for."""
    timings = Timings(
        at=0.0,
        window_seconds=60.0,
        servers={("llm", "1"): ServerTiming(rate=2, request=0.00065, queue=0.0001)},
        stages={},
        streaming=frozenset({("llm", "1")}),
    )

    assert "llm is decoupled: Triton's times end when execute() returns" in _text(timings)


def _cells(text: str, title: str) -> list[str]:
    """The cells of the row that begins so."""
    line = next(line for line in text.splitlines() if line.strip().startswith(title))
    cells = line.strip().removeprefix(title).split()
    units = {"s", "ms", "µs"}
    joined: list[str] = []
    for cell in cells:
        if cell in units:
            joined[-1] += f" {cell}"
        else:
            joined.append(cell)
    return joined
