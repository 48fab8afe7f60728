"""What our rules cost beside those of an earlier release, both on the same pages at the same time.

The other checkout needs no installation: `git worktree add /tmp/before 99f9e9f`, then --before /tmp/before.
Pages are fakes of healthy servers; limits and objectives are those of a real `tritonobs serve`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import requests
import yaml
from results import publish, table
from scale_pages import Pages, write_fleet

from support.operated import plain_alertmanager
from support.programs import PrometheusProgram, ServeProgram, free_port
from tritonobs import programs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MODELS, _SECONDS = 20, 15
_LOOKS = 9
_SHOWN = 12


def main() -> None:
    """Read the command line, measure, publish."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", type=Path, required=True, help="a checkout of the earlier release")
    parser.add_argument("--servers", type=int, default=10)
    parser.add_argument(
        "--pools", type=int, default=5, help="the servers of each have 20 models of their own"
    )
    parser.add_argument("--warm-minutes", type=float, default=12)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into bench/RESULTS.md")
    options = parser.parse_args()
    checkouts = {"before": options.before.resolve(), "now": Path(__file__).resolve().parents[1]}
    with tempfile.TemporaryDirectory() as name, ExitStack() as held:
        stack = _start(Path(name), held, checkouts, options)
        time.sleep(60 * options.warm_minutes)
        values = _watch(stack, options.minutes)
    rows = [
        [name, f"{seen['rules']:.0f}"]
        + [
            f"{seen[key]:.{digits}f}"
            for key, digits in (("evaluation_ms", 0), ("cpu_ms", 0), ("samples_m", 2))
        ]
        for name, seen in values.items()
    ]
    before, now = values["before"], values["now"]
    ratios = ", ".join(
        f"{word} {now[key] / before[key]:.2f}"
        for word, key in (("evaluation", "evaluation_ms"), ("CPU", "cpu_ms"), ("samples", "samples_m"))
    )
    most = sorted(now["each"].items(), key=lambda one: -one[1])[:_SHOWN]
    publish(
        "rules_before",
        f"{options.servers} servers, {_MODELS * options.pools} models with a limit and two SLOs each; "
        f"scrapes and evaluations every {_SECONDS} s; both sets of rules in a Prometheus of their own at the "
        f"same time, watched for {options.minutes:g} minutes.\n\n"
        f"{table(['rules of', 'rules', 'evaluation ms/min', 'CPU ms/min', 'samples read M/min'], rows)}\n\n"
        f"Now as a multiple of before: {ratios}. The rules that cost most now:\n\n"
        f"{table(['rule', 'ms/min'], [[name, f'{cost:.1f}'] for name, cost in most])}",
        values,
        as_json=options.json,
        write=options.write,
    )


def _start(
    folder: Path, held: ExitStack, checkouts: Mapping[str, Path], options: argparse.Namespace
) -> dict[str, PrometheusProgram]:
    """All programs; a Prometheus for the rules of each checkout."""
    pages = held.enter_context(Pages(options.servers, _MODELS, options.pools))
    manager = held.enter_context(plain_alertmanager(folder))
    serve = free_port()
    # Each Prometheus has an address of its own, which no rule reads.
    fleet = write_fleet(
        folder, pages, seconds=_SECONDS, prometheus="http://127.0.0.1:9", serve=serve, manager=manager.url
    )
    held.enter_context(ServeProgram(fleet, port=serve))
    return {
        name: held.enter_context(
            PrometheusProgram(
                programs.find("prometheus"), _built(checkout, fleet, folder / name), folder / name / "run"
            )
        )
        for name, checkout in checkouts.items()
    }


def _built(checkout: Path, fleet: Path, out: Path) -> dict[str, Any]:
    """The configuration of Prometheus that `tritonobs build` of a checkout makes."""
    argv = [sys.executable, "-m", "tritonobs", "build", str(fleet), "--output", str(out)]
    subprocess.run(argv, check=True, cwd=checkout, env={**os.environ, "PYTHONPATH": str(checkout)})
    config: dict[str, Any] = yaml.safe_load((out / "prometheus/prometheus.yml").read_text(encoding="utf-8"))
    config["rule_files"] = [str(out / "prometheus" / file) for file in config["rule_files"]]
    return config


def _watch(stack: Mapping[str, PrometheusProgram], minutes: float) -> dict[str, dict[str, Any]]:
    """What the rules of each cost in a minute, and what the whole process spends."""
    started, cpu = time.monotonic(), {name: _cpu_seconds(one.pid) for name, one in stack.items()}
    time.sleep(60 * minutes)
    passed = (time.monotonic() - started) / 60
    spent = {name: 1000 * (_cpu_seconds(one.pid) - cpu[name]) / passed for name, one in stack.items()}
    values = {}
    for name, one in stack.items():
        costs = list(_costs(one.url))
        each: dict[str, float] = defaultdict(float)
        for rule, seconds, _ in costs:
            each[rule] += 1000 * seconds
        values[name] = {
            "rules": len(costs),
            "evaluation_ms": sum(each.values()),
            "cpu_ms": spent[name],
            "samples_m": sum(samples for *_, samples in costs) / 1e6,
            "each": dict(each),
        }
    return values


def _costs(url: str) -> Iterator[tuple[str, float, float]]:
    """Of every rule its name, the seconds of its evaluations in a minute, and the samples that they read.

    The quickest of some evaluations counts: others are slower for what else the machine does.
    """
    for group in requests.get(f"{url}/api/v1/rules", timeout=60).json()["data"]["groups"]:
        for rule in group["rules"]:
            looks = []
            for _ in range(_LOOKS):
                asked = {"query": rule["query"], "stats": "all"}
                answer = requests.post(f"{url}/api/v1/query", data=asked, timeout=60).json()
                looks.append(answer["data"]["stats"])
            seconds = min(one["timings"]["execTotalTime"] for one in looks)
            samples = looks[0]["samples"]["totalQueryableSamples"]
            yield rule["name"], seconds * 60 / group["interval"], samples * 60 / group["interval"]


def _cpu_seconds(pid: int) -> float:
    used = psutil.Process(pid).cpu_times()
    return float(used.user + used.system)


if __name__ == "__main__":
    main()
