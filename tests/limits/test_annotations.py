"""Annotations followed through a cluster's bad days, and what the daemon makes of them."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from support.kubernetes import KubernetesDouble
from tritonobs.clients.kubernetes import KubernetesClient
from tritonobs.clients.kubernetes_api import KubernetesApi
from tritonobs.limits.annotations import AnnotationFeed
from tritonobs.limits.in_force import LiveLimits
from tritonobs.limits.log import ANNOTATION, Author, LimitsLog
from tritonobs.plan.build import build_plan
from tritonobs.plan.fleet import Model, QpsLimit
from tritonobs.plan.kubernetes import ApiServer, WatchedKind, usual_kinds
from tritonobs.plan.limits import limits_at
from tritonobs.spec.load import load_fleet
from tritonobs.tasks import Supervisor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tritonobs.plan.fleet import Plan
    from tritonobs.plan.limits import Annotated

AUTHOR = Author(who="unknown", source=ANNOTATION)
QPS = "tritonobs.dev/max-qps"
MODELS = (Model(name="inspect", versions=("1",)), Model(name="nms", versions=()))
PATIENCE_SECONDS = 20


def _becomes(look: Callable[[], object], wanted: object) -> None:
    """Wait until `look()` gives what is wanted; the assertion shows the last thing it gave."""
    ends = time.monotonic() + PATIENCE_SECONDS
    while (found := look()) != wanted and time.monotonic() < ends:
        time.sleep(0.02)
    assert found == wanted


@pytest.fixture(name="cluster")
def _cluster() -> Iterator[KubernetesDouble]:
    with KubernetesDouble() as double:
        yield double


@pytest.fixture(name="portal")
def _portal() -> Iterator[BlockingPortal]:
    """An event loop of its own, as the daemon has one."""
    with start_blocking_portal() as portal:
        yield portal


@pytest.fixture(name="live_of")
def _live_of(portal: BlockingPortal) -> Iterator[Callable[..., LiveLimits]]:
    supervisors: list[Supervisor] = []

    def start(path: Path, plan: Plan) -> LiveLimits:
        def make() -> LiveLimits:
            supervisors.append(Supervisor())
            return LiveLimits(path, plan, supervisors[-1])

        return portal.call(make)

    yield start
    for supervisor in supervisors:
        portal.call(supervisor.close)


@pytest.fixture(name="feed_of")
def _feed_of(
    cluster: KubernetesDouble, tmp_path: Path, portal: BlockingPortal
) -> Iterator[Callable[[], AnnotationFeed]]:
    (tmp_path / "token").write_text(cluster.token)
    supervisor: Supervisor = portal.call(Supervisor)
    log = LimitsLog(tmp_path / "log")

    def note(said: Annotated) -> None:
        with log.turn():
            log.record(said.limits, AUTHOR, datetime.now(timezone.utc), said.writers)

    def start() -> AnnotationFeed:
        server = ApiServer(url=cluster.url, token_file=tmp_path / "token", ca_file=tmp_path / "ca")
        api = KubernetesApi(server)
        clients = {"Deployment": KubernetesClient(api, usual_kinds()[0])}
        feed = AnnotationFeed(clients, MODELS, lambda: log, note)
        portal.call(supervisor.keep, "annotations", feed.followers["Deployment"].follow)
        return feed

    yield start
    portal.call(supervisor.close)


def _limits(feed: AnnotationFeed) -> Callable[[], dict[str, str]]:
    return lambda: {f"{model}@{version}": f"{limit.qps:f}" for (model, version), limit in feed.limits.items()}


def test_a_change_is_in_force_and_in_the_log(cluster, feed_of, tmp_path):
    """Added, changed, taken away: each with who wrote it."""
    feed = feed_of()
    cluster.annotate("shop", "inspect", {QPS: "8"}, manager="helm")
    _becomes(_limits(feed), {"inspect@": "8"})
    cluster.annotate("shop", "inspect", {QPS: "12", f"{QPS}.1": "3"}, manager="kubectl-annotate")
    _becomes(_limits(feed), {"inspect@": "12", "inspect@1": "3"})
    cluster.delete("shop", "inspect")
    _becomes(_limits(feed), {})

    log = LimitsLog(tmp_path / "log")
    _becomes(lambda: len(log.read()[0]), 5)
    entries, findings = log.read()
    assert findings == ()
    assert [(entry.who, entry.field.split()[-1], entry.old, entry.new) for entry in entries] == [
        ("helm", QPS, "", "8"),
        ("kubectl-annotate", QPS, "8", "12"),
        ("kubectl-annotate", f"{QPS}.1", "", "3"),
        ("unknown", QPS, "12", ""),
        ("unknown", f"{QPS}.1", "3", ""),
    ]
    assert {entry.source for entry in entries} == {ANNOTATION}


TROUBLE = [
    pytest.param(lambda cluster: cluster.break_watches(), id="the watch breaks in the middle of a line"),
    pytest.param(lambda cluster: cluster.forget(), id="the history is compacted"),
    pytest.param(
        lambda cluster: (cluster.refuse(500, 429), cluster.break_watches()), id="the server is overloaded"
    ),
    pytest.param(lambda cluster: (cluster.refuse(410), cluster.break_watches()), id="the list is gone"),
]


@pytest.mark.parametrize("trouble", TROUBLE)
def test_what_changes_during_trouble_is_not_missed(cluster, feed_of, trouble):
    """The limit stays while the feed recovers, and then is the newest one."""
    cluster.annotate("shop", "inspect", {QPS: "8"})
    feed = feed_of()
    _becomes(_limits(feed), {"inspect@": "8"})
    assert cluster.wait_for(lambda one: any("watch" in asked for asked in one.asked), timeout_seconds=10)

    trouble(cluster)
    cluster.annotate("shop", "inspect", {QPS: "9"})

    _becomes(_limits(feed), {"inspect@": "9"})
    _becomes(lambda: feed.connected, wanted=True)


def test_a_spoilt_annotation_keeps_the_last_good_limit(cluster, feed_of):
    """And is counted, so that an alert can tell."""
    cluster.annotate("shop", "inspect", {QPS: "8"})
    feed = feed_of()
    _becomes(_limits(feed), {"inspect@": "8"})
    cluster.annotate("shop", "inspect", {QPS: "eight"})

    _becomes(lambda: feed.refused, 1)
    assert _limits(feed)() == {"inspect@": "8"}


def test_limits_outlive_the_cluster_and_a_restart(cluster, feed_of):
    """With the API server gone, a new daemon begins with what the log ends with."""
    cluster.annotate("shop", "inspect", {QPS: "8"})
    first = feed_of()
    _becomes(_limits(first), {"inspect@": "8"})
    first.close()
    cluster.token = "changed, so that nobody is let in"

    second = feed_of()

    _becomes(_limits(second), {"inspect@": "8"})
    assert not second.connected


def test_after_a_restart_limits_of_a_kind_that_was_not_listed_yet_stay(cluster, tmp_path):
    """One kind's list comes first: the other kind keeps the log's limits until its own list is there."""
    (tmp_path / "token").write_text(cluster.token)
    log = LimitsLog(tmp_path / "log")
    objects = {"Deployment": ("inspect", "8"), "StatefulSet": ("nms", "3")}
    written = {
        f"{kind} shop/{model} {QPS}": QpsLimit(model=model, version="", qps=Decimal(qps), origin="")
        for kind, (model, qps) in objects.items()
    }
    with log.turn():
        log.record(written, AUTHOR, datetime.now(timezone.utc))
    api = KubernetesApi(
        ApiServer(url=cluster.url, token_file=tmp_path / "token", ca_file=tmp_path / "ca"),
    )
    clients = {kind: KubernetesClient(api, WatchedKind.model_validate(kind)) for kind in objects}
    feed = AnnotationFeed(clients, MODELS, lambda: log, lambda _: None)
    cluster.annotate("shop", "inspect", {QPS: "9"})

    feed.remember()
    assert _limits(feed)() == {"inspect@": "8", "nms@": "3"}
    feed.replace("Deployment", clients["Deployment"].list())
    assert _limits(feed)() == {"inspect@": "9", "nms@": "3"}
    # No StatefulSet has the annotation any more.
    feed.replace("StatefulSet", clients["StatefulSet"].list())
    assert _limits(feed)() == {"inspect@": "9"}


def test_the_daemons_limits_follow_annotations_and_pipelines_with_them(cluster, tmp_path, live_of):
    """An annotation on a member caps its pipeline at once; taken away, the fleet file's limit is back."""
    (tmp_path / "token").write_text(cluster.token)
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(
        'fleet: shop\nreplicas: [{name: a, url: "http://10.0.0.1:8000"}]\n'
        "models: {p: {pipeline: bls, calls: {m: 2}, qps_limit: 10}, m: {qps_limit: 40}}\n"
        f"kubernetes: {{api: '{cluster.url}', token_file: token}}\n"
    )
    plan = build_plan(load_fleet(fleet), tmp_path)
    live = live_of(fleet, plan)

    def in_force() -> dict[str, str]:
        limits = limits_at(live.merged(plan).limits, datetime.now(timezone.utc))
        return {limit.model: f"{limit.qps:f}" for limit in limits}

    def entries() -> list[tuple[str, str, str]]:
        return [
            (one.source, one.old, one.new) for one in LimitsLog(tmp_path / "fleet.limits.jsonl").read()[0]
        ]

    assert in_force() == {"p": "10", "m": "40"}
    cluster.annotate("shop", "m", {QPS: "12"})
    _becomes(in_force, {"p": "6", "m": "12"})
    cluster.annotate("shop", "m", {QPS: None})
    _becomes(in_force, {"p": "10", "m": "40"})
    _becomes(
        lambda: sorted(entries()),
        sorted([("file", "", "10"), ("file", "", "40"), ("annotation", "", "12"), ("annotation", "12", "")]),
    )
    values = {sample.name: sample.value for family in live.collect() for sample in family.samples}
    assert values == {"tritonobs_limit_source_up": 1, "tritonobs_limit_annotations_refused": 0}


