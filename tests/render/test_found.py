"""Prometheus finds servers by itself: promtool takes each way, and the labels are those the rules read."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tritonobs.plan.build import build_plan
from tritonobs.programs import find
from tritonobs.render.prometheus import PATH, render_prometheus
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from pathlib import Path

WAYS = {
    "kubernetes": "{kubernetes: {selector: 'app=triton,tier!=test', namespace: models, port: 9002}}",
    "file": "{file: {path: targets.json}}",
    "dns": "{dns: {name: triton.models.svc}}",
    "http": "{http: {url: 'http://10.0.0.9/sd'}}",
}


def _config(folder: Path, way: str) -> dict[str, Any]:
    fleet = folder / "fleet.yaml"
    fleet.write_text(f"fleet: shop\ncluster: east\nreplicas: {WAYS[way]}\nmodels: {{m: {{}}}}\n")
    (artifact,) = render_prometheus(build_plan(load_fleet(fleet), folder))
    written = folder / PATH
    written.parent.mkdir()
    written.write_text(artifact.text)
    config: dict[str, Any] = yaml.safe_load(artifact.text)
    return config


@pytest.mark.parametrize("way", WAYS)
def test_prometheus_accepts_each_way(way: str, tmp_path: Path) -> None:
    """Without a list of servers anywhere."""
    config = _config(tmp_path, way)
    (tmp_path / "targets.json").write_text("[]")

    triton = config["scrape_configs"][0]
    assert f"{way}_sd_configs" in triton
    assert "static_configs" not in triton
    if (
        way != "kubernetes"
    ):  # Debian's promtool is built without it; tests/e2e/kubernetes has one that is not.
        checked = [str(find("promtool")), "check", "config", "--syntax-only", str(tmp_path / PATH)]
        assert subprocess.run(checked, capture_output=True, check=False).returncode == 0


def test_pods_are_named_by_their_own_name_and_asked_at_the_metrics_port(tmp_path: Path) -> None:
    """Whatever ports the pod declares."""
    triton = _config(tmp_path, "kubernetes")["scrape_configs"][0]

    (discovery,) = triton["kubernetes_sd_configs"]
    assert discovery == {
        "role": "pod",
        "namespaces": {"names": ["models"]},
        "selectors": [{"role": "pod", "label": "app=triton,tier!=test"}],
    }
    targets = {one.get("target_label"): one for one in triton["relabel_configs"]}
    assert targets["pod"]["source_labels"] == ["__meta_kubernetes_pod_name"]
    assert targets["cluster"]["replacement"] == "east"
    assert targets["__address__"]["replacement"] == "$1:9002"
