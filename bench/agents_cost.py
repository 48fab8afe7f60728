"""What `tritonobs mcp` costs at 1,000 models of two versions: memory, first answer, time of each tool.

python bench/agents_cost.py [--models 1000] [--json] [--write]

A page of that many models, made here, is scraped by a Prometheus with the product's rules, with
`tritonobs serve` beside it. Each tool is called three times over HTTP, and the median counts: a call starts a
process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psutil
import requests
from mcp import Client, StdioServerParameters
from results import publish, table
from rules_compared.servers import scraped
from scale_pages import rows_of, values_of

from support.agents import Answered, Served
from support.programs import PrometheusProgram, ServeProgram, free_port
from tritonobs import programs
from tritonobs.plan.build import build_plan
from tritonobs.render.rules import render_rules
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from collections.abc import Callable

VERSIONS: Final = ("1", "2")
SCRAPE_SECONDS, WARM_SECONDS = 30, 300
QPS, ONE_FAILS_OF, TIMES = 5, 5000, 3
FLEET: Final = """\
fleet: large
cluster: east
replicas: [{{name: triton-0, url: "http://127.0.0.1:9", metrics_url: "http://127.0.0.1:9/metrics"}}]
addresses: {{prometheus: "http://127.0.0.1:{prometheus}", serve: "http://127.0.0.1:{serve}"}}
prometheus: {{scrape_interval: {seconds}s, evaluation_interval: {seconds}s}}
incidents: {{folder: incidents}}
defaults:
  qps_limit: 20
  slos:
    availability: {{objective: 99.9%}}
models:
"""
CALLS: Final[dict[str, dict[str, Any]]] = {
    "triage": {"since": "1m"},
    "stages": {},
    "models": {},
    "slow_requests": {"model": "m0007"},
    "alerts": {},
    "incidents": {},
    "limits": {},
    "limit_history": {},
    "backtest": {"model": "m0007", "qps": 4, "over": "1h"},
    "runbook": {"name": "TritonQpsAboveLimit"},
    "explain_series": {"name": "nv_inference_queue_duration_us"},
    "query": {"expression": "sum by (model) (rate(nv_inference_request_success[1m]))", "over": "5m"},
}


def main() -> None:
    """Start the fleet, wait until windows are full, ask."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--models", type=int, default=1000)
    options.add_argument("--json", action="store_true")
    options.add_argument("--write", action="store_true")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        values = _measured(Path(name), chosen.models)
    publish("agents cost", _text(values, chosen.models), values, as_json=chosen.json, write=chosen.write)


def _measured(folder: Path, models: int) -> dict[str, Any]:
    ports = {"prometheus": free_port(), "serve": free_port()}
    fleet = folder / "fleet.yaml"
    rows = "".join(f'  m{model:04}: {{versions: {{"1": {{}}, "2": {{}}}}}}\n' for model in range(models))
    fleet.write_text(FLEET.format(**ports, seconds=SCRAPE_SECONDS) + rows)
    (folder / "incidents").mkdir()
    for item in render_rules(build_plan(load_fleet(fleet), folder)):
        (folder / Path(item.path).name).write_text(item.text, encoding="utf-8")
    with scraped("triton", _page(models), 1, SCRAPE_SECONDS) as servers:
        config = {
            "global": {
                "scrape_interval": f"{SCRAPE_SECONDS}s",
                "evaluation_interval": f"{SCRAPE_SECONDS}s",
                "external_labels": {"cluster": "east"},
            },
            "rule_files": [str(folder / "*.rules.yml")],
            "scrape_configs": [
                *(_in_cluster(one) for one in servers),
                {
                    "job_name": "tritonobs",
                    "honor_labels": True,
                    "static_configs": [{"targets": [f"127.0.0.1:{ports['serve']}"]}],
                },
            ],
        }
        program = PrometheusProgram(
            programs.find("prometheus"),
            config,
            folder / "prometheus",
            port=ports["prometheus"],
            options=("--web.enable-lifecycle",),
        )
        with ServeProgram(fleet, port=ports["serve"]), program:
            time.sleep(WARM_SECONDS)
            watched = psutil.Process(program.pid)
            # It reads which rules are loaded.
            replayed = _each(fleet, watched, ("backtest",))["tools"]
            # What rules cost is measured elsewhere; here they would take most of a small machine.
            (folder / "prometheus" / "prometheus.yml").write_text(json.dumps({**config, "rule_files": []}))
            requests.post(f"{program.url}/-/reload", timeout=60).raise_for_status()
            others = _each(fleet, watched, tuple(name for name in CALLS if name not in replayed))
            tools = {name: {**replayed, **others["tools"]}[name] for name in CALLS}
            return {**_first(fleet), **others, "tools": tools}


