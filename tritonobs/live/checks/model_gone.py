"""A model that served before is not loaded any more, or did not become ready."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.live.cause import Cause, Evidence
from tritonobs.live.wording import model_labels, titled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.live.view import View

ID = "model_gone"


def judge(view: View) -> Iterator[Cause]:
    """Models with traffic before and no series now; versions that could not be loaded."""
    models = {model for model, _ in view.now.servers}
    for subject in view.subjects(before=True):
        if subject[0] in models or not models:
            continue
        before = view.request_rate(subject, before=True)
        yield Cause(
            check=ID,
            place=subject,
            sentence=f"{titled(subject)} is not loaded any more; it served {before:.3g} requests/s",
            confidence=0.95,
            evidence=(
                Evidence(what=f"requests to {subject[0]}", before=before, now=None, unit="per_second"),
            ),
            next_steps=(
                f"load it: POST /v2/repository/models/{subject[0]}/load, or tritonobs up for a local stack",
                "see in Triton's log who unloaded it, or why it could not be loaded",
            ),
            trend=("requests", model_labels(subject)),
            asked=("requests",),
        )
    for replica in view.snapshot.replicas:
        for entry in replica.entries:
            if not entry.ready and entry.reason and entry.reason != "unloaded":
                yield Cause(
                    check=ID,
                    place=(entry.name, entry.version),
                    sentence=f"{entry.name} is not ready on {replica.address}: {entry.reason}",
                    confidence=0.9,
                    next_steps=("read Triton's log from the time it was loaded",),
                )
