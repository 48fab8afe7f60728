"""Spec → plan: everything inherited and derived, or every finding at its place, all at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlsplit

from tritonobs.chats.registry import chats
from tritonobs.errors import SpecInvalid
from tritonobs.findings import Finding, Severity, Step, abridged, dotted, listed, quoted
from tritonobs.outside import is_loopback
from tritonobs.plan import graph
from tritonobs.plan.check import autoscaling_findings, limit_findings, rules_findings, slo_findings
from tritonobs.plan.fleet import (
    Addresses,
    Incidents,
    Plan,
    PrometheusSettings,
    Traces,
    build_models,
    build_replicas,
    build_source,
)
from tritonobs.plan.kubernetes import build_kubernetes
from tritonobs.plan.limits import declared_limits, resolve_limits, token_limits
from tritonobs.plan.notify import DEAD_MAN, NO_RECEIVER, OWN, build_notify
from tritonobs.plan.objectives import LONGEST_PERIOD_DAYS, SHORTEST_PERIOD_DAYS, promises, shown, slo
from tritonobs.plan.rules import LONGEST_SCRAPE_SECONDS, build_rules, replica_label
from tritonobs.spec.schema import DiscoverySpec, Spec

_DAY_SECONDS = 86_400

# A hostile file can hold a circle of thousands of models, which the message would repeat.
_MOST_IN_CIRCLE = 16
_INSIDE = (".svc", ".svc.cluster.local", ".internal")
_SEVERITIES = ("critical", "warning", "info")
# Of alerts, besides those that the fleet file names or that its models give values.
_LABELS = (
    *(
        "alertname",
        "version",
        "pipeline",
        "stage",
        "slo",
        "kind",
        "reason",
        "source",
        "device",
        "vendor",
        "group",
    ),
    *("job", "instance", "namespace", "pod", "container", "service", "endpoint", "deployment", "statefulset"),
    *("horizontalpodautoscaler", "robot", "task", "model_instance", "loaded_in", "shard", "pool"),
)
_REPLICA_FIELDS = {"name": "name", "url": "http_url", "metrics_url": "metrics_url"}


def build_plan(spec: Spec, base: Path) -> Plan:
    """What the fleet file means; relative paths in it count from `base`, its folder.

    Raises:
        SpecInvalid: with every error found; warnings do not stop a plan (`check` returns them).
    """
    errors = [finding for finding in check(spec) if finding.severity is Severity.ERROR]
    if errors:
        raise SpecInvalid(errors)
    models, declared = build_models(spec), tuple(declared_limits(spec))
    public, serve_link = spec.addresses.public, spec.addresses.public.serve or spec.addresses.serve
    return Plan(
        fleet=spec.fleet,
        cluster=spec.cluster,
        replicas=build_replicas(spec),
        replica_source=build_source(spec, base),
        models=models,
        limits=resolve_limits(models, declared),
        declared_limits=declared,
        token_limits=tuple(token_limits(spec)),
        slos=tuple(slo(promise) for promise in promises(spec)),
        # `check` refuses a period or a retention that is not in whole days, so `int` cuts nothing off.
        slo_period_days=int(spec.slo_period / _DAY_SECONDS),
        limits_source=spec.limits_source,
        addresses=Addresses(
            prometheus_url=spec.addresses.prometheus,
            alertmanager_url=spec.addresses.alertmanager,
            serve_url=spec.addresses.serve,
            prometheus_link=public.prometheus or spec.addresses.prometheus,
            runbooks_link=spec.addresses.runbooks or f"{serve_link}/runbooks",
            serve_link=serve_link,
            alertmanager_link=public.alertmanager or spec.addresses.alertmanager,
            grafana_url=spec.addresses.grafana or "",
            serve_names=spec.addresses.serve_names,
        ),
        prometheus=PrometheusSettings(
            scrape_interval_seconds=spec.prometheus.scrape_interval,
            # Between two scrapes there is nothing new to evaluate, and rules count evaluations.
            evaluation_interval_seconds=max(
                spec.prometheus.scrape_interval, spec.prometheus.evaluation_interval or Decimal(0)
            ),
            retention_days=int(spec.prometheus.retention / _DAY_SECONDS),
            discovery=spec.prometheus.discovery,
            shards=spec.prometheus.shards,
            agents=spec.prometheus.agents,
        ),
        traces=Traces(
            receiver_url=spec.traces.receiver or spec.addresses.serve, forward=spec.traces.forward or ""
        ),
        incidents=Incidents(
            triage=spec.incidents.triage,
            update_seconds=spec.incidents.update_interval if spec.incidents.hold_back else Decimal(0),
            folder=base / spec.incidents.folder if spec.incidents.folder else None,
        ),
        notify=build_notify(spec.notify, spec.own_alertmanager, base),
        kubernetes=build_kubernetes(spec, base),
        rules=build_rules(spec),
    )


def check(spec: Spec) -> tuple[Finding, ...]:
    """Every finding about a spec whose fields are well-formed, in the order of the file."""
    calls = abridged(_calls(spec))
    found = [
        *_cluster(spec),
        *abridged(_replicas(spec)),
        *_links(spec),
        *_remote(spec),
        *_annotations(spec),
        *_times(spec),
        *calls,
    ]
    # Limits follow calls: a circle or a call of an unknown model would raise in their arithmetic.
    if not any(finding.severity is Severity.ERROR for finding in calls):
        found += abridged(limit_findings(spec, build_models(spec)))
    for findings in (slo_findings, rules_findings, notify_findings, autoscaling_findings):
        found += abridged(findings(spec))
    return in_order(found, spec.source.file)


def in_order(findings: Iterable[Finding], first: str) -> tuple[Finding, ...]:
    """The findings in the order of their files, those of the file called `first` before others."""

    def place(finding: Finding) -> tuple[bool, str, int, int]:
        where = finding.place
        return where.file != first, where.file, where.line, where.column

    return tuple(sorted(findings, key=place))


def _annotations(spec: Spec) -> Iterator[Finding]:
    section = spec.kubernetes
    asked = section.model_fields_set & {"watch", "annotation", "kinds", "events"} if section else ()
    if section and section.watch and asked and spec.limits_source == "rules":
        yield spec.source.warning(
            ("kubernetes", min(asked)),
            "annotations are ignored: limits_source is rules, and the rules have the limits of this file",
            hint="write limits_source: serve, or watch: false",
        )


def _cluster(spec: Spec) -> Iterator[Finding]:
    if "$" in spec.cluster:
        variable = "which Prometheus would take for a variable"
        message = f"found {quoted(spec.cluster)}; allowed is text without $, {variable}"
        yield spec.source.finding(("cluster",), message)


def _replicas(spec: Spec) -> Iterator[Finding]:
    if isinstance(spec.replicas, DiscoverySpec):
        return
    for field, decided in _REPLICA_FIELDS.items():
        first: dict[str, int] = {}
        for position, replica in enumerate(build_replicas(spec)):
            value = getattr(replica, decided)
            # A metrics_url that is left out follows from the url: the same mistake would be reported twice.
            if (
                first.setdefault(value, position) != position
                and field in spec.replicas[position].model_fields_set
            ):
                other = ("replicas", first[value])
                line = spec.source.place((*other, field)).line
                message = f"is the same as that of {dotted(spec.source.original(other))} (line {line})"
                yield spec.source.finding(("replicas", position, field), message)


def _links(spec: Spec) -> Iterator[Finding]:
    """A link in a message that only the parts can follow, in a file that knows the difference."""
    public = spec.addresses.public
    if not public.model_fields_set:
        return
    for part in sorted(set(type(public).model_fields) - public.model_fields_set):
        address = getattr(spec.addresses, part)
        host = urlsplit(address).hostname or ""
        # A name without a dot is one of a container or a Service; an IPv6 address has a colon and no dot.
        if host != "localhost" and ("." not in host or host.endswith(_INSIDE)) and ":" not in host:
            message = f"has no {part}: links in messages lead to {quoted(address)}"
            hint = "a browser outside the containers' network may not know that host"
            path = ("addresses", "public")
            yield spec.source.warning(path, message, hint=hint, key=True)


def _remote(spec: Spec) -> Iterator[Finding]:
    """A part on another machine, which would call this fleet's `serve` on its own one."""
    addresses, objects = spec.addresses, spec.kubernetes and spec.kubernetes.objects
    # In a cluster, the address is that of the Service.
    if "serve" in addresses.model_fields_set or objects:
        return
    for part in ("prometheus", "alertmanager"):
        address = getattr(addresses, part)
        if not is_loopback(urlsplit(address).hostname or ""):
            message = f"serve is left out, so {part} at {quoted(address)} would call {addresses.serve}"
            hint = "write the address at which it reaches tritonobs serve"
            yield spec.source.warning(("addresses",), message, hint=hint, key=True)


