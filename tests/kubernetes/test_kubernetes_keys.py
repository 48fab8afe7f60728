"""Files in Kubernetes objects: each has a key of its own, and one that Kubernetes takes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tritonobs.errors import RenderFailed
from tritonobs.extensions.kubernetes.build import all_objects, artifacts, in_cluster, render_kubernetes
from tritonobs.extensions.kubernetes.workload import HOME, FleetFile
from tritonobs.plan.build import build_plan
from tritonobs.plan.kubernetes import Objects
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from tritonobs.plan.fleet import Plan

FLEET = """\
fleet: shop
replicas: {kubernetes: {selector: app=triton, namespace: models}}
models: {inspect: {qps_limit: 8}}
notify:
  dingtalk:
    oncall: {webhook_file: secrets/webhook}
"""
OBJECTS = Objects(namespace="monitoring", labels={})


def _plan(tmp_path: Path, text: str = FLEET) -> Plan:
    (tmp_path / "fleet.yaml").write_text(text)
    return in_cluster(build_plan(load_fleet(tmp_path / "fleet.yaml"), Path(HOME)))


@pytest.mark.parametrize(
    ("file", "said"),
    [
        pytest.param("/run/backup/webhook", "would be one key of the Secret, webhook", id="two of one name"),
        pytest.param("/run/other/my hook", "cannot be in a Secret", id="a name that is no key"),
    ],
)
def test_files_of_secrets_have_names_of_their_own(file: str, said: str, tmp_path: Path) -> None:
    """Of two files with one name, one robot would post to the other's chat."""
    text = f"{FLEET}    second: {{webhook_file: {file!r}}}\n"

    with pytest.raises(RenderFailed, match=re.escape(said)):
        list(all_objects(_plan(tmp_path, text), OBJECTS, FleetFile(text=text, others={})))


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        pytest.param(("a/b.j2", "a_b.j2"), "a/b.j2 and a_b.j2 would be one key", id="two of one key"),
        pytest.param(("fleet.yaml",), "the fleet file and fleet.yaml would be", id="the fleet file's"),
        pytest.param(("../b.j2",), "it is not below the fleet file's folder", id="from another folder"),
    ],
)
def test_plain_files_have_keys_of_their_own(paths: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """An object takes each key once, and no path that leads out of its folder."""
    files = FleetFile(text=FLEET, others=dict.fromkeys(paths, "text"))

    with pytest.raises(RenderFailed, match=re.escape(said)):
        render_kubernetes(_plan(tmp_path), files)


def test_plain_files_of_any_name_have_keys_that_kubernetes_takes(tmp_path: Path) -> None:
    """Chinese letters are letters to Python, and none to Kubernetes."""
    plan = _plan(tmp_path)
    files = FleetFile(text=FLEET, others={"模板/own.j2": "text"})
    made = all_objects(plan, OBJECTS, files)

    (fleet,) = [one for one in made if one["metadata"]["name"] == "tritonobs-fleet-file"]

    assert set(fleet["data"]) == {"fleet.yaml", "___own.j2"}


@pytest.mark.parametrize(("path", "there"), [("targets.json", 1), ("absent.json", 0), ("/abs/t.json", 0)])
def test_the_file_of_targets_is_beside_the_fleet_file_in_the_pod(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str, there: int
) -> None:
    """`serve` answers the ScrapeConfig from it; where it is elsewhere, the build says so."""
    (tmp_path / "targets.json").write_text('[{"targets": ["a:8002"]}]')
    text = FLEET.replace("kubernetes: {selector: app=triton, namespace: models}", f"file: {{path: {path}}}")
    plan = _plan(tmp_path, text)

    made = {one.path: one.text for one in artifacts(plan, tmp_path / "fleet.yaml")}

    config = made["kubernetes/base/configmap-tritonobs-fleet-file.yaml"]
    assert config.count("a:8002") == there
    assert capsys.readouterr().err.count(f"{path} is in no object") == 1 - there
