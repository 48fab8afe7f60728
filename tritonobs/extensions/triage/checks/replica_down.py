"""A replica does not answer: its process is gone, or it hangs."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs import names
from tritonobs.extensions.triage.check import LATE, check
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence

# Errors of Go's network packages, as Prometheus hands them on. A status such as 404 is not one of them:
# something answers there.
_GONE = ("connection refused", "no such host", "no route to host", "connection reset", "EOF")
_HANGS = ("deadline exceeded", "timeout", "timed out")


@check(
    order=10,
    explains=LATE | {"dead_worker", "error_surge", "scrape_problem", "traffic_surge", "upstream_drop"},
)
def judge(view: View) -> Iterator[Cause]:
    """Replicas that refuse connections or hang; one whose own API answers has only lost its scrapes."""
    # By host, because the ports of the API and of the metrics differ. That distinguishes replicas only where
    # each has a host of its own, hence the comparison of numbers below.
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
            place=("", "", address),
            sentence=f"replica {address} {'is gone' if gone else 'hangs'}: {target.last_error}",
            confidence=0.97,
            evidence=(Evidence(f"up of {address}", view.was_up(address), 0.0),),
            next_steps=(
                "take it out of the load balancer, then restart it and keep its log and core file"
                if gone
                else "take a stack trace of tritonserver (gdb -p, py-spy) before restarting it",
            ),
            trend=("up", {names.INSTANCE: address}),
            falls=True,
            asked=("up",),
        )
    yield from _vanished(view)


def _none_left(missing: list[str]) -> Cause:
    """One cause for all: discovery lost them, or the job is gone."""
    return Cause(
        place=("", "", ""),
        sentence=f"no replica is a scrape target any more; {len(missing)} were before",
        confidence=0.95,
        evidence=(Evidence("replicas that answered scrapes", float(len(missing)), 0.0, "count"),),
        next_steps=(
            "see Prometheus' page Status, Targets: did discovery lose them, or was the job renamed?",
            "until they are targets again nothing is known about any model",
        ),
        asked=("up",),
    )


def _vanished(view: View) -> Iterator[Cause]:
    """Replicas that were scraped before and are not targets any more, that were not replaced."""
    targets = {target.labels.get(names.INSTANCE, "") for target in view.snapshot.targets}
    before = [
        replica
        for (replica,) in view.rows("replica_requests", names.INSTANCE, before=True)
        if view.is_up(replica, before=True)
    ]
    now = [replica for (replica,) in view.rows("up", names.INSTANCE) if replica in view.replicas]
    missing = sorted(set(before) - set(now) - targets)
    # A rollout gives pods new addresses: as many as before means that they were replaced.
    if len(now) >= len(before) or "up" not in view.snapshot.now:
        return
    if missing and not now:
        yield _none_left(missing)
        return
    for address in missing:
        yield Cause(
            place=("", "", address),
            sentence=f"replica {address} is not a scrape target any more, and no other took its place",
            confidence=0.9,
            evidence=(Evidence(f"up of {address}", view.was_up(address), None),),
            next_steps=(
                "see why discovery lost it: was it stopped or scaled down on purpose, or is its entry gone?",
                "if it was not meant to stop, restart it; until then nothing is known about it",
            ),
            trend=("up", {names.INSTANCE: address}),
            ends=True,
            asked=("up",),
        )
