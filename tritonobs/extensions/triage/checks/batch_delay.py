"""Requests wait for a batch that does not fill."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs.clients.triton import ModelConfig
from tritonobs.extensions.triage.case import Change
from tritonobs.extensions.triage.cause import growth
from tritonobs.extensions.triage.check import check
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.promql import labels_of
from tritonobs.timings.stages import QUEUE
from tritonobs.units import format_latency

_SHORTEST_DELAY_SECONDS = 0.002
# The first request of a batch waits the whole delay, later ones less; what is longer waits for an instance.
_NEAR = (0.4, 1.3)
_FULL = 0.5
_SHARE = 0.2


@check(order=190, explains={"bad_deploy", "queue_saturation", "reload"}, same_model={"bad_deploy", "reload"})
def judge(view: View) -> Iterator[Cause]:
    """Queues as long as the dynamic batcher's delay, in front of batches that stay small."""
    configs = {config.name: config for replica in view.snapshot.replicas for config in replica.configs}
    for case in view.cases:
        for change in case.changes:
            config = configs.get(change.now.model)
            if change.now.name == QUEUE and config and _waits_for_batch(view, change, config):
                yield _cause(view, change, config)


def _waits_for_batch(view: View, change: Change, config: ModelConfig) -> bool:
    row, delay = change.now, config.max_queue_delay_seconds
    if delay < _SHORTEST_DELAY_SECONDS or row.timing.mean is None or (row.share or 0.0) < _SHARE:
        return False
    batch = view.mean_batch((row.model, row.version)) or 1.0
    near = _NEAR[0] * delay <= row.timing.mean <= _NEAR[1] * delay
    grew = growth(row.timing.mean, change.before.timing.mean if change.before else None) > 1.5  # noqa: PLR2004 (a clear change)
    return near and batch < _FULL * config.max_batch_size and (grew or change.before is None)


def _cause(view: View, change: Change, config: ModelConfig) -> Cause:
    row, subject = change.now, (change.now.model, change.now.version)
    batch = view.mean_batch(subject)
    return Cause(
        place=(*subject, *row.path),
        sentence=(
            f"{row.model} waits {format_latency(row.timing.mean or 0.0)} for batches that do not fill "
            f"({batch or 1:.1f} of {config.max_batch_size}): its max_queue_delay is "
            f"{format_latency(config.max_queue_delay_seconds)}"
        ),
        confidence=0.85,
        evidence=(
            Evidence(
                f"wait for {row.model}",
                change.before.timing.mean if change.before else None,
                row.timing.mean,
                "seconds",
            ),
            Evidence(f"mean batch of {row.model}", view.mean_batch(subject, before=True), batch, "count"),
        ),
        next_steps=(
            f"lower max_queue_delay_microseconds of {row.model}: batches also form while instances are busy",
        ),
        trend=("queue", labels_of((row.model, row.version))),
        asked=("queue", "inferences", "executions"),
    )
