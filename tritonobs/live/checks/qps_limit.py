"""A model gets more requests than its limit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tritonobs import names
from tritonobs.live.cause import Cause, Evidence
from tritonobs.live.wording import titled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.live.view import View

ID = "qps_limit"


def judge(view: View) -> Iterator[Cause]:
    """Limits that were exceeded: all the time, or for the busiest half minute."""
    limits = view.rows("limits", names.MODEL, names.VERSION)
    for (model, version), limit in sorted(limits.items()):
        subjects = [
            subject for subject in view.now.servers if model == subject[0] and version in {"", subject[1]}
        ]
        if version and limits.get((model, ""), math.inf) <= limit:
            # The limit of the model is passed at least as early, and by more.
            continue
        mean = sum(view.request_rate(subject) for subject in subjects)
        peak = sum(
            view.value("peak", {names.MODEL: name, names.VERSION: edition}) or 0.0
            for name, edition in subjects
        )
        if max(mean, peak) <= limit:
            continue
        before = sum(view.request_rate(subject, before=True) for subject in subjects)
        briefly = "" if mean > limit else " for a while"
        yield Cause(
            check=ID,
            place=(model, version),
            sentence=(
                f"{titled((model, version))} got {max(mean, peak):.3g} requests/s{briefly}, "
                f"its limit is {limit:.3g} requests/s"
            ),
            confidence=0.96 if mean > limit else 0.85,
            evidence=(
                Evidence(what="requests", before=before, now=mean, unit="per_second"),
                Evidence(what="busiest half minute", before=None, now=peak, unit="per_second"),
                Evidence(what="limit", before=None, now=limit, unit="per_second"),
            ),
            next_steps=(
                "find the client that sends more than agreed, and slow it down",
                f"if there is room (tritonobs limits suggest), raise the limit: tritonobs limits set {model}",
            ),
            trend=("requests", ((names.MODEL, model), *(((names.VERSION, version),) if version else ()))),
            asked=("requests", "peak", "limits"),
        )
