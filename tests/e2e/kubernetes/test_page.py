"""docs/kubernetes.md, done from the top by somebody who has nothing but an empty cluster and the page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from support.control_plane import ControlPlane, missing, parts, wait
from support.fleets import many_models
from support.operated import (
    alertmanager_config,
    alertmanager_object,
    arrived_groups,
    built_groups,
    operated_config,
    scrape_config,
    triton_jobs,
)
from tritonobs.programs import find

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.e2e, pytest.mark.kubernetes, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "kubernetes.md").read_text(encoding="utf-8")
ELSEWHERE = (
    "helm upgrade --install kube-prometheus-stack",
    "make image",
    "docker push",
    "helm upgrade prometheus-ad",
)
"""What needs a registry. The operator is here already; so is the Alertmanager as the page wants it."""
KPS = "kube-prometheus-stack"


def _commands(text: str) -> list[str]:
    blocks = re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    return [line for line in lines if not line.startswith(ELSEWHERE)]


@pytest.fixture(name="empty", scope="module")
def _empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    why = missing("kubectl", "helm", "etcd", "kube-apiserver", "operator")
    if why:
        pytest.skip(why)
    with ControlPlane(tmp_path_factory.mktemp("plane"), operator=True) as plane:
        plane.kubectl("create", "namespace", "monitoring")
        plane.apply(alertmanager_object())
        yield plane


def _shell(plane: ControlPlane, folder: Path, line: str) -> str:
    # The commands of the page, also where nobody has activated the environment of the tests.
    path = os.pathsep.join([str(Path(sys.executable).parent), str(parts()), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "KUBECONFIG": str(plane.config), "HOME": str(plane.folder)}
    done = subprocess.run(
        ["/bin/sh", "-c", line], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (line, done.stderr)
    return done.stdout


def test_the_page_leads_from_an_empty_cluster_to_alerts(empty: ControlPlane, tmp_path: Path) -> None:
    """Its fleet file and its commands, each in the order of its section; nothing else is done."""
    head, _, rest = PAGE.partition("## Before the first install")
    before, _, _ = rest.partition("## What is written")
    fleet = next(block for block in re.findall(r"```yaml\n(.*?)```", before, re.DOTALL) if "fleet:" in block)
    (tmp_path / "fleet.yaml").write_text(fleet)
    with_helm = [line for line in _commands(before) if "kubectl apply" not in line]

    for line in (*with_helm, *_commands(head)):
        _shell(empty, tmp_path, line)

    operated_config(empty, release=KPS)
    (job,) = triton_jobs(scrape_config(empty))
    assert job["kubernetes_sd_configs"][0]["namespaces"] == {"names": ["models"]}
    wait(lambda: arrived_groups(empty) == built_groups(tmp_path / "out" / "kubernetes"), "the rules")
    wait(lambda: "dingtalk" in alertmanager_config(empty), "the routes")
    (tmp_path / "am.yml").write_text(alertmanager_config(empty))
    subprocess.run([find("amtool"), "check-config", tmp_path / "am.yml"], check=True, capture_output=True)
    receivers = {one["name"]: one for one in yaml.safe_load(alertmanager_config(empty))["receivers"]}
    hook = receivers["monitoring/tritonobs/dingtalk/oncall"]["webhook_configs"][0]["url"]
    assert hook == "http://tritonobs.monitoring.svc:9900/alertmanager/dingtalk/oncall"
    (deployment,) = empty.objects("deployments")
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "registry.example.org/tritonobs:0.13.5"
    _shell(empty, tmp_path, "helm uninstall tritonobs --namespace monitoring")


def test_the_page_without_helm_removes_what_a_smaller_fleet_does_not_need(
    empty: ControlPlane, tmp_path: Path
) -> None:
    """A thousand models, then one: rules of the thousand go."""
    empty.kubectl("create", "namespace", "models", check=False)
    lines = [line for line in _commands(PAGE) if line.startswith(("tritonobs build", "kubectl apply"))]
    for models in (1000, 1):
        (tmp_path / "fleet.yaml").write_text(many_models(models))
        for line in lines:
            _shell(empty, tmp_path, line)

    base = yaml.safe_load((tmp_path / "out" / "kubernetes" / "base" / "kustomization.yaml").read_text())
    left = {f"prometheusrule-{one['metadata']['name']}.yaml" for one in empty.objects("prometheusrules")}
    assert left == {name for name in base["resources"] if name.startswith("prometheusrule-")}
