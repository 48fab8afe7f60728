"""A model was loaded anew during the incident, and its first requests were slow or failed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tritonobs import names
from tritonobs.live.cause import Cause, Evidence
from tritonobs.live.wording import titled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.live.view import View

ID = "reload"


def judge(view: View) -> Iterator[Cause]:
    """Models that got new workers between the windows, where requests were slower or failed since."""
    labels = (names.MODEL, names.VERSION, names.WORKER)
    then = set(view.rows("heartbeats", *labels, before=True))
    now = set(view.rows("heartbeats", *labels))
    known = {(model, version) for model, version, _ in then}
    born = Counter((model, version) for model, version, _ in now - then if (model, version) in known)
    for subject, workers in sorted(born.items()):
        slower, failing = view.slower_case(subject[0]) is not None, view.failing(subject[0])
        if not slower and not failing:
            continue
        yield Cause(
            check=ID,
            place=subject,
            sentence=(
                f"{titled(subject)} was loaded anew ({workers} new worker{'s' if workers > 1 else ''}): "
                "first requests after a load are slow, and caches are empty"
            ),
            confidence=0.6,
            evidence=(
                Evidence(what=f"new workers of {subject[0]}", before=None, now=float(workers), unit="count"),
            ),
            next_steps=(
                "see who deployed or reloaded it; if it settles by itself, nothing is to be done",
                f"let {subject[0]} warm up before it gets requests (model_warmup in config.pbtxt)",
            ),
            trend=(
                "stage",
                ((names.MODEL, subject[0]), (names.VERSION, subject[1]), (names.STAGE, names.TOTAL_STAGE)),
            ),
            asked=("heartbeats",),
        )
