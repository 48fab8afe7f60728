"""Kubernetes objects: what they carry is what the files hold, and each is one that a cluster takes."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from support.fleets import many_models
from tritonobs.cli.values import load_plan
from tritonobs.errors import RenderFailed
from tritonobs.extensions.kubernetes import objects, operator
from tritonobs.extensions.kubernetes.build import all_objects, artifacts, in_cluster, render_kubernetes
from tritonobs.extensions.kubernetes.objects import stored
from tritonobs.extensions.kubernetes.operator import pod_selector
from tritonobs.extensions.kubernetes.workload import HOME, FleetFile
from tritonobs.plan.build import build_plan
from tritonobs.plan.kubernetes import Objects
from tritonobs.render.rules import render_objectives, render_rules
from tritonobs.spec.load import load_fleet, read_fleet

if TYPE_CHECKING:
    from tritonobs.plan.fleet import Plan

FLEET = """\
fleet: shop
cluster: east
replicas: {kubernetes: {selector: "app=triton,tier!=test,gpu", namespace: models, port: 9002}}
kubernetes:
  namespace: models
  kinds: [Deployment, InferenceService]
  objects: {labels: {release: kps}, prometheus_namespace: prometheus}
models: {inspect: {qps_limit: 8}}
notify:
  dingtalk:
    oncall: {webhook_file: secrets/webhook, secret_env: DT_SECRET}
    second: {webhook_file: /run/other/hook}
"""
LARGEST = 250_000
"""Client-side `kubectl apply` refuses 262,144; the operator's own limit is twice that."""


def _plan(tmp_path: Path, text: str = FLEET) -> Plan:
    (tmp_path / "fleet.yaml").write_text(text)
    return in_cluster(build_plan(load_fleet(tmp_path / "fleet.yaml"), Path(HOME)))


def _objects(plan: Plan, text: str = FLEET) -> dict[tuple[str, str], dict[str, Any]]:
    objects = plan.kubernetes.objects or Objects(namespace="monitoring", labels={})
    made = list(all_objects(plan, objects, FleetFile(text=text, others={})))
    named = {(one["kind"], one["metadata"]["name"]): one for one in made}
    assert len(named) == len(made), "two objects of one name: one would overwrite the other"
    return named


@pytest.fixture(name="objects", scope="module")
def _module_objects(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict[str, Any]]:
    return _objects(_plan(tmp_path_factory.mktemp("kubernetes")))


def test_every_object_is_ours_and_labelled(objects) -> None:
    """What was applied once can be found, selected by Prometheus, and pruned."""
    for (kind, _), one in objects.items():
        labels = one["metadata"]["labels"]
        assert labels["app.kubernetes.io/part-of"] == "tritonobs"
        assert labels["release"] == "kps"
        if not kind.startswith("Cluster"):
            assert one["metadata"]["namespace"] in ("monitoring", "models")


def test_rules_are_carried_whole(tmp_path: Path) -> None:
    """The groups of the objects are the groups of the files, in their order, none twice."""
    plan = replace(_plan(tmp_path), limits_source="rules")
    carried = [
        group
        for (kind, _), one in _objects(plan).items()
        if kind == "PrometheusRule"
        for group in one["spec"]["groups"]
    ]
    written = [
        group
        for artifact in (*render_rules(plan), *render_objectives(plan))
        for group in yaml.safe_load(artifact.text)["groups"]
    ]

    assert carried == written


@pytest.mark.parametrize("models", [300])
def test_no_object_of_a_large_fleet_is_too_large(models: int, tmp_path: Path) -> None:
    """Measured as `kubectl apply` keeps it, `<` and `>` escaped as Go does."""
    text = many_models(models)
    plan = _plan(tmp_path, text)

    made = _objects(plan, text).values()

    assert max(map(stored, made)) <= LARGEST
    rule_objects = [one for one in made if one["kind"] == "PrometheusRule"]
    assert len(rule_objects) > 3
    written = yaml.safe_load(render_objectives(plan)[0].text)["groups"]
    carried = [g for one in rule_objects for g in one["spec"]["groups"] if "tritonobs-obj" in g["name"]]
    assert carried == written


