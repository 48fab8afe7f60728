"""The chart of a release: built by the command of the checkout, with a schema that refuses wrong values."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from releasing.chart import FLEET, chart_files
from tritonobs.extensions.kubernetes.build import artifacts
from tritonobs.plan.build import build_plan
from tritonobs.spec.load import load_fleet

ROOT = Path(__file__).parents[2]
IMAGE = "registry.example.org/team/tritonobs:1.2.3"


@pytest.fixture(name="chart", scope="module")
def _chart() -> dict[str, bytes]:
    return chart_files(ROOT, IMAGE)


@pytest.fixture(name="schema", scope="module")
def _schema(chart):
    return json.loads(chart["values.schema.json"])


def test_a_comment_about_the_fleet_file_stands_alone(chart) -> None:
    """What the chart has no value for does not look like the comment of the next value."""
    blocks = chart["values.yaml"].decode().split("\n\n")

    (about,) = [block for block in blocks if "kubernetes.objects.secret" in block]
    assert about.splitlines()[-1].startswith("#")


def test_the_chart_fits_its_own_schema(chart, schema) -> None:
    """A schema of Helm's dialect, with every value in it and none besides."""
    values = yaml.safe_load(chart["values.yaml"])

    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(values, schema)
    assert set(schema["properties"]) == {*values, "global"}
    assert values["image"] == IMAGE


@pytest.mark.parametrize(
    "wrong",
    [
        {"replicas": "many"},
        {"replicas": 2.5},
        {"replicas": -1},
        {"replica": 3},
        {"image": "with spaces"},
        {"imagePullPolicy": "always"},
        {"imagePullSecrets": ["name"]},
        {"labels": {"a": 1}},
        {"labels": ["a"]},
        {"resources": {"request": {"cpu": "1"}}},
        {"nodeSelector": "disk=ssd"},
        {"tolerations": {"key": "gpu"}},
        {"skip": ["Deploymnt"]},
        {"skip": "NetworkPolicy"},
        {"alertmanagerConfig": "yes"},
        {"fleetFile": {"fleet": "shop"}},
    ],
    ids=str,
)
def test_a_wrong_value_is_refused(chart, schema, wrong) -> None:
    """Before anything is installed."""
    values = yaml.safe_load(chart["values.yaml"])

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**values, **wrong}, schema)


@pytest.mark.parametrize(
    "right",
    [
        {"replicas": 3},
        {"replicas": 0},
        {"image": "registry.example.org:5000/team/tritonobs@sha256:" + 64 * "0"},
        {"imagePullSecrets": [{"name": "pull"}]},
        {"labels": {"owner": "a"}, "prometheusLabels": {"release": "kps"}},
        {"resources": {"requests": {"cpu": 0.5, "memory": "1Gi"}, "limits": {"memory": "2Gi"}}},
        {"tolerations": [{"key": "gpu", "operator": "Exists"}]},
        {"skip": ["NetworkPolicy", "PodDisruptionBudget"], "alertmanagerConfig": True},
        {"fleetFile": "fleet: shop\n"},
        {"global": {"domain": "example.org"}},
    ],
    ids=str,
)
def test_a_right_value_is_taken(chart, schema, right) -> None:
    """What people set today."""
    jsonschema.validate({**yaml.safe_load(chart["values.yaml"]), **right}, schema)


def test_every_kind_that_a_build_makes_can_be_left_out(schema, tmp_path: Path) -> None:
    """The schema knows them all: the released fleet's, and those of pools, other replicas and annotations."""
    (tmp_path / "fleet.yaml").write_text(
        "fleet: s\n"
        "replicas: {dns: {name: triton.models.svc}}\n"
        "kubernetes: {objects: {autoscaling: {a: {models: [m], max_replicas: 2, namespace: n},"
        " b: {by: keda, models: [m], max_replicas: 2, namespace: n}}}}\n"
        "models: {m: {qps_limit: 8}}\n"
    )
    kinds = {
        yaml.safe_load(one.text)["kind"]
        for fleet in (ROOT / FLEET, tmp_path / "fleet.yaml")
        for one in artifacts(build_plan(load_fleet(fleet), fleet.parent), fleet)
        if "/chart/objects/" in one.path or one.path.endswith("chart/alertmanagerconfig.yaml")
    }

    assert {"Deployment", "ScaledObject", "ScrapeConfig", "PodMonitor", "AlertmanagerConfig"} < kinds
    assert sorted(kinds - set(schema["properties"]["skip"]["items"]["enum"])) == []


def test_the_fleet_of_the_chart_is_that_of_the_page() -> None:
    """What docs/kubernetes.md explains, but for the image, which a release decides."""
    page = (ROOT / "docs" / "kubernetes.md").read_text()
    block = next(one for one in page.split("```yaml\n")[1:] if one.startswith("fleet:")).partition("```")[0]
    explained = yaml.safe_load(block)
    del explained["kubernetes"]["objects"]["image"]

    assert yaml.safe_load((ROOT / FLEET).read_text()) == explained
    assert load_fleet(ROOT / FLEET).limits_source == "serve"
