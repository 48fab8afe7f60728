"""The targets of a Prometheus compared with the fleet file: the labels that rules need, and the interval.

Rules do not fail where these differ: they name no server, join nothing, or look through windows that are
too short.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress

from tritonobs import names
from tritonobs.clients.prometheus import PrometheusClient, Reading
from tritonobs.errors import ClientError
from tritonobs.findings import Finding, Source, listed, quoted
from tritonobs.plan.fleet import Plan
from tritonobs.plan.rules import selects
from tritonobs.timings.promql import one_of, selector
from tritonobs.units import format_duration, literal, parse_duration

_MOST_NAMED = 3


def disagreements(plan: Plan, prometheus: PrometheusClient, source: Source) -> Iterator[Finding]:
    """Warnings about targets of Triton, as `rules.selector` selects them, at the settings of `source`.

    What Prometheus does not answer is not compared. It never raises for that.
    """
    with suppress(ClientError):
        yield from _clusters(plan, prometheus, source)
    with suppress(ClientError):
        yield from _replicas(plan, prometheus, source)
    with suppress(ClientError):
        yield from _intervals(plan, prometheus, source)


def _clusters(plan: Plan, prometheus: PrometheusClient, source: Source) -> Iterator[Finding]:
    label = plan.rules.cluster_label
    if not label:
        return
    own = f"{label}={literal(plan.cluster)}"
    without = _up(plan, prometheus, f'{label}=""')
    if without:
        yield source.warning(
            ("rules", "cluster_label"),
            f"{_targets(without)} no label {quoted(label)}; limits, joins and absences are per {label}",
            hint=f"add {own} where Prometheus scrapes, or write rules.cluster_label: none",
        )
    others = _up(plan, prometheus, f"{label}!={literal(plan.cluster)}", f'{label}!=""')
    # One Prometheus may gather several clusters: others beside our own are right.
    if others and not _up(plan, prometheus, own):
        found = listed(sorted({reading.labels.get(label, "") for reading in others})[:_MOST_NAMED])
        yield source.warning(
            ("cluster",),
            f"no target of Triton has {own}; found {found}",
            hint="write that here, or change the label where Prometheus scrapes",
        )


def _replicas(plan: Plan, prometheus: PrometheusClient, source: Source) -> Iterator[Finding]:
    label = plan.rules.replica_label
    cluster = plan.rules.cluster_label
    own = one_of(cluster, ("", plan.cluster)) if cluster else ""
    without = _up(plan, prometheus, own, f'{label}=""')
    if without:
        yield source.warning(
            ("rules", "replica_label"),
            f"{_targets(without)} no label {quoted(label)}, by which alerts and boards name servers",
            hint="add it where Prometheus scrapes, or write the label that they have, such as instance",
        )


def _intervals(plan: Plan, prometheus: PrometheusClient, source: Source) -> Iterator[Finding]:
    written = plan.prometheus.scrape_interval_seconds
    label = plan.rules.cluster_label
    found: Counter[str] = Counter(
        target.interval
        for target in prometheus.targets()
        # Before 2.28, and beside Prometheus, there is no interval.
        if target.interval
        and selects(plan.rules.selector, target.labels)
        and (not label or target.labels.get(label, "") in {"", plan.cluster})
    )
    for interval, count in sorted(found.items()):
        with suppress(ValueError):
            if parse_duration(interval) != written:
                many = "1 target" if count == 1 else f"{count} targets"
                yield source.warning(
                    ("prometheus", "scrape_interval"),
                    f"Prometheus scrapes {many} of Triton every {interval}; "
                    f"the windows of the rules are made for {format_duration(written)}",
                    hint=f"write {interval} here, or change it where Prometheus scrapes",
                )


def _up(plan: Plan, prometheus: PrometheusClient, *matchers: str) -> tuple[Reading, ...]:
    return prometheus.query(f"up{selector(plan.rules.selector, *matchers)}")


def _targets(readings: Sequence[Reading]) -> str:
    """`2 targets of Triton (a:8002 and b:8002) have`."""
    named = sorted({reading.labels.get(names.INSTANCE, "") for reading in readings} - {""})
    first = [*named[:_MOST_NAMED], *(["…"] if len(named) > _MOST_NAMED else [])]
    which = f" ({', '.join(first)})" if first else ""
    one = len(readings) == 1
    return f"1 target of Triton{which} has" if one else f"{len(readings)} targets of Triton{which} have"