def test_what_fits_into_no_object_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its name and size, before a cluster has half of it."""
    monkeypatch.setattr(operator, "LARGEST_BYTES", 4_000)
    with pytest.raises(RenderFailed, match=r"group tritonobs\S+ has \d+ bytes; an object takes 2000"):
        _objects(_plan(tmp_path))
    monkeypatch.setattr(operator, "LARGEST_BYTES", LARGEST)
    monkeypatch.setattr(objects, "LARGEST_BYTES", 4_000)
    with pytest.raises(RenderFailed, match=r"board tritonobs-board-fleet has \d+ bytes"):
        _objects(_plan(tmp_path))


def test_the_servers_pods_are_scraped_as_the_rules_read_them(objects) -> None:
    """Job, pod and cluster; one target a pod, sharded by Deployment."""
    spec = objects["PodMonitor", "tritonobs-triton"]["spec"]
    (endpoint,) = spec["podMetricsEndpoints"]
    fixed = {
        one["targetLabel"]: one["replacement"] for one in endpoint["relabelings"] if "sourceLabels" not in one
    }

    assert spec["namespaceSelector"] == {"matchNames": ["models"]}
    assert spec["selector"] == {
        "matchLabels": {"app": "triton"},
        "matchExpressions": [
            {"key": "tier", "operator": "NotIn", "values": ["test"]},
            {"key": "gpu", "operator": "Exists"},
        ],
    }
    assert fixed == {"cluster": "east", "job": "triton", "container": ""}
    sources = {
        one["targetLabel"]: one["sourceLabels"]
        for one in endpoint["relabelings"]
        if one.get("sourceLabels") and "targetLabel" in one
    }
    assert sources["pod"] == ["__meta_kubernetes_pod_name"]
    assert "__tmp_hash" in sources


def test_other_servers_are_asked_of_serve(tmp_path: Path) -> None:
    """However the fleet file finds or names them."""
    text = "fleet: s\nreplicas: {dns: {name: triton.models.svc}}\nmodels: {m: {}}\n"
    made = _objects(_plan(tmp_path, text), text)

    spec = made["ScrapeConfig", "tritonobs-triton"]["spec"]
    assert spec["httpSDConfigs"][0]["url"] == "http://tritonobs.monitoring.svc:9900/sd/triton"
    assert ("PodMonitor", "tritonobs-triton") not in made


def test_labels_of_pods_are_read_as_kubectl_reads_them() -> None:
    """Equal, unequal, and there."""
    assert pod_selector("a=b, c==d,e!=f,g") == {
        "matchLabels": {"a": "b", "c": "d"},
        "matchExpressions": [
            {"key": "e", "operator": "NotIn", "values": ["f"]},
            {"key": "g", "operator": "Exists"},
        ],
    }


def test_serve_has_no_more_rights_than_it_uses(objects) -> None:
    """Its Lease, the annotated kinds, Events on them, the pods it looks for; and no secret."""
    rights = {
        (one["metadata"]["name"], one["metadata"].get("namespace", "")): one["rules"]
        for (kind, _), one in objects.items()
        if kind in ("Role", "ClusterRole")
    }

    assert rights["tritonobs", "monitoring"] == [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": ["tritonobs"],
            "verbs": ["get", "update"],
        },
    ]
    assert rights["tritonobs-annotations", "models"] == [
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list", "watch"]},
        {"apiGroups": ["serving.kserve.io"], "resources": ["inferenceservices"], "verbs": ["list", "watch"]},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},
    ]
    assert rights["tritonobs-pods", "models"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
    ]
    assert len(rights) == 3


def test_pods_run_with_nothing_they_do_not_need(objects) -> None:
    """Not as root, on a file system that cannot be written, and two of them."""
    spec = objects["Deployment", "tritonobs"]["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]

    assert spec["replicas"] == 2
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["args"][container["args"].index("--lease") + 1] == "monitoring/tritonobs"


def test_secrets_are_named_and_nowhere_written(objects) -> None:
    """Files where the fleet file looks for them, readable by the group alone; variables by reference."""
    pod = objects["Deployment", "tritonobs"]["spec"]["template"]["spec"]
    volumes = {one["name"]: one for one in pod["volumes"]}
    mounts = {one["name"]: one["mountPath"] for one in pod["containers"][0]["volumeMounts"]}
    variables = {one["name"]: one for one in pod["containers"][0]["env"]}

    assert volumes["fleet"]["projected"]["sources"][1] == {
        "secret": {"name": "tritonobs", "items": [{"key": "webhook", "path": "secrets/webhook"}]}
    }
    assert (volumes["fleet"]["projected"]["defaultMode"], mounts["fleet"]) == (0o440, "/etc/tritonobs")
    assert mounts["secrets-1"] == "/run/other"
    assert variables["DT_SECRET"]["valueFrom"] == {"secretKeyRef": {"name": "tritonobs", "key": "DT_SECRET"}}
    assert not [one for one in objects if one[0] == "Secret"]


def test_only_those_who_need_it_reach_serve(objects) -> None:
    """Its own namespace, that of Prometheus and Alertmanager, that of the servers."""
    (rule,) = objects["NetworkPolicy", "tritonobs"]["spec"]["ingress"]
    names = [one["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"] for one in rule["from"]]

    assert names == ["models", "monitoring", "prometheus"]
    assert rule["ports"] == [{"port": 9900, "protocol": "TCP"}]


def test_the_fleet_file_travels_as_it_is_and_packed_when_large(tmp_path: Path) -> None:
    """A pod reads what was built from."""
    small = _objects(_plan(tmp_path))["ConfigMap", "tritonobs-fleet-file"]
    assert small["data"]["fleet.yaml"] == FLEET

    text = FLEET + "#" + "x" * 300_000 + "\n"
    made = _objects(_plan(tmp_path), text)
    large = made["ConfigMap", "tritonobs-fleet-file"]
    packed = tmp_path / "fleet.yaml.gz"
    packed.write_bytes(base64.b64decode(large["binaryData"]["fleet.yaml.gz"]))
    assert read_fleet(packed).findings == ()
    args = made["Deployment", "tritonobs"]["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args[:2] == ["serve", "/etc/tritonobs/fleet.yaml.gz"]


def test_the_chart_carries_the_objects_of_the_base(tmp_path: Path) -> None:
    """One list, written twice; and what an earlier build left behind is not installed."""
    plan = _plan(tmp_path)
    files = {one.path: one.text for one in render_kubernetes(plan, FleetFile(text=FLEET, others={}))}
    base = yaml.safe_load(files["kubernetes/base/kustomization.yaml"])["resources"]

    assert files["kubernetes/chart/objects.txt"].splitlines() == base
    for name in base:
        assert files[f"kubernetes/chart/objects/{name}"] == files[f"kubernetes/base/{name}"]


def test_boards_let_people_choose_the_prometheus_of_their_cluster(objects) -> None:
    """The Grafana that is there has a data source of its own."""
    board = json.loads(objects["ConfigMap", "tritonobs-board-model"]["data"]["tritonobs-model.json"])

    assert "datasource" in [one["name"] for one in board["templating"]["list"]]
    labels = objects["ConfigMap", "tritonobs-board-model"]["metadata"]["labels"]
    assert labels["grafana_dashboard"] == "1"


def test_addresses_are_those_of_the_cluster(tmp_path: Path) -> None:
    """Links of alerts and calls of Alertmanager lead to the Service, unless the fleet file names another."""
    text = json.dumps([one.text for one in _artifacts(tmp_path, FLEET)])
    assert "http://tritonobs.monitoring.svc:9900/runbooks/" in text
    assert "127.0.0.1:9900" not in text

    own = FLEET + "addresses: {serve: 'http://serve.example.org'}\n"
    text = json.dumps([one.text for one in _artifacts(tmp_path, own)])
    assert "http://serve.example.org/alertmanager/dingtalk/oncall" in text


def _artifacts(folder: Path, text: str) -> list[Any]:
    (folder / "fleet.yaml").write_text(text)
    made = list(artifacts(load_plan(folder / "fleet.yaml"), folder / "fleet.yaml"))
    assert all(PurePosixPath(one.path).is_relative_to("kubernetes") for one in made)
    return [one for one in made if "fleet-file" not in one.path]
