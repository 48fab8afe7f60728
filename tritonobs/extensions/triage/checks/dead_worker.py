"""A model's Python process died or hangs."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs.extensions.triage.cause import titled
from tritonobs.extensions.triage.check import LATE, check
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.outcomes import Worker
from tritonobs.units import format_latency


# A dead worker does not make processors busy.
@check(
    order=20,
    explains=(LATE - {"cpu_starved"})
    | {"bad_deploy", "error_surge", "reload", "slow_replica", "upstream_drop"},
    same_model={"bad_deploy", "reload"},
)
def judge(view: View) -> Iterator[Cause]:
    """Workers of a loaded model whose heartbeat stopped while their replica is scraped."""
    at = view.snapshot.incident.end
    for worker in view.roster.lost:
        beat = view.roster.last_beat(worker)
        replaced = worker.state == "replaced"
        after = "another took its place" if replaced else "no other took its place"
        subject = (worker.model, worker.version)
        yield Cause(
            place=(*subject, worker.worker),
            sentence=(
                f"worker {worker.worker} of {titled(subject)} on {worker.replica} died or hangs since "
                f"{format_latency(max(0.0, at - beat))}, and {after}"
            ),
            confidence=0.9 if replaced else 0.95,
            evidence=(Evidence(f"last heartbeat of {worker.worker}", None, beat, "timestamp"),),
            next_steps=_steps(worker),
            asked=("alive", "heartbeats", "up"),
            since=beat,
        )


def _steps(worker: Worker) -> tuple[str, ...]:
    model = worker.model
    reason = "look for the reason in the kernel log (out of memory?) and the end of Triton's log"
    if worker.state == "replaced":
        return (reason,)
    load = f"POST /v2/repository/models/{model}/load on {worker.replica}"
    return (
        f"touch {model}'s model.py, or Triton sees nothing to load again",
        f"load {model} for a new worker: {load}; Triton calls a model ready whose worker is dead",
        reason,
    )
