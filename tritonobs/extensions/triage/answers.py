"""What triage answers to other parts: the timings of a saved snapshot, and a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tritonobs.clients.alertmanager import AlertmanagerClient
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.clients.triton import TritonClient
from tritonobs.extensions.triage.judge import Verdict, triage
from tritonobs.extensions.triage.saved import load_snapshot
from tritonobs.extensions.triage.snapshot import Sources, take_snapshot
from tritonobs.extensions.triage.view import View
from tritonobs.timings.measured import Timings
from tritonobs.timings.promql import Span


def readings(path: Path) -> tuple[Timings, float]:
    """What a file of `triage --save` says of the incident, and how many seconds that is.

    Raises:
        SnapshotUnusable: the file is missing, is not a snapshot, or one of another format.
    """
    snapshot = load_snapshot(path)
    return View(snapshot).now, snapshot.incident.seconds


def verdict(
    prometheus: PrometheusClient,
    alertmanager: AlertmanagerClient,
    replicas: Sequence[TritonClient],
    *,
    incident: Span,
    baseline: Span,
) -> Verdict:
    """What is wrong in `incident`, compared with `baseline`.

    Raises:
        ClientError: Prometheus did not answer.
    """
    sources = Sources(prometheus=prometheus, alertmanager=alertmanager, replicas=tuple(replicas))
    return triage(take_snapshot(sources, incident=incident, baseline=baseline))
