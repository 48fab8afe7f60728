"""The section `kubernetes.objects.autoscaling`: what is refused, and with which words."""

from __future__ import annotations

import pytest

from tritonobs.plan.build import check
from tritonobs.spec.load import read_text

HEAD = """\
fleet: shop
replicas: {kubernetes: {selector: app=triton, namespace: models}}
models: {inspect: {qps_limit: 8}, llm: {}, flow: {pipeline: ensemble, calls: {inspect: 1}}}
"""
FOUND = [
    pytest.param(
        "triton: {models: [inspekt], max_replicas: 2}", '"inspekt" is not a model of this fleet', id="a model"
    ),
    pytest.param(
        "triton: {models: [inspect], language_models: [llm], max_replicas: 2}",
        '"llm" is not a model of `models`; models are inspect',
        id="a language model of another pool",
    ),
    pytest.param(
        "triton: {models: [inspect], max_replicas: 2}, "
        "triton-b: {name: triton, models: [inspect], max_replicas: 3}",
        'scales Deployment "triton", and so does "triton"; allowed is one pool for each',
        id="two for one",
    ),
    pytest.param(
        "large: {models: [inspect], max_replicas: 2}",
        'its autoscaler "large" is not matched by rules.pool_names (".*triton.*"), '
        "so no alert reports that it has no metric",
        id="nobody watches it",
    ),
    pytest.param(
        "triton: {by: keda, models: [inspect], max_replicas: 2}",
        'KEDA would ask "http://127.0.0.1:9090", which is its own pod',
        id="a Prometheus that KEDA does not reach",
    ),
    pytest.param("triton: {models: [llm], max_replicas: 2}", "llm has no qps_limit", id="no limit"),
    pytest.param(
        "triton: {models: [flow], max_replicas: 2}",
        "nothing says how many servers it needs: no model has a qps_limit or a queue of its own",
        id="no reason at all",
    ),
]


@pytest.mark.parametrize(("pools", "says"), FOUND)
def test_what_does_not_fit_is_found(pools: str, says: str) -> None:
    """At its place in the file, with what is allowed."""
    spec = read_text(f"{HEAD}kubernetes: {{objects: {{autoscaling: {{{pools}}}}}}}\n", "f").spec
    assert spec is not None
    (finding,) = check(spec)

    assert says in str(finding)
    assert "f:4" in str(finding)


def test_a_namespace_is_asked_for_where_none_is_known() -> None:
    """Neither the servers nor annotated objects have one."""
    text = HEAD.replace(", namespace: models", "")
    pool = "kubernetes: {objects: {autoscaling: {triton: {models: [inspect], max_replicas: 2}}}}\n"
    spec = read_text(text + pool, "f").spec
    assert spec is not None

    assert ["needs `namespace`" in str(one) for one in check(spec)] == [True]


REFUSED = [
    pytest.param(
        "{models: [inspect], max_replicas: 2, min_replicas: 0}", "min_replicas", id="no server at all"
    ),
    pytest.param(
        "{models: [inspect], max_replicas: 2, min_replicas: 3}",
        "less than min_replicas (3)",
        id="upside down",
    ),
    pytest.param(
        "{models: [inspect], max_replicas: 2, kind: DaemonSet}", "Deployment and StatefulSet", id="a kind"
    ),
    pytest.param("{models: [], max_replicas: 2}", "models", id="no model"),
    pytest.param("{models: [inspect], max_replicas: 2, by: cron}", "hpa", id="another autoscaler"),
    pytest.param(
        "{models: [inspect], max_replicas: 2, limit_share: 80}", "80%", id="a forgotten per cent sign"
    ),
]


@pytest.mark.parametrize(("pool", "says"), REFUSED)
def test_what_is_not_valid_is_refused(pool: str, says: str) -> None:
    """While reading, before anything is built."""
    reading = read_text(f"{HEAD}kubernetes: {{objects: {{autoscaling: {{triton: {pool}}}}}}}\n", "f")

    assert [says in str(one) for one in reading.findings] == [True]
