"""What does not answer or report any more: replicas, workers, models, metrics."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs import names, registry
from tritonobs.clients.prometheus import Target
from tritonobs.clients.triton import RepositoryEntry
from tritonobs.extensions.triage.check import LATE, check, figure, titled
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.measured import Subject, with_callees
from tritonobs.timings.outcomes import Worker
from tritonobs.timings.promql import MODEL_VERSION, Scope, labels_of, over, summed
from tritonobs.units import format_latency

# Errors of Go's network packages, as Prometheus hands them on. A status such as 404 is not one of them:
# something answers there.
_REFUSES = ("connection refused", "no such host", "no route to host", "connection reset", "EOF")
_HANGS = ("deadline exceeded", "timeout", "timed out")


@check(
    order=10,
    explains=LATE | {"dead_worker", "error_surge", "scrape_problem", "traffic_surge", "upstream_drop"},
)
def replica_down(view: View) -> Iterator[Cause]:
    """Replicas that refuse connections or hang; one whose own API answers has only lost its scrapes."""
    # By host, because the ports of the API and of the metrics differ. That distinguishes replicas only where
    # each has a host of its own, hence the comparison of numbers below.
    answering = {
        replica.address.split("://", 1)[-1].split(":")[0]
        for replica in view.snapshot.replicas
        if replica.ready
    }
    for target, address in _down(view):
        gone, hangs = (any(word in target.last_error for word in words) for words in (_REFUSES, _HANGS))
        if not (gone or hangs) or (
            address.split(":")[0] in answering and len(view.replica_targets()) == len(answering)
        ):
            continue
        yield _of_replica(
            address,
            f"replica {address} {'is down' if gone else 'hangs'}: {target.last_error}",
            0.97,
            Evidence(f"up of {address}", view.was_up(address), 0.0),
            "remove it from the load balancer, then restart it and keep its log and core file"
            if gone
            else "take a stack trace of tritonserver (gdb -p, py-spy) before restarting it",
        )
    yield from _vanished(view)


def _down(view: View) -> Iterator[tuple[Target, str]]:
    """The replicas whose last scrape failed, and their addresses."""
    for target in view.replica_targets():
        if target.health == "down":
            yield target, target.labels.get(names.INSTANCE, target.url)


def _of_replica(
    address: str,
    sentence: str,
    confidence: float,
    evidence: Evidence,
    *steps: str,
    trend: str = "up",
    ends: bool = False,
) -> Cause:
    """A cause that shows in a series of the replica which falls, or ends."""
    return Cause(
        place=("", "", address),
        sentence=sentence,
        confidence=confidence,
        evidence=(evidence,),
        next_steps=steps,
        trend=(trend, {names.INSTANCE: address}),
        falls=not ends,
        ends=ends,
        asked=(trend,),
    )


def _vanished(view: View) -> Iterator[Cause]:
    """Replicas that were scraped before and are not targets any more, that were not replaced."""
    targets = {target.labels.get(names.INSTANCE, "") for target in view.snapshot.targets}
    before = [
        replica
        for (replica,) in view.rows("replica_requests", names.INSTANCE, before=True)
        if view.is_up(replica, before=True)
    ]
    # A target that never answered is one, too: a wrong port or path is a problem of its scrapes.
    now = {target.labels.get(names.INSTANCE, "") for target in view.replica_targets()}
    now |= {replica for (replica,) in view.rows("up", names.INSTANCE) if replica in view.replicas}
    missing = sorted(set(before) - now - targets)
    # A rollout gives pods new addresses: as many as before means that they were replaced.
    if len(now) >= len(before) or "up" not in view.snapshot.now:
        return
    if missing and not now:
        # One cause for all: discovery lost them, or the job is gone.
        yield Cause(
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
        return
    for address in missing:
        yield _of_replica(
            address,
            f"replica {address} is not a scrape target any more and was not replaced",
            0.9,
            Evidence(f"up of {address}", view.was_up(address), None),
            "see why discovery lost it: was it stopped or scaled down on purpose, or is its entry gone?",
            "if it was not meant to stop, restart it; until then nothing is known about it",
            ends=True,
        )


# A dead worker does not make processors busy.
@check(
    order=20,
    explains=(LATE - {"cpu_starved"})
    | {"bad_deploy", "error_surge", "reload", "slow_replica", "upstream_drop"},
    same_model={"bad_deploy", "reload"},
)
def dead_worker(view: View) -> Iterator[Cause]:
    """Workers of a loaded model whose heartbeat stopped while their replica is scraped."""
    at = view.snapshot.incident.end
    for worker in view.roster.lost:
        beat = view.roster.last_beat(worker)
        replaced = worker.state == "replaced"
        after = "was replaced" if replaced else "was not replaced"
        subject = (worker.model, worker.version)
        yield Cause(
            place=(*subject, worker.worker),
            sentence=(
                f"worker {worker.worker} of {titled(subject)} on {worker.replica} has sent no heartbeat for "
                f"{format_latency(max(0.0, at - beat))} and {after}"
            ),
            confidence=0.9 if replaced else 0.95,
            evidence=(Evidence(f"last heartbeat of {worker.worker}", None, beat, "timestamp"),),
            next_steps=_after_death(worker),
            asked=("alive", "heartbeats", "up"),
            since=beat,
        )


def _after_death(worker: Worker) -> tuple[str, ...]:
    model = worker.model
    reason = "look for the reason in the kernel log (out of memory?) and the end of Triton's log"
    if worker.state == "replaced":
        return (reason,)
    load = f"POST /v2/repository/models/{model}/load on {worker.replica}"
    return (
        f"reload {model}: touch its model.py, because Triton loads what changed, then {load}",
        reason,
    )


# Triton keeps versions that were unloaded on purpose in its index, with this reason.
_UNLOADED = "unloaded"
_LONGEST_REASON = 300


@check(
    order=30,
    explains={"bad_deploy", "dead_worker", "error_surge", "reload", "upstream_drop"},
    same_model={"bad_deploy", "dead_worker", "reload"},
)
def model_gone(view: View) -> Iterator[Cause]:
    """Models with traffic before and no series now; versions that could not be loaded."""
    failed = dict(_failed(view))
    gone = {subject[0]: subject for subject in _gone(view)}
    for model, subject in gone.items():
        address, entry = failed.pop(model, ("", None))
        before = view.request_rate(subject, before=True)
        how = f"could not be loaded on {address}: {_reason(entry)}" if entry else "is not loaded any more"
        yield Cause(
            place=subject,
            sentence=f"{titled(subject)} {how}; it served {figure(before)} requests/s",
            confidence=0.96,
            evidence=(Evidence(f"requests to {model}", before, None, "per_second"),),
            next_steps=_after_unload(model, entry),
            trend=("requests", labels_of(subject)),
            falls=True,
            asked=("loaded", "requests"),
            ends=True,
        )
    for model, (address, entry) in failed.items():
        # Another version may serve for long already.
        serves = any(subject[0] == model for subject in view.subjects())
        yield Cause(
            place=(model, entry.version),
            sentence=f"{titled((model, entry.version))} could not be loaded on {address}: {_reason(entry)}",
            confidence=0.6 if serves else 0.9,
            next_steps=_after_unload(model, entry),
        )


def _gone(view: View) -> Iterator[Subject]:
    """Models with requests before, of which no version is loaded anywhere now."""
    there = "loaded" if "loaded" in view.snapshot.now else "requests"
    loaded = {model for (model,) in view.rows(there, names.MODEL)}
    up, scraped = view.rows("up", names.INSTANCE), view.rows("scraped", names.INSTANCE)
    # An empty response says nothing about models.
    seen = bool(loaded) or any(up.get((one,)) and scraped.get((one,)) != 0 for one in view.replicas)
    for subject in view.subjects(before=True):
        # Where no model is loaded at all, the servers may just not have been read.
        if seen and subject[0] not in loaded:
            yield subject


def _failed(view: View) -> Iterator[tuple[str, tuple[str, RepositoryEntry]]]:
    """By model: the replica that could not load a version of it, and what it says."""
    asked = view.snapshot.model
    about = with_callees({asked}, view.now.calls) if asked else None
    for replica in view.snapshot.replicas:
        for entry in replica.entries:
            if entry.ready or not entry.reason or entry.reason == _UNLOADED:
                continue
            if about is None or entry.name in about:
                yield entry.name, (replica.address, entry)


def _reason(entry: RepositoryEntry) -> str:
    """The first line of what Triton says: the lines below name the place in Python."""
    first = next((line for line in entry.reason.splitlines() if line.strip()), "")
    return first.removeprefix("Internal: ").strip().rstrip(".:;")[:_LONGEST_REASON]


def _after_unload(model: str, entry: RepositoryEntry | None) -> tuple[str, ...]:
    load = f"POST /v2/repository/models/{model}/load"
    if entry:
        return (
            f"roll back {model}, or provide what it lacks, and load it: {load}",
            "read Triton's log from the time it was loaded: it has the whole traceback",
        )
    local = ", or tritonobs up for a local stack" if "lab" in registry.NAMES else ""
    return (
        f"load it: {load}{local}",
        "see in Triton's log who unloaded it, or why it could not be loaded",
    )


def _dropped(scope: Scope, seconds: float) -> str:
    return summed(over("increase", names.FLUSH_DROPPED, scope.of(), seconds), (*MODEL_VERSION, names.REASON))


def _refused(scope: Scope, seconds: float) -> str:
    return summed(over("increase", names.FLUSH_ERRORS, scope.of(), seconds), MODEL_VERSION)


@check(
    order=250,
    explains={"dead_worker", "upstream_drop"},
    asks={"flush_dropped": _dropped, "flush_errors": _refused},
)
def scrape_problem(view: View) -> Iterator[Cause]:
    """Targets that are not scraped or give nothing, models that stopped reporting, records that were lost."""
    for target, address in _down(view):
        yield _of_replica(
            address,
            f"{address} is not scraped: {target.last_error or 'no reason given'}",
            0.9,
            Evidence(f"up of {address}", view.was_up(address), 0.0),
            f"open {target.url} from Prometheus' machine; check the port, metrics_path and firewall",
        )
    yield from _empty(view)
    yield from _lost(view)
    for subject in view.subjects():
        stage = (*subject, names.TOTAL_STAGE)
        if stage in view.before.stages and stage not in view.now.stages and view.now.requests(subject) > 0:
            yield Cause(
                place=subject,
                sentence=f"{titled(subject)} serves requests but does not report its stages any more",
                confidence=0.9,
                next_steps=(
                    f"read the log of {subject[0]} for lines of tritonobs.stage; was it deployed without it?",
                ),
                asked=("count",),
            )


def _empty(view: View) -> Iterator[Cause]:
    """Replicas that return an empty response to scrapes."""
    for target in view.replica_targets():
        address = target.labels.get(names.INSTANCE, target.url)
        was, scraped = view.both("scraped", {names.INSTANCE: address})
        # Triton answers any path but /metrics with 200 and nothing; relabelling may drop all: `up` is 1.
        if target.health == "up" and scraped == 0:
            yield _of_replica(
                address,
                f"{address} returns an empty response to scrapes: nothing is known about its models",
                0.95,
                Evidence(f"samples of {address}", was, 0.0, "count"),
                f"check the path of {target.url}: Triton returns an empty response for any but /metrics",
                trend="scraped",
            )


def _lost(view: View) -> Iterator[Cause]:
    """Records that the models' own instrumentation could not flush."""
    for name, what in (("flush_errors", "metric calls failed"), ("flush_dropped", "records were dropped")):
        for (model, version), number in view.rows(name, names.MODEL, names.VERSION).items():
            # `increase` extrapolates: less than one is none.
            if number >= 1:
                yield Cause(
                    place=(model, version),
                    sentence=f"{number:.0f} {what} in {titled((model, version))}: its stages are incomplete",
                    confidence=0.6,
                    evidence=(Evidence(what, None, number, "count"),),
                    next_steps=(
                        f"read the log of {model} for lines of tritonobs.stage; they name the first example",
                    ),
                    asked=(name,),
                )