def _times(spec: Spec) -> Iterator[Finding]:
    least, most = SHORTEST_PERIOD_DAYS, LONGEST_PERIOD_DAYS
    if spec.slo_period % _DAY_SECONDS or not least * _DAY_SECONDS <= spec.slo_period <= most * _DAY_SECONDS:
        message = f"found {shown(spec.slo_period)}; allowed are whole days from {least}d to {most}d"
        yield spec.source.finding(("slo_period",), message)
    if spec.prometheus.retention % _DAY_SECONDS:
        message = f"found {shown(spec.prometheus.retention)}; allowed are whole days, like 180d"
        yield spec.source.finding(("prometheus", "retention"), message)
    elif spec.prometheus.retention < spec.slo_period:
        message = f"{shown(spec.prometheus.retention)} is shorter than slo_period ({shown(spec.slo_period)})"
        yield spec.source.finding(
            ("prometheus", "retention"), message, hint="Prometheus would forget part of the error budget"
        )
    for field in ("scrape_interval", "evaluation_interval"):
        seconds = getattr(spec.prometheus, field)
        if seconds is not None and not 1 <= seconds <= LONGEST_SCRAPE_SECONDS:
            message = f"found {shown(seconds)}; allowed is 1s to {shown(LONGEST_SCRAPE_SECONDS)}"
            hint = "to Prometheus a series is gone after 5m without a sample"
            yield spec.source.finding(("prometheus", field), message, hint=hint)
    evaluation, scrape = spec.prometheus.evaluation_interval, spec.prometheus.scrape_interval
    if evaluation is not None and 1 <= evaluation < scrape <= LONGEST_SCRAPE_SECONDS:
        message = (
            f"{shown(evaluation)} is shorter than scrape_interval; rules are evaluated every {shown(scrape)}"
        )
        yield spec.source.warning(("prometheus", "evaluation_interval"), message)


