"""What is built for vmagents, VictoriaMetrics and vmalert."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from tritonobs import names
from tritonobs.plan.build import build_plan, check
from tritonobs.programs import look
from tritonobs.render.artifact import write_artifacts
from tritonobs.render.everything import render_fleet
from tritonobs.spec.load import read_text

if TYPE_CHECKING:
    from tritonobs.plan.fleet import Plan

HEAD = "fleet: shop\ncluster: east\nmodels: {m: {qps_limit: 8}}\n"
SERVERS = 'replicas: [{name: a, url: "http://10.0.0.1:8000"}, {name: b, url: "http://10.0.0.2:8000"}]\n'
AGENTS = 'prometheus: {agents: ["http://10.1.0.1:8429", "https://10.1.0.2/agent"]}\n'
DISCOVERIES = {
    "listed": SERVERS,
    "file": "replicas: {file: {path: servers.json}}\n",
    "dns": "replicas: {dns: {name: triton.models.svc, port: 8002}}\n",
    "http": "replicas: {http: {url: http://10.2.0.1/servers}}\n",
    "kubernetes": "replicas: {kubernetes: {selector: app=triton}}\n",
    "serve": SERVERS,
}
FOLDER = "prometheus"


def _plan(more: str = SERVERS + AGENTS) -> Plan:
    return build_plan(read_text(HEAD + more, "f").spec, Path("/etc/shop"))


def _files(plan: Plan) -> dict[str, str]:
    return {one.path: one.text for one in render_fleet(plan) if one.path.startswith(f"{FOLDER}/")}


def _said(more: str) -> list[str]:
    reading = read_text(HEAD + SERVERS + more, "f")
    found = [*reading.findings, *(check(reading.spec) if reading.spec and not reading.findings else ())]
    return [f"{finding.severity.name} {finding.path}: {finding.message}" for finding in found]


def _program(name: str) -> Path:
    return look(name) or pytest.skip(f"no {name} here; Debian's package victoria-metrics has it")


def test_agents_scrape_servers_and_the_store_all_else() -> None:
    """No series is scraped twice; the store asks each agent for its page, under the number that it has."""
    files = _files(_plan())
    agents, store = (yaml.safe_load(files[f"{FOLDER}/{name}.yml"]) for name in ("agents", "prometheus"))

    assert [job["job_name"] for job in agents["scrape_configs"]] == ["triton"]
    assert [job["job_name"] for job in store["scrape_configs"]] == [
        *("tritonobs", "tritonobs-traces", "prometheus", "alertmanager", "tritonobs-agents"),
    ]
    assert store["scrape_configs"][-1]["static_configs"] == [
        {
            "targets": ["10.1.0.1:8429"],
            "labels": {
                "__scheme__": "http",
                "__metrics_path__": "/metrics",
                "cluster": "east",
                "shard": "0",
            },
        },
        {
            "targets": ["10.1.0.2:443"],
            "labels": {
                "__scheme__": "https",
                "__metrics_path__": "/agent/metrics",
                "cluster": "east",
                "shard": "1",
            },
        },
    ]


def test_rules_are_those_of_one_prometheus_that_know_of_agents() -> None:
    """All files, and the alert about an agent; without agents there is none."""
    files = _files(_plan())

    assert set(files) == {
        f"{FOLDER}/{name}"
        for name in ("agents.yml", "prometheus.yml", "rules/records.rules.yml", "rules/alerts.rules.yml")
    }
    assert files[f"{FOLDER}/rules/alerts.rules.yml"].count("- alert: TritonobsAgentMissing\n") == 1
    assert "TritonobsAgentMissing" not in str(_files(_plan(SERVERS)))


@pytest.mark.parametrize("how", DISCOVERIES)
def test_victoria_metrics_programs_accept_every_discovery(how: str, tmp_path: Path) -> None:
    """They refuse fields of Prometheus that they do not know: rules, and how often to look for servers."""
    serve = AGENTS.replace("{agents", "{discovery: serve, agents") if how == "serve" else AGENTS
    plan = _plan(DISCOVERIES[how] + serve + "rules: {keep_firing: false}\n")
    write_artifacts(render_fleet(plan), tmp_path)
    folder = tmp_path / FOLDER

    for command in (
        [_program("vmagent"), "-dryRun", "-remoteWrite.url=http://127.0.0.1:1", *_config(folder, "agents")],
        [_program("victoria-metrics"), "-dryRun", *_config(folder, "prometheus")],
        [_program("vmalert"), "-dryRun", f"-rule={folder}/rules/*.rules.yml"],
    ):
        done = subprocess.run(
            [*map(str, command), "-loggerLevel=ERROR"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def _config(folder: Path, name: str) -> list[str]:
    return [f"-promscrape.config={folder}/{name}.yml"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (AGENTS, []),
        (AGENTS + f"rules: {{severities: {{{names.AGENT_ALERTS[0]}: warning}}}}\n", []),
        (
            f"rules: {{severities: {{{names.AGENT_ALERTS[0]}: warning}}}}\n",
            [f"ERROR rules.severities.{names.AGENT_ALERTS[0]}: is not an alert; alerts are "],
        ),
        (
            'prometheus: {agents: ["http://a:1", "http://a:1"]}\n',
            ['ERROR prometheus.agents[1]: found "http://a:1" twice; allowed is one address for each agent'],
        ),
        (
            'rules: {tier: global}\nprometheus: {agents: ["http://a:1"], shards: ["http://b:1"]}\n',
            ["ERROR prometheus.agents: found agents and the rules.tier global; allowed is the tier all, or "],
        ),
    ],
)
def test_what_contradicts_is_said(more: str, says: list[str]) -> None:
    """One agent twice, agents and shards, a severity of an alert that there is not."""
    told = _said(more)

    assert len(told) == len(says)
    assert all(line.startswith(start) for line, start in zip(told, says, strict=True))
