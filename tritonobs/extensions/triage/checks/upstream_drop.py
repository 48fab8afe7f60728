"""Far fewer requests arrive than before, and the fleet is not the reason."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs.extensions.triage.cause import figure, titled
from tritonobs.extensions.triage.check import check
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.promql import labels_of
from tritonobs.timings.stages import stage_tables

_FALL = 0.4
_BUSY = 0.2


@check(order=240, explains=())
def judge(view: View) -> Iterator[Cause]:
    """Models that clients call, that still serve, but are asked far less."""
    for table in stage_tables(view.before, model=view.snapshot.model, version=view.snapshot.version):
        subject, before = (table.model, table.version), table.request.rate
        now = view.request_rate(subject)
        if before < _BUSY or now > _FALL * before or subject not in view.now.servers:
            continue
        # A rollout moves requests to another version, which is not a drop.
        moved = sum(view.request_rate(other) for other in view.now.servers if other[0] == table.model)
        if moved > _FALL * before:
            continue
        yield Cause(
            place=subject,
            sentence=(
                f"{titled(subject)} gets {figure(now)} requests/s, was {figure(before)}: "
                "its clients send fewer"
            ),
            confidence=0.8 if now < 0.05 * before else 0.6,
            evidence=(Evidence("requests", before, now, "per_second"),),
            next_steps=(
                "look upstream: the load balancer's view of this fleet, the clients, the network between",
                "if it is the usual quiet time of day, compare with --baseline yesterday",
            ),
            trend=("requests", labels_of(subject)),
            falls=True,
            asked=("requests",),
        )
