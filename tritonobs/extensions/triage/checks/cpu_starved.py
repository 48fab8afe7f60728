"""A machine's processors are all busy, and many stages take longer at once."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs import names
from tritonobs.extensions.triage.check import check
from tritonobs.extensions.triage.signs import taken
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.stages import QUEUE

_GROWTH = 1.2
_MOST = 0.6


# On busy processors one part slows down most, and is not the cause.
@check(order=220, explains={"queue_saturation", "slow_machine", "slow_stage"})
def judge(view: View) -> Iterator[Cause]:
    """Machines that became fully busy while most stages of a slower model slowed down together."""
    # Triton reads /proc/stat: all cores of the host, not those of its container (server#7506).
    spread = max((_slowed(view, case.now.model) for case in view.cases if case.slower), default=0.0)
    for replica, (usual, busy) in taken(view).items():
        if spread >= _MOST:
            yield Cause(
                place=("", "", replica),
                sentence=(
                    f"the processors of {replica} are {busy:.0%} busy, were {usual:.0%}, and {spread:.0%} "
                    "of the stages slowed down together"
                ),
                confidence=0.75,
                evidence=(
                    Evidence(f"CPU use of {replica}", usual, busy, "ratio"),
                    Evidence("stages that slowed down", None, spread, "ratio"),
                ),
                next_steps=(
                    "see what else runs there (top): a neighbour, a build, a log shipper",
                    "see whether model instances and their threads outnumber the cores",
                ),
                trend=("cpu", {names.INSTANCE: replica}),
                asked=("cpu",),
            )


def _slowed(view: View, model: str) -> float:
    """The share of a slower model's stages that take longer."""
    case = view.slower_case(model)
    changes = (
        [change for change in case.changes if change.before and change.now.name != QUEUE] if case else []
    )
    return sum(change.growth > _GROWTH for change in changes) / len(changes) if changes else 0.0
