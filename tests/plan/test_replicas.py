"""The label that tells replicas apart, where the fleet file names none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tritonobs.plan.build import build_plan
from tritonobs.spec.load import read_text


@pytest.mark.parametrize(
    ("replicas", "more", "label"),
    [
        pytest.param('[{name: a, url: "http://a"}]', "", "replica", id="servers written out"),
        pytest.param('[{name: a, url: "http://a"}]', "kubernetes: {objects: {}}", "pod", id="an operator"),
        pytest.param("{kubernetes: {selector: app=triton}}", "", "pod", id="pods"),
        pytest.param("{dns: {name: triton}}", "", "replica", id="a name"),
        pytest.param(
            "{kubernetes: {selector: app=triton}}", "rules: {replica_label: node}", "node", id="chosen"
        ),
    ],
)
def test_replicas_are_told_apart_by_what_kubernetes_calls_them(replicas: str, more: str, label: str) -> None:
    """Not by the label that Thanos takes for copies of Prometheus."""
    spec = read_text(f"fleet: s\nreplicas: {replicas}\nmodels: {{m: {{}}}}\n{more}\n", "f").spec
    assert spec is not None
    assert build_plan(spec, Path()).rules.replica_label == label
