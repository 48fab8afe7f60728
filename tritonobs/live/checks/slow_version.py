"""A new version of a model is slower than the one before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.live.cause import Cause, Evidence
from tritonobs.live.view import requests
from tritonobs.live.wording import model_labels
from tritonobs.units import format_latency

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.live.timings import Timings
    from tritonobs.live.view import View

ID = "slow_version"
_FACTOR = 1.25
_NOTABLE_SECONDS = 0.002
_FEWEST_REQUESTS = 20
"""The first requests of a version are always slow."""


def judge(view: View) -> Iterator[Cause]:
    """Models whose newest version takes longer than an older one, at the same time or before."""
    for model in sorted({model for model, _ in view.subjects()}):
        new = max((version for name, version in view.subjects() if name == model), key=_number)
        old, reference = _reference(view, model, new)
        mean = _mean(view.now, model, new)
        if reference is None or mean is None:
            continue
        if mean < _FACTOR * reference or mean - reference < _NOTABLE_SECONDS:
            continue
        if requests(view.now, (model, new)) * view.snapshot.incident.seconds < _FEWEST_REQUESTS:
            continue
        fresh = requests(view.before, (model, new)) == 0
        yield Cause(
            check=ID,
            place=(model, new),
            sentence=(
                f"version {new} of {model} takes {format_latency(mean)}, version {old} "
                f"{'took' if requests(view.now, (model, old)) == 0 else 'takes'} {format_latency(reference)}"
            ),
            confidence=0.93 if fresh else 0.65,
            evidence=(
                Evidence(
                    what=f"mean of version {old}",
                    before=reference,
                    now=_mean(view.now, model, old),
                    unit="seconds",
                ),
                Evidence(
                    what=f"mean of version {new}",
                    before=_mean(view.before, model, new),
                    now=mean,
                    unit="seconds",
                ),
                Evidence(
                    what=f"requests to version {new}",
                    before=requests(view.before, (model, new)),
                    now=requests(view.now, (model, new)),
                    unit="per_second",
                ),
            ),
            next_steps=(
                f"go back to version {old} of {model} (version_policy) until it is understood",
                f"compare the stages of both: tritonobs stages --model {model}",
            ),
            trend=("requests", model_labels((model, new))),
            asked=("requests", "request", "sum"),
        )


def _reference(view: View, model: str, new: str) -> tuple[str, float | None]:
    """The next older version: as it does now, or as it did before."""
    for timings, before in ((view.now, False), (view.before, True)):
        older = [
            version for name, version in view.subjects(before=before) if name == model and version != new
        ]
        older = [version for version in older if _number(version) < _number(new)]
        if older:
            old = max(older, key=_number)
            return old, _mean(timings, model, old)
    return "", None


def _mean(timings: Timings, model: str, version: str) -> float | None:
    server = timings.servers.get((model, version))
    return server.request if server else None


def _number(version: str) -> int:
    return int(version) if version.isdecimal() else -1