ALLOWED = "allowed is a number from 0.001 to 1000000 (requests per second), or unlimited"
CUSTOM = "{kind: ModelDeployment, api: example.com/v1, plural: modeldeployments}"


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        pytest.param("Deployment", "deployments", id="a Deployment"),
        pytest.param("StatefulSet", "statefulsets", id="a StatefulSet"),
        pytest.param("InferenceService", "inferenceservices", id="KServe's InferenceService"),
        pytest.param(CUSTOM, "modeldeployments", id="a custom resource"),
    ],
)
def test_limits_come_from_objects_of_any_kind(cluster, tmp_path, live_of, kind, plural):
    """`kubectl annotate KIND m max_qps=80`: in force, and told on the object, as a bad value is."""
    (tmp_path / "token").write_text(cluster.token)
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(
        'fleet: shop\nreplicas: [{name: a, url: "http://10.0.0.1:8000"}]\nmodels: {m: {qps_limit: 40}}\n'
        f"kubernetes: {{api: '{cluster.url}', token_file: token, annotation: max_qps, kinds: [{kind}]}}\n"
    )
    plan = build_plan(load_fleet(fleet), tmp_path)
    live = live_of(fleet, plan)

    def in_force() -> list[str]:
        return [f"{one.qps:f}" for one in limits_at(live.merged(plan).limits, datetime.now(timezone.utc))]

    cluster.annotate("shop", "m", {"max_qps": "80", QPS: "3"}, plural=plural)
    _becomes(in_force, ["80"])
    cluster.annotate("shop", "m", {"max_qps": "lots"}, plural=plural)
    cluster.wait_for(lambda one: len(one.objects("events")) == 2, timeout_seconds=PATIENCE_SECONDS)

    name = "ModelDeployment" if kind == CUSTOM else kind
    events = sorted(cluster.objects("events"), key=lambda one: one["type"])
    assert [(one["involvedObject"]["kind"], one["reason"], one["message"]) for one in events] == [
        (name, "LimitInForce", "limit 80 in force for m"),
        (
            name,
            "LimitRefused",
            f'found "lots"; {ALLOWED}; 80 stays in force',
        ),
    ]
    assert in_force() == ["80"]


