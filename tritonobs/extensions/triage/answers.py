"""What triage answers to other parts: the timings of a saved snapshot, a verdict, what follows from what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.clients.triton import TritonClient
from tritonobs.extensions.triage.calm import windows
from tritonobs.extensions.triage.checks import CHECKS
from tritonobs.extensions.triage.judge import Verdict, triage
from tritonobs.extensions.triage.saved import load_snapshot, save_snapshot
from tritonobs.extensions.triage.snapshot import take_snapshot, timings_of
from tritonobs.timings.measured import Timings
from tritonobs.timings.promql import Span


def readings(path: Path) -> tuple[Timings, float]:
    """What a file of `triage --save` says of the incident, and how many seconds that is.

    Raises:
        SnapshotUnusable: the file is missing, is not a snapshot, or one of another format.
    """
    snapshot = load_snapshot(path)
    return timings_of(snapshot.now, snapshot.incident), snapshot.incident.seconds


def follows(check: str, other: str) -> bool:
    """Whether a cause of `check` may follow from one of `other`; no for checks that are not known."""
    return other in CHECKS and check in CHECKS[other].explains


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """A verdict, and a function that saves the readings behind it in a file, as `triage --save` does."""

    verdict: Verdict
    save: Callable[[Path], None]


def verdict(
    prometheus: PrometheusClient,
    replicas: Sequence[TritonClient],
    *,
    incident: Span,
    baseline: Span | None = None,
    called: Mapping[str, str] | None = None,
    reach_seconds: float = 0.0,
) -> Looked:
    """What is wrong in `incident`, compared with `baseline`, or with the time right before.

    `called` are names of replicas by the host and port of their addresses. Where the time right before
    `incident` had problems itself, the incident begins with them, at most `reach_seconds` earlier.

    Raises:
        ClientError: Prometheus did not answer.
    """
    before = baseline or windows(incident.end, incident.seconds, "previous")[1]
    snapshot = take_snapshot(
        prometheus,
        replicas,
        incident=incident,
        baseline=before,
        called=called,
        reach_seconds=reach_seconds,
    )
    return Looked(verdict=triage(snapshot), save=partial(save_snapshot, snapshot))
