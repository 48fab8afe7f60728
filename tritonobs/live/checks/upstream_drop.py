"""Far fewer requests arrive than before, and the fleet is not the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs import names
from tritonobs.live.cause import Cause, Evidence
from tritonobs.live.stages import stage_tables
from tritonobs.live.wording import titled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.live.view import View

ID = "upstream_drop"
_FALL = 0.4
_BUSY = 0.2


def judge(view: View) -> Iterator[Cause]:
    """Entrances of the fleet that still serve, but are asked far less."""
    for table in stage_tables(view.before, model=view.snapshot.model, version=view.snapshot.version):
        subject, before = (table.model, table.version), table.request.rate
        now = view.request_rate(subject)
        if before < _BUSY or now > _FALL * before or subject not in view.now.servers:
            continue
        moved = sum(view.request_rate(other) for other in view.now.servers if other[0] == table.model)
        if moved > _FALL * before:
            continue
        yield Cause(
            check=ID,
            place=subject,
            sentence=(
                f"{titled(subject)} gets {now:.3g} requests/s, was {before:.3g}: "
                "what used to ask it does so no more"
            ),
            confidence=0.8 if now < 0.05 * before else 0.6,
            evidence=(Evidence(what="requests", before=before, now=now, unit="per_second"),),
            next_steps=(
                "look upstream: the load balancer's view of this fleet, the clients, the network between",
                "if it is the usual quiet time of day, compare with --baseline yesterday",
            ),
            trend=("requests", ((names.MODEL, table.model), (names.VERSION, table.version))),
            asked=("requests",),
        )
