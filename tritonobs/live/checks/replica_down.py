"""A replica does not answer: its process is gone, or it hangs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.live.cause import Cause, Evidence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.live.view import View

ID = "replica_down"
_GONE = ("connection refused", "no such host", "no route to host", "connection reset", "EOF")
_HANGS = ("deadline exceeded", "timeout", "timed out")


def judge(view: View) -> Iterator[Cause]:
    """Replicas that refuse connections or hang; one whose own API answers has only lost its scrapes."""
    answering = {
        replica.address.split("://", 1)[-1].split(":")[0]
        for replica in view.snapshot.replicas
        if replica.ready
    }
    for target in view.replica_targets():
        if target.health != "down":
            continue
        address = target.labels.get("instance", target.url)
        gone, hangs = (any(word in target.last_error for word in words) for words in (_GONE, _HANGS))
        if not (gone or hangs) or (
            address.split(":")[0] in answering and len(view.replica_targets()) == len(answering)
        ):
            continue
        yield Cause(
            check=ID,
            place=("", "", address),
            sentence=f"replica {address} {'is gone' if gone else 'hangs'}: {target.last_error}",
            confidence=0.97,
            evidence=(Evidence(what=f"up of {address}", before=view.was_up(address), now=0.0),),
            next_steps=(
                "take it out of the load balancer, then restart it and keep its log and core file"
                if gone
                else "take a stack trace of tritonserver (gdb -p, py-spy) before restarting it",
            ),
            asked=("up",),
        )