def _calls(spec: Spec) -> Iterator[Finding]:
    edges: dict[str, dict[str, Decimal]] = {}
    for name, model in spec.models.items():
        path = ("models", name)
        # A value that was refused has its finding already: it is written, and missing here.
        written = {field for field in ("pipeline", "calls") if spec.source.has((*path, field))}
        if model.pipeline and "calls" not in written:
            yield spec.source.finding(
                (*path, "pipeline"), "has no calls; write what the pipeline calls under `calls`"
            )
        if model.calls and "pipeline" not in written:
            yield spec.source.finding(
                (*path, "calls"), "needs `pipeline`; allowed are bls and ensemble", key=True
            )
        for stage, call in model.calls.items():
            called = call.model or stage
            at = (*path, "calls", stage, *(("model",) if call.model else ()))
            if called not in spec.models:
                models = listed(spec.models)
                message = f"calls {quoted(called)}, which is not a model of this fleet; models are {models}"
                yield spec.source.finding(
                    at, message, hint=spec.source.guess(called, spec.models), key=not call.model
                )
            else:
                edges.setdefault(name, {})[called] = call.per_request
    circle = graph.find_cycle(edges)
    if circle:
        shown = circle if len(circle) <= _MOST_IN_CIRCLE else (*circle[:_MOST_IN_CIRCLE], "…", circle[-1])
        message = f"models call each other in a circle: {' → '.join(shown)}"
        yield spec.source.finding(("models", circle[0], "calls"), message, key=True)
        return
    # Only without a circle is there an order in which calls can be multiplied.
    try:
        graph.calls_per_request(edges)
    except graph.TooManyCalls as error:
        yield spec.source.finding(("models", error.model, "calls"), str(error), key=True)


