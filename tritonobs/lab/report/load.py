"""A run of load as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tritonobs.lab.load.result import LoadResult, Percentiles, Progress
from tritonobs.report.console import Column, Line, Table, progress_bar
from tritonobs.report.formats import latency, rate

_LATE_SECONDS = 0.01


def load_tables(result: LoadResult) -> tuple[Table, ...]:
    """What was sent and what came of it; how long it took; what went wrong."""
    tables = [_counts(result), _latencies(result)]
    if result.errors:
        tables.append(_errors(result))
    return tuple(tables)


@contextmanager
def load_progress(what: str = "load") -> Iterator[Callable[[Progress], None]]:
    """A bar on stderr; what it gives is an `on_progress` for `run_load`."""
    with progress_bar(what) as show:
        yield lambda now: show(
            min(1.0, now.elapsed_seconds / now.total_seconds),
            f"sent {now.sent}, ok {now.ok}, errors {now.errors}, waiting {now.in_flight}",
        )


def _counts(result: LoadResult) -> Table:
    subject = f"{result.model} version {result.version}" if result.version else result.model
    ended = ", stopped early" if result.stopped else ""
    whole = Line(
        cells=("all", str(result.sent), str(result.ok), str(result.failed)),
        style="red" if result.failed else "bold",
    )
    kinds = [
        Line(cells=(image.kind, str(image.sent), str(image.ok), str(image.errors))) for image in result.images
    ]
    return Table(
        title=f"{subject}: {rate(result.achieved_qps)} requests/s for {result.seconds:.1f} s{ended}",
        columns=(
            Column(title="kind", wrap=True),
            Column(title="sent", right=True),
            Column(title="ok", right=True),
            Column(title="errors", right=True),
        ),
        lines=(*(kinds if len(kinds) > 1 else ()), whole),
    )


def _latencies(result: LoadResult) -> Table:
    def line(name: str, values: Percentiles | None) -> Line:
        numbers = (
            (values.mean, values.p50, values.p90, values.p95, values.p99, values.max)
            if values
            else (None,) * 6
        )
        return Line(cells=(name, *map(latency, numbers)))

    late = result.lateness
    notes = () if late is None or late.p99 <= _LATE_SECONDS else (_lateness(late),)
    titles = ("mean", "p50", "p90", "p95", "p99", "max")
    return Table(
        title="latency of good answers",
        columns=(Column(title="counted from"), *(Column(title=title, right=True) for title in titles)),
        lines=(line("the schedule", result.latency_from_schedule), line("sending", result.latency_from_send)),
        notes=notes,
    )


def _lateness(late: Percentiles) -> str:
    return (
        f"This machine sent some requests up to {latency(late.max)} late (p99 {latency(late.p99)}): "
        "believe the latency from the schedule."
    )


def _errors(result: LoadResult) -> Table:
    return Table(
        title="errors",
        columns=(
            Column(title="count", right=True),
            Column(title="kind (N and … are placeholders)", wrap=True),
        ),
        lines=tuple(Line(cells=(str(error.count), error.kind)) for error in result.errors),
        notes=(f"for example: {result.errors[0].example}",),
    )
