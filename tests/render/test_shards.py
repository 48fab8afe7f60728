"""What is built for shards and for the Prometheus that asks them."""

from __future__ import annotations

import hashlib
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tritonobs.extensions.kubernetes.build import all_objects
from tritonobs.extensions.kubernetes.workload import FleetFile
from tritonobs.plan.build import build_plan, check
from tritonobs.plan.fleet import Pods
from tritonobs.programs import find
from tritonobs.render.artifact import write_artifacts
from tritonobs.render.everything import render_fleet
from tritonobs.render.prometheus import shard_relabellings
from tritonobs.render.rules import given_by_shards, rules_config
from tritonobs.spec.load import read_text

if TYPE_CHECKING:
    from tritonobs.plan.fleet import Plan

SERVERS = 'replicas: [{name: a, url: "http://10.0.0.1:8000"}, {name: b, url: "http://10.0.0.2:8000"}]\n'
HEAD = f"fleet: shop\ncluster: east\n{SERVERS}models: {{m: {{qps_limit: 8}}}}\n"
SHARDS = 'prometheus: {shards: ["http://10.1.0.1:9090", "https://10.1.0.2/prom"]}\n'
FOLDER = "prometheus/shards"
UNTIERED = "prometheus.shards: found shards, which need rules.tier; allowed are global and shard"


def _plan(tier: str, more: str = SHARDS) -> Plan:
    return build_plan(read_text(f"{HEAD}rules: {{tier: {tier}}}\n{more}", "f").spec, Path("/etc/shop"))


def _files(plan: Plan) -> dict[str, str]:
    return {one.path: one.text for one in render_fleet(plan) if one.path.startswith("prometheus/")}


def _jobs(text: str) -> dict[str, dict[str, Any]]:
    return {job["job_name"]: job for job in yaml.safe_load(text)["scrape_configs"]}


def _said(more: str) -> list[str]:
    reading = read_text(HEAD + more, "f")
    found = [*reading.findings, *(check(reading.spec) if reading.spec and not reading.findings else ())]
    return [f"{finding.severity.name} {finding.path}: {finding.message}" for finding in found]


def _relabelled(labels: dict[str, str], how: list[dict[str, Any]]) -> dict[str, str] | None:
    """What Prometheus makes of a target's labels; None for one that it leaves out."""
    labels = dict(labels)
    for one in how:
        text = one.get("separator", ";").join(labels.get(name, "") for name in one["source_labels"])
        action = one.get("action", "replace")
        if action == "hashmod":
            digest = hashlib.md5(text.encode(), usedforsecurity=False).digest()
            labels[one["target_label"]] = str(int.from_bytes(digest[8:], "big") % one["modulus"])
            continue
        match = re.fullmatch(one.get("regex", "(.*)"), text)
        if action == "keep" and not match:
            return None
        if action == "replace" and match:
            replacement = re.sub(r"\$(\d)", r"\\\1", one.get("replacement", "$1"))
            labels[one["target_label"]] = match.expand(replacement)
    return labels


def _shard_of(labels: dict[str, str], how: Pods | None, shards: int = 7) -> int:
    """The one shard that keeps a target."""
    (number,) = (n for n in range(shards) if _relabelled(labels, shard_relabellings(how, n, shards)))
    return number


def test_each_tier_gets_its_files() -> None:
    """One build of the global tier is everything; a shard's is its own folder."""
    shards = {f"{FOLDER}/shard-0.yml", f"{FOLDER}/shard-1.yml", f"{FOLDER}/rules/records.rules.yml"}
    own = {"prometheus/prometheus.yml", *(f"prometheus/rules/{n}.rules.yml" for n in ("records", "alerts"))}

    assert set(_files(_plan("global"))) == shards | own
    assert {one.path for one in render_fleet(_plan("shard"))} == shards
    assert set(_files(_plan("all", ""))) == own


