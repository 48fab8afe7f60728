"""A real autoscaler with the object as it was built: what it does with its metrics, and without them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from support.control_plane import ControlPlane, missing, wait
from support.external_metrics import FAILS, NO_ROW, ExternalMetrics, Old, Said
from support.fleets import build_objects

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.e2e, pytest.mark.kubernetes, pytest.mark.timeout(600)]

FLEET = """\
fleet: shop
replicas: {kubernetes: {selector: app=triton, namespace: models}}
kubernetes:
  objects: {autoscaling: {triton: {models: [inspect], min_replicas: 1, max_replicas: 8}}}
models: {inspect: {qps_limit: 80}}
"""
LOAD, QUEUE = "tritonobs_triton_inspect_load", "tritonobs_triton_inspect_queue"
BEGINS, QUESTIONS = 4, 10
"""Servers at the begin of each test, and how often a metric is asked for before a test believes in peace."""
POOL: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "triton", "namespace": "models"},
    "spec": {
        "replicas": BEGINS,
        "selector": {"matchLabels": {"app": "triton"}},
        "template": {
            "metadata": {"labels": {"app": "triton"}},
            "spec": {"containers": [{"name": "triton", "image": "triton"}]},
        },
    },
}


class Pool:
    """The pool, its autoscaler, and what the adapter answers."""

    def __init__(self, cluster: ControlPlane, metrics: ExternalMetrics) -> None:
        self.cluster, self.metrics = cluster, metrics

    def servers(self) -> int:
        """How many servers the Deployment shall have."""
        (pool,) = self.cluster.objects("deployments", namespace="models")
        return int(pool["spec"]["replicas"])

    def begin(self) -> None:
        """As many servers as at the begin, and an autoscaler that has seen all its metrics."""
        self.metrics.say(BEGINS)
        patch = json.dumps({"spec": {"replicas": BEGINS}})
        self.cluster.kubectl("-n", "models", "patch", "deployment", "triton", "-p", patch)
        wait(lambda: self.condition("ScalingActive") == "True" and self.servers() == BEGINS, "the autoscaler")
        self.be_asked()

    def be_asked(self) -> None:
        """Every metric, often enough for a decision."""
        self.metrics.asked.clear()
        wait(lambda: min(self.metrics.asked[name] for name in (LOAD, QUEUE)) >= QUESTIONS, "questions")

    def condition(self, name: str) -> str:
        """The state of one of the autoscaler's conditions."""
        (scaler,) = self.cluster.objects("horizontalpodautoscalers", namespace="models")
        said = {one["type"]: one["status"] for one in scaler.get("status", {}).get("conditions", ())}
        return str(said.get(name, ""))


@pytest.fixture(name="pool", scope="module")
def _pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    why = missing("kubectl", "etcd", "kube-apiserver", "kube-controller-manager")
    if why:
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("autoscaling")
    file = build_objects(folder / "built", FLEET) / "base" / "horizontalpodautoscaler-triton.yaml"
    scaler = yaml.safe_load(file.read_text())
    # It would wait five minutes before it shrinks, and the tests look for just that.
    scaler["spec"]["behavior"]["scaleDown"] = {"stabilizationWindowSeconds": 0}
    with ControlPlane(folder, controllers=True) as cluster, ExternalMetrics(folder) as metrics:
        for name in ("monitoring", "models"):
            cluster.kubectl("create", "namespace", name)
        cluster.apply(*metrics.objects(), POOL, scaler)
        yield Pool(cluster, metrics)


def test_it_shrinks_when_all_metrics_say_so(pool: Pool) -> None:
    """Without this the tests below would prove nothing."""
    pool.begin()
    pool.metrics.say(2)

    wait(lambda: pool.servers() == 2, "two servers")


@pytest.mark.parametrize("answer", [FAILS, NO_ROW])
def test_without_its_metrics_it_holds_still(pool: Pool, answer: str) -> None:
    """And says so: TritonAutoscalerBlind reads this condition."""
    pool.begin()
    pool.metrics.say(answer)
    pool.be_asked()

    assert (pool.servers(), pool.condition("ScalingActive")) == (BEGINS, "False")


@pytest.mark.parametrize("answer", [FAILS, NO_ROW, Old(BEGINS)])
def test_it_does_not_shrink_while_one_metric_is_missing(pool: Pool, answer: Said) -> None:
    """The load is known and low; how long requests wait is not, or was two minutes ago."""
    pool.begin()
    pool.metrics.say(1, **{QUEUE: answer})
    pool.be_asked()

    assert pool.servers() == BEGINS


def test_it_grows_while_one_metric_is_missing(pool: Pool) -> None:
    """Load that is known brings servers."""
    pool.begin()
    pool.metrics.say(7, **{QUEUE: NO_ROW})

    wait(lambda: pool.servers() == 7, "seven servers")


def test_a_metric_is_a_number_of_servers(pool: Pool) -> None:
    """The largest, rounded up, and no more than the most. Up to a tenth more than there are is left alone."""
    pool.begin()
    # The controller may stop at five on its way, because it grows by no more than four in 15 s.
    pool.metrics.say(2, **{LOAD: 5.8})
    wait(lambda: pool.servers() == 6, "six servers")

    pool.metrics.say(2, **{LOAD: 50})
    wait(lambda: pool.servers() == 8, "eight servers")
