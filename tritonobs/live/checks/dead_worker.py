"""A model's Python process died: Triton still calls the model ready."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs import names
from tritonobs.live.cause import Cause, Evidence
from tritonobs.units import format_latency

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.live.view import View

ID = "dead_worker"
_SILENT_SECONDS = 20.0
_LABELS = (names.INSTANCE, names.MODEL, names.VERSION, names.WORKER)


def judge(view: View) -> Iterator[Cause]:
    """Workers of a served model that stopped their heartbeat while their replica still answers scrapes."""
    beats = view.rows("heartbeats", *_LABELS)
    at = view.snapshot.incident.end
    alive = {key for key, beat in beats.items() if at - beat < _SILENT_SECONDS}
    places = {(replica, model, _slot(worker)) for replica, model, _, worker in alive}
    served = {model for model, _ in view.now.servers}
    for key, beat in sorted(beats.items()):
        replica, model, version, worker = key
        if key in alive or model not in served or not view.is_up(replica):
            continue
        replaced = (replica, model, _slot(worker)) in places
        if replaced and beat < view.snapshot.incident.start:
            continue
        after = ", another took its place" if replaced else " and nobody took its place"
        yield Cause(
            check=ID,
            place=(model, version, worker),
            sentence=(
                f"worker {worker} of {model} on {replica} died "
                f"{format_latency(at - beat)} ago{after}; Triton still calls the model ready"
            ),
            confidence=0.9 if replaced else 0.95,
            evidence=(Evidence(what=f"last heartbeat of {worker}", before=None, now=beat, unit="timestamp"),),
            next_steps=(
                f"touch {model}'s model.py, or Triton sees nothing to load again",
                f"load {model} for a new worker: POST /v2/repository/models/{model}/load on {replica}",
                "look for the reason in the kernel log (out of memory?) and the end of Triton's log",
            ),
            asked=("heartbeats", "up"),
            since=beat,
        )


def _slot(worker: str) -> str:
    """The model instance a worker serves: what its label says before pid and start."""
    return worker.rsplit("-", 2)[0]
