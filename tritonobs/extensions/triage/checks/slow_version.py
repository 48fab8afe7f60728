"""A new version of a model is slower than the one before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tritonobs.extensions.triage.cause import stages_command
from tritonobs.extensions.triage.check import LATE, check
from tritonobs.extensions.triage.view import View, requests
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.measured import Timings
from tritonobs.timings.promql import labels_of
from tritonobs.units import format_latency, version_order

_FACTOR = 1.25
_NOTABLE_SECONDS = 0.002
_FEWEST_REQUESTS = 20
"""The first requests of a version are always slow."""


@check(order=130, explains=LATE | {"bad_deploy", "reload"}, same_model={"bad_deploy"})
def judge(view: View) -> Iterator[Cause]:
    """Models whose newest version takes longer than an older one, at the same time or before."""
    now, before = _versions(view), _versions(view, before=True)
    for model, versions in sorted(now.items()):
        new = max(versions, key=version_order)
        old, reference = _reference(view, model, new, versions, before.get(model, ()))
        mean = _mean(view.now, model, new)
        if reference is None or mean is None:
            continue
        if mean < _FACTOR * reference or mean - reference < _NOTABLE_SECONDS:
            continue
        if requests(view.now, (model, new)) * view.snapshot.incident.seconds < _FEWEST_REQUESTS:
            continue
        # A version that served in the baseline as well may have been slower all along.
        fresh = requests(view.before, (model, new)) == 0
        yield Cause(
            place=(model, new),
            sentence=(
                f"version {new} of {model} takes {format_latency(mean)}, version {old} "
                f"{'took' if requests(view.now, (model, old)) == 0 else 'takes'} {format_latency(reference)}"
            ),
            confidence=0.93 if fresh else 0.65,
            evidence=(
                Evidence(f"mean of version {old}", reference, _mean(view.now, model, old), "seconds"),
                Evidence(f"mean of version {new}", _mean(view.before, model, new), mean, "seconds"),
                Evidence(
                    f"requests to version {new}",
                    requests(view.before, (model, new)),
                    requests(view.now, (model, new)),
                    "per_second",
                ),
            ),
            next_steps=(
                f"roll back: go back to version {old} of {model} (version_policy) until it is understood",
                f"compare the stages of both: {stages_command(model)}",
            ),
            trend=("requests", labels_of((model, new))),
            asked=("requests", "request", "sum"),
        )


def _versions(view: View, *, before: bool = False) -> dict[str, list[str]]:
    versions: dict[str, list[str]] = {}
    for model, version in view.subjects(before=before):
        versions.setdefault(model, []).append(version)
    return versions


def _reference(
    view: View, model: str, new: str, now: Sequence[str], before: Sequence[str]
) -> tuple[str, float | None]:
    """The next older version: as it does now, or as it did before."""
    for timings, versions in ((view.now, now), (view.before, before)):
        older = [version for version in versions if version_order(version) < version_order(new)]
        if older:
            old = max(older, key=version_order)
            return old, _mean(timings, model, old)
    return "", None


def _mean(timings: Timings, model: str, version: str) -> float | None:
    server = timings.servers.get((model, version))
    return server.request if server else None