def _in_cluster(config: dict[str, Any]) -> dict[str, Any]:
    for one in config["static_configs"]:
        one["labels"]["cluster"] = "east"
    return config


def _page(models: int) -> Callable[[int], str]:
    began = time.time()
    rows = [
        row
        for model in range(models)
        for version in VERSIONS
        for row in rows_of(f'model="m{model:04}",version="{version}"', f"m{model:04}_0_0-100{version}-1a2b3c")
    ]
    template = "\n".join(rows) + "\n"

    def page(_: int) -> str:
        now, values = time.time(), list[float]()
        for model in range(models):
            for version in range(len(VERSIONS)):
                done = int((now - began) * QPS) + 1000 + 37 * version + 11 * model
                values += values_of(done, done // ONE_FAILS_OF, version, int(now))
        return template % tuple(values)

    return page


def _first(fleet: Path) -> dict[str, float]:
    """Over standard streams, as an editor starts it: seconds until it lists tools, and until it answered."""
    program = StdioServerParameters(
        command=sys.executable, args=["-m", "tritonobs", "mcp", str(fleet)], env=dict(os.environ)
    )

    async def asked() -> tuple[float, float]:
        began = time.monotonic()
        async with Client(program, read_timeout_seconds=120) as agent:
            await agent.list_tools()
            listed = time.monotonic() - began
            await agent.call_tool("limits", {})
            return listed, time.monotonic() - began

    pairs = [asyncio.run(asked()) for _ in range(TIMES)]
    return {
        "listed_seconds": statistics.median(one for one, _ in pairs),
        "first_seconds": statistics.median(one for _, one in pairs),
    }


def _each(fleet: Path, prometheus: psutil.Process, tools: tuple[str, ...]) -> dict[str, Any]:
    async def asked(url: str, process: psutil.Process) -> dict[str, Any]:
        found: dict[str, Any] = {}
        async with Client(url, read_timeout_seconds=120) as agent:
            await agent.list_tools()
            for name in tools:
                arguments = CALLS[name]
                spent, used, asked_of = [], [], []
                for _ in range(TIMES):
                    began, before = time.monotonic(), sum(process.cpu_times()[:4])
                    idle = sum(prometheus.cpu_times()[:2])
                    answer = Answered(await agent.call_tool(name, arguments))
                    spent.append(time.monotonic() - began)
                    used.append(sum(process.cpu_times()[:4]) - before)
                    asked_of.append(sum(prometheus.cpu_times()[:2]) - idle)
                found[name] = {
                    "seconds": statistics.median(spent),
                    "cpu_seconds": statistics.median(used),
                    "prometheus_seconds": statistics.median(asked_of),
                    "bytes": answer.size,
                    "pages": 0 if answer.failed else answer.answer.get("pages", 1),
                    "failed": answer.text[:120] if answer.failed else "",
                }
        return found

    with Served(fleet) as served:
        time.sleep(2)
        process = psutil.Process(served.process.pid)
        idle = process.memory_info().rss
        found = asyncio.run(asked(served.url, process))
        return {"idle_mib": idle / 2**20, "after_mib": process.memory_info().rss / 2**20, "tools": found}


def _text(values: dict[str, Any], models: int) -> str:
    rows = [
        (
            name,
            f"{one['seconds']:.2f} s",
            f"{one['cpu_seconds']:.2f} s",
            f"{one['prometheus_seconds']:.2f} s",
            str(one["bytes"]),
            # No request of these models is traced, and the tool says so.
            str(one["pages"]) if one["pages"] else "a sentence",
        )
        for name, one in values["tools"].items()
    ]
    return "\n".join(
        (
            (
                f"{models:,} models of {len(VERSIONS)} versions, {QPS} requests/s each, in one Prometheus; "
                f"one-minute load of the machine: {os.getloadavg()[0]:.0f}."
            ),
            "",
            f"Idle: {values['idle_mib']:.0f} MiB; after all calls: {values['after_mib']:.0f} MiB.",
            (
                f"After the start tools are listed in {values['listed_seconds']:.1f} s, "
                f"and the first answer (limits) is there in {values['first_seconds']:.1f} s."
            ),
            "",
            table(("tool", "time", "its CPU", "Prometheus' CPU", "bytes", "pages"), rows),
        )
    )


if __name__ == "__main__":
    main()
