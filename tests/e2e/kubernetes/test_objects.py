"""What `build --target kubernetes` wrote, given to a real API server and to the real operator."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
import yaml

from support.control_plane import parts, prometheus_object, wait
from support.fleets import build_objects, many_models
from support.operated import arrived_groups, built_groups, refusals
from support.schemas import write_schemas

if TYPE_CHECKING:
    from pathlib import Path

    from support.control_plane import ControlPlane

pytestmark = [pytest.mark.e2e, pytest.mark.kubernetes, pytest.mark.timeout(1_200)]

SMALL = """\
fleet: shop
replicas: {kubernetes: {selector: app=triton, namespace: models}}
kubernetes:
  objects:
    labels: {release: kps}
    autoscaling: {triton: {models: [inspect], min_replicas: 2, max_replicas: 8}}
models: {inspect: {qps_limit: 8}}
notify: {dingtalk: {oncall: {webhook_file: secrets/webhook}}}
"""
PATIENCE_SECONDS = 240.0


@pytest.mark.parametrize("models", [1000, 3000])
def test_the_rules_of_a_large_fleet_arrive_whole(cluster: ControlPlane, tmp_path: Path, models: int) -> None:
    """Client-side apply, server-side apply, the operator: nobody refuses an object, no rule is lost."""
    made = build_objects(tmp_path, many_models(models))
    cluster.apply(prometheus_object())

    cluster.kubectl("apply", "-k", str(made / "base"))
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-k", str(made / "base"))

    wanted = built_groups(made)
    try:
        wait(lambda: arrived_groups(cluster) == wanted, "the rules", seconds=PATIENCE_SECONDS)
    finally:
        cluster.kubectl("delete", "--ignore-not-found", "-k", str(made / "base"))
    assert refusals(cluster) == []


def test_the_chart_installs_upgrades_and_leaves_nothing_behind(cluster: ControlPlane, tmp_path: Path) -> None:
    """lint, install, upgrade with values, uninstall; and a wrong namespace is refused with what to do."""
    chart = str(build_objects(tmp_path, SMALL) / "chart")
    assert "0 chart(s) failed" in cluster.program("helm", "lint", chart, "--namespace", "monitoring")
    said = cluster.program("helm", "template", "t", chart, "--namespace", "other", check=False)
    assert "built for the namespace monitoring" in said

    before = cluster.everything()
    cluster.program("helm", "install", "triton", chart, "--namespace", "monitoring")
    (deployment,) = cluster.objects("deployments")
    assert deployment["spec"]["replicas"] == 2
    values = (
        "--set",
        "replicas=3",
        "--set",
        "image=registry.example.org/tritonobs:1",
        "--set",
        "labels.owner=a",
    )
    cluster.program("helm", "upgrade", "triton", chart, "--namespace", "monitoring", *values)
    (deployment,) = cluster.objects("deployments")
    assert deployment["spec"]["replicas"] == 3
    assert (
        deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "registry.example.org/tritonobs:1"
    )
    assert deployment["metadata"]["labels"]["owner"] == "a"
    (record,) = [one for one in cluster.objects("prometheusrules") if "records" in one["metadata"]["name"]]
    built = yaml.safe_load(
        (tmp_path / "kubernetes" / "base" / "prometheusrule-tritonobs-records.yaml").read_text()
    )
    assert record["spec"] == built["spec"]
    (scaler,) = cluster.objects("horizontalpodautoscalers", namespace="models")
    assert scaler["spec"]["scaleTargetRef"]["name"] == "triton"

    cluster.program("helm", "uninstall", "triton", "--namespace", "monitoring")
    assert cluster.everything() == before


def test_the_autoscaler_is_taken_as_it_was_built(cluster: ControlPlane, tmp_path: Path) -> None:
    """Server-side apply changes no metric, bound or behaviour of it."""
    file = build_objects(tmp_path, SMALL) / "base" / "horizontalpodautoscaler-triton.yaml"
    built = yaml.safe_load(file.read_text())["spec"]

    cluster.kubectl("apply", "--server-side", "-f", str(file))
    (taken,) = cluster.objects("horizontalpodautoscalers", namespace="models")
    cluster.kubectl("delete", "-f", str(file))

    assert {key: taken["spec"][key] for key in built if key != "behavior"} == {
        key: built[key] for key in built if key != "behavior"
    }
    shrinks = taken["spec"]["behavior"]["scaleDown"]
    assert {key: shrinks[key] for key in built["behavior"]["scaleDown"]} == built["behavior"]["scaleDown"]


def test_every_object_is_as_its_schema_says(cluster: ControlPlane, tmp_path: Path) -> None:
    """Kubeconform in its strict mode, by the schemas of this API server with the operator's kinds."""
    made = build_objects(tmp_path, SMALL)
    schemas = tmp_path / "schemas"
    write_schemas(yaml.safe_load(cluster.kubectl("get", "--raw=/openapi/v2")), schemas)
    location = str(schemas) + "/{{ .ResourceKind }}{{ .KindSuffix }}.json"
    files = [str(one) for one in sorted((made / "base").glob("*.yaml")) if one.name != "kustomization.yaml"]

    done = subprocess.run(
        [
            *(str(parts() / "kubeconform"), "-strict", "-summary", "-schema-location", location),
            *(*files, str(made / "alertmanagerconfig.yaml")),
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, "Invalid: 0, Errors: 0, Skipped: 0" in done.stdout) == (0, True), done.stdout