def test_a_kind_that_the_cluster_does_not_have_takes_nothing_from_others(cluster, tmp_path, live_of):
    """Its source counts as lost; the limits of the other kinds are followed."""
    (tmp_path / "token").write_text(cluster.token)
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(
        'fleet: shop\nreplicas: [{name: a, url: "http://10.0.0.1:8000"}]\nmodels: {m: {qps_limit: 40}}\n'
        f"kubernetes: {{api: '{cluster.url}', token_file: token, kinds: [StatefulSet, DaemonSet]}}\n"
    )
    plan = build_plan(load_fleet(fleet), tmp_path)
    live = live_of(fleet, plan)
    cluster.annotate("shop", "m", {QPS: "9"}, plural="statefulsets")

    _becomes(lambda: [f"{one.qps:f}" for one in live.merged(plan).limits], ["9"])
    values = {sample.name: sample.value for family in live.collect() for sample in family.samples}
    assert values["tritonobs_limit_source_up"] == 0


def test_annotations_that_nobody_can_be_asked_for_are_a_lost_source(tmp_path, monkeypatch, live_of):
    """Outside of a cluster and without an address there is a 0, not nothing: that is what alerts can see."""
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(
        'fleet: s\nreplicas: [{name: a, url: "http://10.0.0.1:8000"}]\nmodels: {m: {}}\nkubernetes: {}\n'
    )
    live = live_of(fleet, build_plan(load_fleet(fleet), tmp_path))

    values = {sample.name: sample.value for family in live.collect() for sample in family.samples}

    assert values == {"tritonobs_limit_source_up": 0, "tritonobs_limit_annotations_refused": 0}


def test_a_fleet_without_kubernetes_has_no_series_of_it(tmp_path, live_of):
    """What is not used does not look broken."""
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text('fleet: s\nreplicas: [{name: a, url: "http://10.0.0.1:8000"}]\nmodels: {m: {}}\n')
    plan = build_plan(load_fleet(fleet), tmp_path)
    live = live_of(fleet, plan)

    assert list(live.collect()) == []
    assert live.merged(plan) is plan
