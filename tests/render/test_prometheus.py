"""Prometheus' configuration and the rules file of limits, as Prometheus' own checker and engine read them."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tritonobs.plan.build import build_plan
from tritonobs.plan.fleet import Addresses, QpsLimit, target_groups
from tritonobs.programs import find
from tritonobs.render.artifact import Artifact, write_artifacts
from tritonobs.render.prometheus import render_prometheus
from tritonobs.render.rules import RULES_PER_GROUP, render_objectives
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from tritonobs.plan.fleet import Plan

EXAMPLE = Path(__file__).parents[2] / "examples" / "fleet.yaml"
HOSTILE = 'a"b\\c{d}\n{{ .Labels }} $HOME 模型'


@pytest.fixture(name="plan", scope="module")
def _plan() -> Plan:
    return build_plan(load_fleet(EXAMPLE), EXAMPLE.parent)


def _config(plan: Plan) -> dict[str, Any]:
    (artifact,) = render_prometheus(plan)
    config: dict[str, Any] = yaml.safe_load(artifact.text)
    return config


def _rules(plan: Plan) -> list[dict[str, Any]]:
    (artifact,) = render_objectives(replace(plan, limits_source="rules"))
    return [rule for group in yaml.safe_load(artifact.text)["groups"] for rule in group["rules"]]


def _promtool(*arguments: str | Path, folder: Path) -> str:
    done = subprocess.run(
        [find("promtool"), *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("source", ["serve", "rules"])
@pytest.mark.parametrize("discovery", ["static", "serve"])
def test_promtool_accepts_every_form(plan: Plan, tmp_path: Path, source: str, discovery: str) -> None:
    """Limits scraped or from a rules file, replicas listed or discovered."""
    settings = replace(plan.prometheus, discovery=discovery)
    plan = replace(plan, limits_source=source, prometheus=settings)
    write_artifacts([*render_prometheus(plan), *render_objectives(plan)], tmp_path)
    for name in ("records", "alerts"):
        write_artifacts([Artifact(path=f"prometheus/rules/{name}.rules.yml", text="groups: []\n")], tmp_path)

    said = _promtool("check", "config", "prometheus.yml", folder=tmp_path / "prometheus")

    assert f"{3 if source == 'rules' else 2} rule files found" in said


def test_replicas_are_scraped_where_they_are_and_keep_their_names(plan: Plan) -> None:
    """Scheme, port and path come from the metrics address, whatever stands in front of Triton."""
    replicas = (
        replace(plan.replicas[0], name="near"),
        replace(plan.replicas[0], name=HOSTILE, metrics_url="https://[fd00::1]/triton-2/metrics"),
    )

    triton = _config(replace(plan, replicas=replicas))["scrape_configs"][0]

    assert triton["static_configs"] == [
        {
            "targets": ["127.0.0.1:8002"],
            "labels": {
                "__scheme__": "http",
                "__metrics_path__": "/metrics",
                "replica": "near",
                "cluster": "local",
            },
        },
        {
            "targets": ["[fd00::1]:443"],
            "labels": {
                "__scheme__": "https",
                "__metrics_path__": "/triton-2/metrics",
                "replica": HOSTILE,
                "cluster": "local",
            },
        },
    ]


@pytest.mark.parametrize("discovery", ["static", "serve"])
def test_every_series_of_a_cluster_carries_its_name(plan: Plan, discovery: str) -> None:
    """Targets of every job, those serve gives, and every rule of limits and objectives."""
    settings = replace(plan.prometheus, discovery=discovery)
    plan = replace(plan, cluster="east", prometheus=settings)
    targets = [
        target
        for job in _config(plan)["scrape_configs"]
        for target in job.get("static_configs", target_groups(plan))
    ]

    assert len(targets) == 5
    assert {target["labels"]["cluster"] for target in targets} == {"east"}
    assert {rule["labels"]["cluster"] for rule in _rules(plan)} == {"east"}


def test_discovered_replicas_come_from_serve(plan: Plan) -> None:
    """A replica added to the fleet file is scraped without a reload of Prometheus."""
    config = _config(replace(plan, prometheus=replace(plan.prometheus, discovery="serve")))

    assert config["scrape_configs"][0] == {
        "job_name": "triton",
        "http_sd_configs": [{"url": "http://127.0.0.1:9900/sd/triton", "refresh_interval": "15s"}],
    }


def test_parts_behind_a_path_are_found_there(plan: Plan) -> None:
    """A reverse proxy's prefix belongs to the page and to the alerts."""
    addresses = Addresses(
        prometheus_url="https://obs.shop/prometheus",
        alertmanager_url="https://obs.shop:8443/am",
        serve_url="http://10.0.0.9:9900",
        prometheus_link="https://obs.shop/prometheus",
        alertmanager_link="https://obs.shop:8443/am",
    )
    config = _config(replace(plan, addresses=addresses))

    assert config["alerting"]["alertmanagers"] == [
        {"scheme": "https", "path_prefix": "/am", "static_configs": [{"targets": ["obs.shop:8443"]}]}
    ]
    assert [job.get("metrics_path") for job in config["scrape_configs"][1:]] == [
        "/metrics",
        "/metrics/traces",
        "/prometheus/metrics",
        "/am/metrics",
    ]


