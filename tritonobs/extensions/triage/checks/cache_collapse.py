"""The response cache answers far fewer requests than it used to."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs.extensions.triage.check import LATE, check
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.measured import Subject
from tritonobs.timings.promql import labels_of

# As `cacheWorthRatio` of the rules: a cache that answers less was not worth having.
_USEFUL = 0.2
_FALL = 0.6


@check(order=160, explains=LATE)
def judge(view: View) -> Iterator[Cause]:
    """Models whose share of cached answers fell clearly."""
    for subject in view.subjects():
        now, before = _hit_ratio(view, subject), _hit_ratio(view, subject, before=True)
        if now is None or before is None or before < _USEFUL or now > _FALL * before:
            continue
        yield Cause(
            place=subject,
            sentence=f"the cache answers {now:.0%} of the requests to {subject[0]}, was {before:.0%}",
            confidence=0.85 if view.slower_case(subject[0]) else 0.6,
            evidence=(Evidence("share of cached answers", before, now, "ratio"),),
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
