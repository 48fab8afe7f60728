"""A model that served before is not loaded any more, or did not become ready."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs import names
from tritonobs.clients.triton import RepositoryEntry
from tritonobs.extensions.triage.cause import figure, titled
from tritonobs.extensions.triage.check import check
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.measured import Subject, with_callees
from tritonobs.timings.promql import labels_of

# Triton keeps versions that were unloaded on purpose in its index, with this reason.
_UNLOADED = "unloaded"
_LONGEST_REASON = 300


@check(
    order=30,
    explains={"bad_deploy", "dead_worker", "error_surge", "reload", "upstream_drop"},
    same_model={"bad_deploy", "dead_worker", "reload"},
)
def judge(view: View) -> Iterator[Cause]:
    """Models with traffic before and no series now; versions that could not be loaded."""
    failed = dict(_failed(view))
    gone = {subject[0]: subject for subject in _gone(view)}
    for model, subject in gone.items():
        address, entry = failed.pop(model, ("", None))
        before = view.request_rate(subject, before=True)
        served = f"it served {figure(before)} requests/s"
        sentence = (
            f"{titled(subject)} could not be loaded on {address}: {_reason(entry)}; {served}"
            if entry
            else f"{titled(subject)} is not loaded any more; {served}"
        )
        yield Cause(
            place=subject,
            sentence=sentence,
            confidence=0.96,
            evidence=(Evidence(f"requests to {model}", before, None, "per_second"),),
            next_steps=_steps(model, entry),
            trend=("requests", labels_of(subject)),
            falls=True,
            asked=("loaded", "requests"),
            ends=True,
        )
    for model, (address, entry) in failed.items():
        # Another version may serve for long already.
        serves = any(subject[0] == model for subject in view.subjects())
        yield Cause(
            place=(model, entry.version),
            sentence=f"{titled((model, entry.version))} could not be loaded on {address}: {_reason(entry)}",
            confidence=0.6 if serves else 0.9,
            next_steps=_steps(model, entry),
        )


def _gone(view: View) -> Iterator[Subject]:
    """Models with requests before, of which no version is loaded anywhere now."""
    there = "loaded" if "loaded" in view.snapshot.now else "requests"
    loaded = {model for (model,) in view.rows(there, names.MODEL)}
    up = view.rows("up", names.INSTANCE)
    seen = bool(loaded) or any(up.get((replica,)) for replica in view.replicas)
    for subject in view.subjects(before=True):
        # Where no model is loaded at all, the servers may just not have been read.
        if seen and subject[0] not in loaded:
            yield subject


def _failed(view: View) -> Iterator[tuple[str, tuple[str, RepositoryEntry]]]:
    """By model: the replica that could not load a version of it, and what it says."""
    asked = view.snapshot.model
    about = with_callees({asked}, view.now.calls) if asked else None
    for replica in view.snapshot.replicas:
        for entry in replica.entries:
            if entry.ready or not entry.reason or entry.reason == _UNLOADED:
                continue
            if about is None or entry.name in about:
                yield entry.name, (replica.address, entry)


def _reason(entry: RepositoryEntry) -> str:
    """The first line of what Triton says: the lines below name the place in Python."""
    first = next((line for line in entry.reason.splitlines() if line.strip()), "")
    return first.removeprefix("Internal: ").strip().rstrip(".:;")[:_LONGEST_REASON]


def _steps(model: str, entry: RepositoryEntry | None) -> tuple[str, ...]:
    load = f"POST /v2/repository/models/{model}/load"
    if entry:
        return (
            f"roll back {model}, or provide what it lacks, and load it: {load}",
            "read Triton's log from the time it was loaded: it has the whole traceback",
        )
    return (
        f"load it: {load}, or tritonobs up for a local stack",
        "see in Triton's log who unloaded it, or why it could not be loaded",
    )
