"""Requests that wait in Triton's queue: for a free instance, or for a batch that does not fill."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs.clients.triton import ModelConfig
from tritonobs.extensions.triage.case import Change
from tritonobs.extensions.triage.check import check, growth, suggest_limit
from tritonobs.extensions.triage.signs import drain_steps, draining
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
_LONGER = 1.5


@check(order=190, explains={"bad_deploy", "queue_saturation", "reload"}, same_model={"bad_deploy", "reload"})
def batch_delay(view: View) -> Iterator[Cause]:
    """Queues as long as the dynamic batcher's delay, in front of batches that stay small."""
    configs = {config.name: config for replica in view.snapshot.replicas for config in replica.configs}
    for change in (change for case in view.cases for change in case.changes):
        row, config = change.now, configs.get(change.now.model)
        if row.name != QUEUE or not config or not _waits_for_batch(view, change, config):
            continue
        model = row.model
        batch_before, batch = (view.mean_batch(change.subject, before=side) for side in (True, False))
        yield Cause(
            place=(*change.subject, *row.path),
            sentence=(
                f"{model} waits {format_latency(row.timing.mean or 0.0)} for batches that do not fill "
                f"({batch or 1:.1f} of {config.max_batch_size}): its max_queue_delay is "
                f"{format_latency(config.max_queue_delay_seconds)}"
            ),
            confidence=0.85,
            evidence=(
                Evidence(f"wait for {model}", change.was.mean, row.timing.mean, "seconds"),
                Evidence(f"mean batch of {model}", batch_before, batch, "count"),
            ),
            next_steps=(
                f"lower max_queue_delay_microseconds of {model}: batches also form while instances are busy",
            ),
            trend=("queue", labels_of(change.subject)),
            asked=("queue", "inferences", "executions"),
        )


def _waits_for_batch(view: View, change: Change, config: ModelConfig) -> bool:
    row, delay = change.now, config.max_queue_delay_seconds
    if delay < _SHORTEST_DELAY_SECONDS or row.timing.mean is None or (row.share or 0.0) < _SHARE:
        return False
    batch = view.mean_batch(change.subject) or 1.0
    near = _NEAR[0] * delay <= row.timing.mean <= _NEAR[1] * delay
    grew = change.before is None or growth(row.timing.mean, change.was.mean) > _LONGER
    return near and batch < _FULL * config.max_batch_size and grew


_LONG_SECONDS = 0.005
_LONG_SHARE = 0.25
_MUCH_LONGER = 2.0
_FURTHER_ON = 0.5


@check(order=210, explains=())
def queue_saturation(view: View) -> Iterator[Cause]:
    """Queues that take a good part of a request, and more than they used to."""
    for case in view.cases:
        found = [change for change in case.changes if _is_long(change)]
        for change in found:
            row, was, labels = change.now, change.was.mean, labels_of(change.subject)
            model = row.model
            before, pending = view.both("pending", labels)
            # Its instances are busy because requests wait further on.
            further_on = any(_leads_to(change, other) for other in found)
            waits = f", was {format_latency(was)}" if was is not None else ""
            rate_before = change.before.timing.rate if change.before else None
            yield Cause(
                place=(*change.subject, *row.path),
                sentence=(
                    f"requests wait {format_latency(row.timing.mean or 0.0)} for a free instance of "
                    f"{model}{waits}: {row.share or 0:.0%} of a request to "
                    f"{case.now.model}{draining(view, labels)}"
                ),
                confidence=_FURTHER_ON if further_on else 0.8 if (pending or 0.0) >= 1 else 0.6,
                evidence=(
                    Evidence(f"wait for {model}", was, row.timing.mean, "seconds"),
                    Evidence(f"requests waiting for {model}", before, pending, "count"),
                    Evidence(f"requests to {model}", rate_before, row.timing.rate, "per_second"),
                ),
                next_steps=(
                    *drain_steps(view, labels),
                    f"add instances of {model} (instance_group) or a replica, if there is CPU or GPU left",
                    f"set a QPS limit that {model} can serve: {suggest_limit(model)}",
                ),
                trend=("queue", labels),
                asked=("queue", "pending"),
            )


def _is_long(change: Change) -> bool:
    row = change.now
    if row.name != QUEUE or (row.seconds or 0.0) < _LONG_SECONDS or (row.share or 0.0) < _LONG_SHARE:
        return False
    return change.before is None or (row.timing.mean or 0.0) > _MUCH_LONGER * (change.was.mean or 0.0)


def _leads_to(change: Change, other: Change) -> bool:
    model, further = change.now.path[:-1], other.now.path[:-1]
    return len(further) > len(model) and further[: len(model)] == model