def notify_findings(spec: Spec) -> Iterator[Finding]:
    """Every finding about it."""
    notify = spec.notify
    own = spec.own_alertmanager.receivers if spec.own_alertmanager else ()
    # That file has its finding already, and its receivers are not known.
    unread = notify.alertmanager_file is not None and spec.own_alertmanager is None
    ours = [f"{kind}/{name}" for kind in (*chats(), "webhook") for name in getattr(notify, kind)]
    receivers = dict.fromkeys((*ours, *(f"{OWN}{name}" for name in own)))
    for index, route in enumerate(notify.routes):
        at: tuple[Step, ...] = ("notify", "routes", index)
        for position, receiver in enumerate(route.to):
            if receiver.startswith(OWN) and unread:
                continue
            yield from _known(spec, (*at, "to", position), receiver, receivers, "a receiver")
        yield from _matched(spec, at, route.match)
    yield from _never_reached(spec)
    chat_of: dict[str, str] = {}
    for chat, name, robot in notify.robots():
        for position, mention in enumerate(getattr(robot, "mention", ())):
            yield from _matched(spec, ("notify", chat.name, name, "mention", position), mention.match)
        others = [other for _, other, _ in notify.robots() if other != name]
        for position, other in enumerate(robot.failover):
            yield from _known(
                spec, ("notify", chat.name, name, "failover", position), other, others, "another robot"
            )
        if chat_of.setdefault(name, chat.name) != chat.name:
            # Series, failover and `notify test` name a robot without its chat.
            message = f"is the name of a robot of notify.{chat_of[name]}, too; give each a name of its own"
            yield spec.source.finding(("notify", chat.name, name), message, key=True)
    yield from _clashes(spec, own, {*ours, NO_RECEIVER, DEAD_MAN})


def _matched(spec: Spec, at: tuple[Step, ...], match: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    """Labels and values that look as if no alert had them: people would wait for a message in vain."""
    models = spec.models.values()
    written = {
        "severity": _SEVERITIES,
        "model": list(spec.models),
        "team": [one for one in (spec.defaults.team, *(model.team for model in models)) if one],
        "tier": [one for one in (spec.defaults.tier, *(model.tier for model in models)) if one],
    }
    known = sorted({*_LABELS, *written, replica_label(spec), spec.rules.cluster_label})
    for label, values in match.items():
        path = (*at, "match", label)
        # Targets and external labels may bring others, so only what looks misspelt is reported.
        if label not in known and (guess := spec.source.guess(label, known)):
            message = "is not a label of our alerts"
            hint = f"{guess} correct where your Prometheus adds it"
            yield spec.source.warning(path, message, hint=hint, key=True)
        allowed = dict.fromkeys(written.get(label, values))
        for position, value in enumerate(values):
            if value not in allowed:
                what = f"which is not a {label} of this fleet"
                message = f"found {quoted(value)}, {what}; known are {listed(allowed)}"
                hint = spec.source.guess(value, allowed)
                place = (*path, position)
                yield spec.source.warning(place, message, hint=hint)


def _never_reached(spec: Spec) -> Iterator[Finding]:
    """Routes below one that takes every alert."""
    routes = spec.notify.routes
    for place, route in enumerate(routes):
        if not route.match and not route.continue_ and place + 1 < len(routes):
            last = spec.source.original(("notify", "routes", place))
            yield spec.source.warning(
                ("notify", "routes", place + 1),
                f"no alert reaches this route and those below it: {dotted(last)} takes every alert",
                hint="put that one last, or write continue: true there",
            )
            return


def _known(
    spec: Spec, path: tuple[Step, ...], name: str, allowed: Collection[str], what: str
) -> Iterator[Finding]:
    if name not in allowed:
        message = f"found {quoted(name)}, which is not {what}; allowed are {listed(allowed)}"
        yield spec.source.finding(path, message, hint=spec.source.guess(name, allowed))


def _clashes(spec: Spec, own: Iterable[str], ours: Collection[str]) -> Iterator[Finding]:
    for name in own:
        if name in ours:
            message = f"has a receiver {quoted(name)}, which is the name of one of ours; rename it"
            yield spec.source.finding(("notify", "alertmanager_file"), message)
