"""From the fleet file to the plan."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from tritonobs.plan.build import build_plan
from tritonobs.plan.fleet import Plan, Slo
from tritonobs.spec.load import read_text


@pytest.mark.parametrize(
    ("url", "metrics_url"),
    [
        pytest.param("http://10.0.0.1:8000", "http://10.0.0.1:8002/metrics", id="beside the HTTP port"),
        pytest.param("https://triton.shop/", "https://triton.shop:8002/metrics", id="a name without a port"),
        pytest.param("http://[fd00::1]:8000", "http://[fd00::1]:8002/metrics", id="an IPv6 address"),
    ],
)
def test_metrics_pages_are_found_beside_the_server(tmp_path: Path, url: str, metrics_url: str) -> None:
    """Without `metrics_url` it is Triton's own default."""
    text = f'fleet: f\nreplicas: [{{name: a, url: "{url}"}}]\nmodels: {{m: {{}}}}\n'
    spec = read_text(text, "fleet.yaml").spec
    assert spec is not None

    (replica,) = build_plan(spec, tmp_path).replicas

    assert replica.metrics_url == metrics_url
    assert not replica.http_url.endswith("/")


@pytest.mark.parametrize(
    ("intervals", "seconds"),
    [
        pytest.param("", (5, 5), id="the defaults"),
        pytest.param("scrape_interval: 15s", (15, 15), id="as often as servers are scraped"),
        pytest.param("scrape_interval: 15s, evaluation_interval: 5s", (15, 15), id="no more often"),
        pytest.param("scrape_interval: 5s, evaluation_interval: 30s", (5, 30), id="less often"),
    ],
)
def test_rules_are_evaluated_no_more_often_than_servers_are_scraped(
    plan_of: Callable[[str], Plan], intervals: str, seconds: tuple[int, int]
) -> None:
    """Rules count evaluations: one outage that was evaluated three times would be three."""
    settings = plan_of(f"models: {{m: {{}}}}\nprometheus: {{{intervals}}}\n").prometheus

    assert (settings.scrape_interval_seconds, settings.evaluation_interval_seconds) == seconds


def test_slos_merge_field_by_field(plan_of: Callable[[str], Plan]) -> None:
    """A version that changes its threshold keeps the objective it inherits; `none` takes a promise back."""
    plan = plan_of(
        """\
        defaults:
          slos:
            availability: {objective: 99.9%}
            latency: {objective: 99%, threshold: 500ms}
        models:
          a:
            slos: {latency: {threshold: 250ms, stage: infer}}
            versions:
              1: {slos: {availability: none, latency: {objective: 95%}}}
          b: {slos: {latency: none}}
        """
    )
    infer = {"stage": "infer", "threshold_seconds": Decimal("0.25")}
    assert plan.slos == (
        Slo(name="availability", model="a", version="", objective_ratio=Decimal("0.999")),
        Slo(name="latency", model="a", version="", objective_ratio=Decimal("0.99"), **infer),
        Slo(name="latency", model="a", version="1", objective_ratio=Decimal("0.95"), **infer),
        Slo(name="availability", model="b", version="", objective_ratio=Decimal("0.999")),
    )


def test_latency_inherited_from_defaults_times_the_whole_request(plan_of: Callable[[str], Plan]) -> None:
    """The stage is `total` unless said otherwise, and ensembles, which cannot be timed, are left out."""
    plan = plan_of(
        """\
        defaults: {slos: {latency: {objective: 99%, threshold: 500ms}}}
        models: {e: {pipeline: ensemble, calls: {a: 1}}, a: {}}
        """
    )

    assert [(slo.model, slo.stage) for slo in plan.slos] == [("a", "total")]


def test_team_and_tier_are_inherited_and_may_be_emptied(plan_of: Callable[[str], Plan]) -> None:
    """An empty text of one's own is not the default."""
    plan = plan_of("defaults: {team: vision, tier: gold}\nmodels: {a: {tier: ''}, b: {team: search}}")

    assert [(model.team, model.tier) for model in plan.models] == [("vision", ""), ("search", "gold")]


def test_links_go_where_browsers_get_and_parts_ask_each_other(plan_of: Callable[[str], Plan]) -> None:
    """`public` is for links; what it leaves out is reached as the parts reach it."""
    plan = plan_of(
        """\
        addresses:
          prometheus: http://prometheus:9090
          alertmanager: http://alertmanager:9093
          public: {alertmanager: "https://obs.shop/alerts"}
        models: {a: {}}
        """
    )

    assert plan.addresses.alertmanager_url == "http://alertmanager:9093"
    assert plan.addresses.alertmanager_link == "https://obs.shop/alerts"
    assert plan.addresses.prometheus_link == plan.addresses.prometheus_url == "http://prometheus:9090"


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
