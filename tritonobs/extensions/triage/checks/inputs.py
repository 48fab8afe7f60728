"""What requests bring: larger inputs, more boxes, inputs that the cache does not know."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs import names
from tritonobs.extensions.triage.case import Case, Change, growth
from tritonobs.extensions.triage.check import LATE, check, figure, stage_labels, timing_evidence
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence, Unit
from tritonobs.timings.measured import Subject
from tritonobs.timings.promql import labels_of
from tritonobs.units import format_latency

_GROWTH = 1.3
# A few huge images may hardly move the mean.
_TAIL_GROWTH = 2.0
_SLOWER = 1.1
_UNITS: dict[str, Unit] = {"megapixels": "megapixels", "bytes": "bytes", "boxes": "boxes"}
_BOXES = "boxes"
_MORE_BOXES, _SLOWER_BY_BOXES = 1.5, 1.2


def _sizes(view: View) -> Iterator[tuple[Subject, Case, Change, str, Evidence]]:
    """Every stage that takes longer, with the mean size before and now of what it is given."""
    for subject, stage, kind in view.sized():
        if slower := view.slower_stage(subject[0], stage):
            now, usual = view.mean_size(subject, stage, kind), view.usual_size(subject, stage, kind)
            mean = Evidence(f"mean {kind} into {stage}", usual, now, _UNITS.get(kind, ""))
            yield subject, *slower, kind, mean


@check(order=60, explains=LATE)
def larger_inputs(view: View) -> Iterator[Cause]:
    """Stages whose inputs and whose time grew together."""
    for subject, case, change, kind, mean in _sizes(view):
        row = change.now
        tail_before, tail_now = view.tail_size(subject, row.name, kind)
        larger = growth(mean.now, mean.before) >= _GROWTH
        grew = larger or growth(tail_now, tail_before) >= _TAIL_GROWTH
        if kind == _BOXES or not grew or change.added_seconds <= 0:
            continue
        if larger:
            sizes = f"{figure(mean.now or 0)} {kind} on average (was {figure(mean.before or 0)})"
        else:
            sizes = f"one in a hundred has {figure(tail_now or 0)} {kind} or more"
            sizes += f" (was {figure(tail_before or 0)})"
        # Larger inputs take time in proportion to their size, at most to its square.
        fits = _SLOWER < change.growth <= max(growth(mean.now, mean.before), 2.0) ** 2
        yield Cause(
            place=(*change.subject, *row.path),
            sentence=(
                f"{row.model} / {row.name} gets larger inputs: {sizes}, and a request to {case.now.model} "
                f"takes {format_latency(case.added_seconds)} longer"
            ),
            confidence=0.95 if fits else 0.7,
            evidence=(
                mean,
                Evidence(f"p99 {kind} into {row.name}", tail_before, tail_now, mean.unit),
                *timing_evidence(change),
            ),
            next_steps=(
                "find the client that sends them, by its address in the proxy's log or the request ids",
                f"refuse needless sizes: lower the size limit in {row.model}'s parameters (max_side)",
            ),
            trend=("size", {**stage_labels(row), names.KIND: kind}),
            asked=("size_sum", "size_count", "size_p99", "sum"),
        )


@check(order=70, explains=LATE)
def more_boxes(view: View) -> Iterator[Cause]:
    """Stages that count boxes, where boxes and time grew together."""
    for subject, case, change, kind, mean in _sizes(view):
        row = change.now
        if kind != _BOXES or mean.now is None or growth(mean.now, mean.before) < _MORE_BOXES:
            continue
        if change.growth < _SLOWER_BY_BOXES:
            continue
        model = subject[0]
        yield Cause(
            place=(*subject, *row.path),
            sentence=(
                f"{model} / {row.name} gets {mean.now:.0f} boxes per image (was {mean.before or 0:.0f}): "
                f"it takes {change.growth:.1f} times as long"
            ),
            confidence=0.95 if change.added_seconds > 0.3 * case.added_seconds else 0.75,
            evidence=(mean, *timing_evidence(change)),
            next_steps=(
                "look at the images of that time: texture, noise or a camera out of focus give false boxes",
                f"raise the confidence threshold of {model} or lower max_candidates until the cause is gone",
            ),
            trend=("size", {**stage_labels(row), names.KIND: kind}),
            asked=("size_sum", "size_count", "sum"),
        )


# As `cacheWorthRatio` of the rules: a cache that answers less was not worth having.
_USEFUL = 0.2
_FALL = 0.6


@check(order=160, explains=LATE)
def cache_collapse(view: View) -> Iterator[Cause]:
    """Models whose cache hit ratio fell clearly."""
    for subject in view.subjects():
        now, before = _hit_ratio(view, subject), _hit_ratio(view, subject, before=True)
        if now is None or before is None or before < _USEFUL or now > _FALL * before:
            continue
        yield Cause(
            place=subject,
            sentence=f"the cache hit ratio of {subject[0]} is {now:.0%} (was {before:.0%})",
            confidence=0.85 if subject[0] in view.slower_cases else 0.6,
            evidence=(Evidence("cache hit ratio", before, now, "ratio"),),
            next_steps=(
                "see whether clients send more different inputs than before, or a reload emptied the cache",
                "look at nv_cache_num_evictions: a cache that is too small forgets early (--cache-config)",
            ),
            trend=("hits", labels_of(subject)),
            falls=True,
            asked=("cache_hits", "cache_misses"),
        )


def _hit_ratio(view: View, subject: Subject, *, before: bool = False) -> float | None:
    labels = labels_of(subject)
    hits, misses = (view.value(name, labels, before=before) for name in ("cache_hits", "cache_misses"))
    return hits / (hits + misses) if hits is not None and misses is not None and hits + misses > 0 else None
