"""Something could not be read, so its state is unknown."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs import names
from tritonobs.extensions.triage.cause import titled
from tritonobs.extensions.triage.check import check
from tritonobs.extensions.triage.view import View, requests
from tritonobs.timings.cause import Cause, Evidence


@check(order=250, explains={"dead_worker", "upstream_drop"})
def judge(view: View) -> Iterator[Cause]:
    """Targets that are not scraped or give nothing, models that stopped reporting, records that were lost."""
    for target in view.replica_targets():
        if target.health == "down":
            address = target.labels.get("instance", target.url)
            yield Cause(
                place=("", "", address),
                sentence=f"{address} is not scraped: {target.last_error or 'no reason given'}",
                confidence=0.9,
                evidence=(Evidence(f"up of {address}", view.was_up(address), 0.0),),
                next_steps=(
                    f"open {target.url} from Prometheus' machine; check the port, metrics_path and firewall",
                ),
                trend=("up", {names.INSTANCE: address}),
                falls=True,
                asked=("up",),
            )
    yield from _empty(view)
    yield from _lost(view)
    for subject in view.subjects():
        stage = (*subject, names.TOTAL_STAGE)
        if stage in view.before.stages and stage not in view.now.stages and requests(view.now, subject) > 0:
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
    """Replicas that answer scrapes with an empty page."""
    for target in view.replica_targets():
        address = target.labels.get("instance", target.url)
        labels = {"instance": address}
        # Triton answers any path but /metrics with 200 and nothing; relabelling may drop all: `up` is 1.
        if target.health == "up" and view.value("scraped", labels) == 0:
            yield Cause(
                place=("", "", address),
                sentence=f"{address} answers scrapes with an empty page: nothing is known about its models",
                confidence=0.95,
                evidence=(
                    Evidence(
                        f"samples of {address}", view.value("scraped", labels, before=True), 0.0, "count"
                    ),
                ),
                trend=("scraped", {names.INSTANCE: address}),
                falls=True,
                next_steps=(f"compare {target.url} with Triton's page: any path but /metrics is empty",),
                asked=("scraped",),
            )


def _lost(view: View) -> Iterator[Cause]:
    """Records that the models' own instrumentation could not hand over."""
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