@pytest.mark.parametrize(
    ("scrape", "timeout", "limits"),
    [
        pytest.param("1", "1s", "1s", id="fast scrapes make fast limits"),
        pytest.param("60", "10s", "3s", id="slow scrapes leave limits quick"),
    ],
)
def test_intervals_suit_each_other(plan: Plan, scrape: str, timeout: str, limits: str) -> None:
    """No timeout above its interval, and a changed limit within seconds whatever the servers' interval."""
    settings = replace(plan.prometheus, scrape_interval_seconds=Decimal(scrape))
    config = _config(replace(plan, prometheus=settings))

    assert config["global"]["scrape_timeout"] == timeout
    assert config["scrape_configs"][1]["scrape_interval"] == limits


def test_the_configuration_says_how_long_prometheus_has_to_remember(plan: Plan) -> None:
    """Prometheus 2 takes the retention on its command line only, so the file tells whoever starts it."""
    (artifact,) = render_prometheus(plan)

    assert "--storage.tsdb.retention.time=180d" in artifact.text


def test_a_fleet_whose_name_has_newlines_stays_a_comment(plan: Plan) -> None:
    """Nothing of a name becomes configuration."""
    (artifact,) = render_prometheus(replace(plan, fleet="a\nglobal: {}\rb"))

    assert yaml.safe_load(artifact.text) == _config(plan)


def test_limits_from_serve_need_no_rules_file(plan: Plan) -> None:
    """One source: the same limits twice would be two truths."""
    assert render_objectives(plan) == ()
    assert "rules/objectives.rules.yml" not in _config(plan)["rule_files"]
    assert "rules/objectives.rules.yml" in _config(replace(plan, limits_source="rules"))["rule_files"]


def test_groups_stay_small_enough_for_every_ruler(plan: Plan) -> None:
    """At most 20 rules a group, and no group of a name twice."""
    (artifact,) = render_objectives(replace(plan, limits_source="rules"))
    groups = yaml.safe_load(artifact.text)["groups"]

    assert max(len(group["rules"]) for group in groups) <= RULES_PER_GROUP
    assert len({group["name"] for group in groups}) == len(groups) > 1


def test_an_absent_version_is_an_absent_label(plan: Plan) -> None:
    """For Prometheus a label without a value is no label, and promtool should not have to drop it."""
    labels = [rule["labels"] for rule in _rules(plan) if rule["record"] == "tritonobs_qps_limit"]

    assert {"cluster": "local", "model": "inspect"} in labels
    assert all(value for one in labels for value in one.values())


def test_hostile_names_are_data_in_the_rules_file(plan: Plan, tmp_path: Path) -> None:
    """Prometheus reads back the very name, whatever is in it."""
    limit = QpsLimit(model=HOSTILE, version="", qps=Decimal("0.5"))
    plan = replace(plan, limits=(limit,), limits_source="rules")
    write_artifacts(render_objectives(plan), tmp_path)
    _promtool("check", "rules", "prometheus/rules/objectives.rules.yml", folder=tmp_path)

    assert _rules(plan)[0] == {
        "record": "tritonobs_qps_limit",
        "expr": "vector(0.5)",
        "labels": {"cluster": "local", "model": HOSTILE},
    }


def test_a_scheduled_limit_holds_exactly_while_it_should(plan: Plan, tmp_path: Path) -> None:
    """Prometheus itself switches the limit, at the second, without a reload."""
    start, end = (datetime.fromtimestamp(second, timezone.utc) for second in (600, 1200))
    pieces = (
        QpsLimit(model="m", version="", qps=Decimal(8), valid_until=start),
        QpsLimit(model="m", version="", qps=Decimal(20), valid_from=start, valid_until=end),
        QpsLimit(model="m", version="", qps=Decimal(8), valid_from=end),
        QpsLimit(model="once", version="1", qps=Decimal(3), valid_from=start, valid_until=end),
    )
    plan = replace(plan, limits=pieces, limits_source="rules", cluster="c")
    write_artifacts(render_objectives(plan), tmp_path)
    (tmp_path / "test.yml").write_text(
        dedent(
            """\
            rule_files: [prometheus/rules/objectives.rules.yml]
            evaluation_interval: 15s
            tests:
              - interval: 15s
                promql_expr_test:
                  - {expr: tritonobs_qps_limit, eval_time: 585s, exp_samples: [
                      {labels: 'tritonobs_qps_limit{cluster="c",model="m"}', value: 8}]}
                  - {expr: tritonobs_qps_limit, eval_time: 600s, exp_samples: [
                      {labels: 'tritonobs_qps_limit{cluster="c",model="m"}', value: 20},
                      {labels: 'tritonobs_qps_limit{cluster="c",model="once", version="1"}', value: 3}]}
                  - {expr: tritonobs_qps_limit, eval_time: 1185s, exp_samples: [
                      {labels: 'tritonobs_qps_limit{cluster="c",model="m"}', value: 20},
                      {labels: 'tritonobs_qps_limit{cluster="c",model="once", version="1"}', value: 3}]}
                  - {expr: tritonobs_qps_limit, eval_time: 1200s, exp_samples: [
                      {labels: 'tritonobs_qps_limit{cluster="c",model="m"}', value: 8}]}
            """
        )
    )

    assert "SUCCESS" in _promtool("test", "rules", "test.yml", folder=tmp_path)
