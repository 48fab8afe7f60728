"""Percentiles of stages with enough requests; with fewer, the highest percentile that is known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from signals import Signal

_SERIES: Final = "model_version_stage:tritonobs_stage_duration_seconds"
# One in a hundred above the P99 takes a hundred requests, one in twenty above the P95 twenty.
_FEWEST: Final = {"p50": 0, "p95": 20, "p99": 100}
GAP: Final = {
    "p50": "",
    "p95": "A gap means fewer than 20 requests in five minutes. ",
    "p99": "A gap means fewer than 100 requests in five minutes. ",
}
EMPTY: Final = "fewer than 100 requests in 5 min"
FEW: Final = (
    "With fewer than 100 requests in five minutes the P95 is shown, with fewer than 20 the median, as "
    "`P95 of few` and `P50 of few`. "
)


def told(name: str, chosen: str) -> str:
    """The percentile of these series, where it is known."""
    record = f"{_SERIES}:{name}_5m{{{chosen}}}"
    return f"{record}\n  and\n{requests(chosen)} > {_FEWEST[name] - 0.5}" if _FEWEST[name] else record


def fewer(chosen: str) -> str:
    """The highest percentile that is known where the P99 is not; the label `of` says which."""
    p95 = f"({told('p95', chosen)} < {_FEWEST['p99'] - 0.5})"
    p50 = f"({_SERIES}:p50_5m{{{chosen}}}\n  and\n{requests(chosen)} < {_FEWEST['p95'] - 0.5})"
    return f"{_called(p95, 'P95 of few')}\n  or\n{_called(p50, 'P50 of few')}"


def of_few(signal: Signal, by: str, chosen: str, legend: str) -> Signal:
    """What is drawn where a P99 has a gap, in the same colours."""
    return replace(
        signal,
        expr=f"max by ({by}, of) (\n{fewer(chosen)}\n)",
        # The end of a legend is what chooses its colour.
        legend=f"{{{{of}}}} {legend}",
        empty="",
    )


def requests(chosen: str) -> str:
    """How many there were in the five minutes of the records."""
    # Means and counts of one stage are recorded together, so that both are of the same minutes.
    return f"avg_over_time({_SERIES}_count:rate%(medium)s{{{chosen}}}[5m]) * 300"


def _called(expr: str, name: str) -> str:
    return f'label_replace({expr}, "of", "{name}", "", "")'