def test_promtool_accepts_every_configuration(tmp_path: Path) -> None:
    """Rules included."""
    write_artifacts(render_fleet(_plan("global")), tmp_path)

    for path in ("prometheus/prometheus.yml", f"{FOLDER}/shard-0.yml", f"{FOLDER}/shard-1.yml"):
        done = subprocess.run(
            [find("promtool"), "check", "config", str(tmp_path / path)], capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_a_shard_scrapes_servers_alone_and_says_who_it_is() -> None:
    """No limits, no one to alert, and a label that all of its records carry where they are read."""
    config = yaml.safe_load(_files(_plan("global"))[f"{FOLDER}/shard-1.yml"])

    assert [job["job_name"] for job in config["scrape_configs"]] == ["triton"]
    assert config["global"]["external_labels"] == {"cluster": "east", "shard": "1"}
    assert "alerting" not in config


def test_the_global_prometheus_asks_for_what_its_rules_read() -> None:
    """By the names of the shards' records, each with times of its kind, under names that the rules have."""
    plan = _plan("global")
    given = given_by_shards(rules_config(plan))
    jobs = _jobs(_files(plan)["prometheus/prometheus.yml"])
    assert "triton" not in jobs

    for name, counts in (("tritonobs-shards", False), ("tritonobs-shards-counted", True)):
        job = jobs[name]
        (match,) = job["params"]["match[]"]
        names = re.fullmatch(r'\{__name__=~"(.+)"\}', match)[1].split("|")
        assert names == [one.record for one in given if one.counts == counts]
        assert (job["honor_labels"], job["honor_timestamps"]) == (True, counts)
        assert [one["targets"] for one in job["static_configs"]] == [["10.1.0.1:9090"], ["10.1.0.2:443"]]
        assert job["static_configs"][1]["labels"] == {
            "__scheme__": "https",
            "__metrics_path__": "/prom/federate",
            "cluster": "east",
            "shard": "1",
        }
        relabelled = _relabelled({"__name__": "a:b:c", "job": name}, job["metric_relabel_configs"])
        assert relabelled == {"__name__": "shard:a:b:c", "job": ""}
        kept = _relabelled({"__name__": "a:b:c", "job": "triton"}, job["metric_relabel_configs"])
        assert kept == {"__name__": "shard:a:b:c", "job": "triton"}


def test_every_server_is_on_one_shard_and_pools_stay_together() -> None:
    """A pool is a label of targets; servers without one are spread by their address."""
    pools = {
        (pool, _shard_of({"__address__": f"10.0.0.{host}:8002", "pool": pool}, None))
        for pool in ("text", "vision", "sound")
        for host in range(20)
    }
    alone = {_shard_of({"__address__": f"10.0.0.{host}:8002"}, None) for host in range(100)}

    assert len(pools) == 3
    assert alone == set(range(7))


def test_pods_of_a_deployment_stay_together_through_a_rollout() -> None:
    """The name of a ReplicaSet ends in a part that each rollout makes anew."""
    pods = Pods(selector="app=triton", namespace="", port=8002, http_port=8000)

    def shard(kind: str, name: str, namespace: str = "models") -> int:
        about = {"namespace": namespace, "pod_controller_kind": kind, "pod_controller_name": name}
        labels = {f"__meta_kubernetes_{key}": value for key, value in about.items()}
        return _shard_of({"__address__": "10.0.0.1:8002", **labels}, pods)

    assert shard("ReplicaSet", "vision-6b7f9c5d8") == shard("ReplicaSet", "vision-7c9d")
    assert len({shard("StatefulSet", f"pool-{number}") for number in range(40)}) == 7


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            SHARDS,
            ["ERROR prometheus.shards: found shards, which need rules.tier; allowed are global and shard"],
        ),
        ("rules: {tier: global}\n" + SHARDS, []),
        (
            'rules: {tier: shard}\nprometheus: {shards: ["http://a:1", "http://a:1"]}\n',
            ['ERROR prometheus.shards[1]: found "http://a:1" twice; allowed is one address for each shard'],
        ),
        (
            "rules: {tier: global}\n",
            ["WARNING rules.tier: prometheus.shards is empty, so no configuration of shards is written"],
        ),
        (
            "rules: {tier: shards}\n",
            ['ERROR rules.tier: found "shards"; allowed are all, shard and global'],
        ),
        (
            "rules: {severities: {TritonobsShardMissing: warning}}\n",
            ["ERROR rules.severities.TritonobsShardMissing: is not an alert; alerts are "],
        ),
        ("rules: {tier: global, severities: {TritonobsShardMissing: info}}\n" + SHARDS, []),
        ("rules: {tier: shard, severities: {TritonServerDown: info}}\n" + SHARDS, []),
    ],
)
def test_what_contradicts_is_said(more: str, says: list[str]) -> None:
    """Shards without a tier, a tier without shards, one shard twice, a severity of no alert."""
    found = _said(more)

    assert len(found) == len(says)
    for one, beginning in zip(found, says, strict=True):
        assert one.startswith(beginning)


def test_severities_hold_in_every_tier() -> None:
    """A shard has no alert whose severity it could set, and refuses none."""
    for tier in ("shard", "global"):
        more = f"rules: {{tier: {tier}, severities: {{TritonServerDown: info}}}}\n{SHARDS}"
        plan = build_plan(read_text(HEAD + more, "f").spec, Path("/etc/shop"))
        assert _files(plan)


def test_objects_of_a_shard_are_what_it_scrapes_and_records(tmp_path: Path) -> None:
    """The monitor of servers and the rules; all else is of the global tier, which scrapes no server."""
    pods = HEAD.replace(SERVERS, "replicas: {kubernetes: {selector: app=triton, namespace: models}}\n")
    pods += (
        'kubernetes: {objects: {namespace: watch}}\naddresses: {prometheus: "http://prometheus.watch:9090"}\n'
    )

    def kinds(tier: str) -> list[str]:
        spec = read_text(f"{pods}rules: {{tier: {tier}}}\n", "f").spec
        plan = build_plan(spec, tmp_path)
        made = all_objects(plan, plan.kubernetes.naming, FleetFile(text=pods, others={}))
        return [one["kind"] for one in made]

    assert kinds("shard") == ["PodMonitor", "PrometheusRule"]
    assert "PodMonitor" not in kinds("global")
    assert {"ServiceMonitor", "Deployment", "PrometheusRule"} <= set(kinds("global"))
