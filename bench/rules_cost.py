"""What the rules cost a Prometheus with a day of history, beside the same SLOs in the shape Sloth generates.

Two SLOs (availability, latency) for each model-version; both variants in one go, on copies of one history.
"""

from __future__ import annotations

import argparse
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import requests
import yaml
from results import publish, table
from rules_compared import history, sloth_shape
from rules_compared.servers import scraped

from tritonobs import programs
from tritonobs.clients.exposition import read_page
from tritonobs.render.rules import clock_knobs, evaluate_mixin
from tritonobs.units import parse_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

SCRAPE_SECONDS = 30
SERVE_SECONDS = 10
LOOKS = 5
# Long enough for the group that is evaluated every 5 minutes.
WATCH_SECONDS = 320


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--seconds", type=int, default=WATCH_SECONDS, help="how long ours is watched")
    parser.add_argument("--sloth-seconds", type=int, default=150, help="how long Sloth's shape is watched")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into bench/RESULTS.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "history"
        source.mkdir()
        start = history.write(
            programs.find("promtool"), source, models=options.models, replicas=options.replicas,
            hours=options.hours, scrape_seconds=SCRAPE_SECONDS,
        )  # fmt: skip
        page = partial(history.page, models=options.models, replicas=options.replicas, start=start)
        objectives = _objectives(options.models)
        values = {}
        with (
            scraped("triton", page, options.replicas, SCRAPE_SECONDS) as servers,
            scraped("tritonobs", lambda _: objectives, 1, SERVE_SECONDS) as serve,
        ):
            for name, groups, targets, seconds in (
                ("tritonobs", _ours(), [*servers, *serve], options.seconds),
                ("Sloth's shape", _sloth(options.models), servers, options.sloth_seconds),
            ):
                data = Path(folder) / "data"
                shutil.copytree(source, data)
                values[name] = _watch(Path(folder), data, (groups, targets), seconds)
                shutil.rmtree(data)
    rows = [
        [
            name,
            str(seen["rules"]),
            *(f"{seen[key]:.2f}" for key in ("evaluation", "cpu")),
            f"{seen['samples'] / 1e6:.2f}",
            f"{seen['rss']:.0f}",
        ]
        for name, seen in values.items()
    ]
    ours, theirs = values["tritonobs"], values["Sloth's shape"]
    ratios = {key: theirs[key] / ours[key] for key in ("evaluation", "cpu")}
    said = f"{options.models} model-versions x 2 SLOs, {options.replicas} servers, {options.hours:g} h of "
    said += f"history, a scrape every {SCRAPE_SECONDS} s. Ours is all the mixin has, not SLOs alone; its "
    said += "objectives are scraped from one more page, as from `tritonobs serve`."
    header = ["variant", "rules", "evaluation s/min", "CPU s/min", "samples read M/min", "RSS MiB"]
    publish(
        f"rules_cost_{options.replicas}",
        f"{said}\n\n{table(header, rows)}\n\nEvaluation: 1/{ratios['evaluation']:.1f} of Sloth's shape, "
        f"CPU 1/{ratios['cpu']:.1f}.",
        values,
        as_json=options.json,
        write=options.write,
    )


def _ours() -> list[dict[str, Any]]:
    """The mixin: the same rules for any number of models."""
    seconds = Decimal(SCRAPE_SECONDS)
    rules = evaluate_mixin(clock_knobs(seconds, seconds))
    return [*rules["records"]["groups"], *rules["alerts"]["groups"]]


def _objectives(models: int) -> str:
    """What `tritonobs serve` shows of the models; Sloth writes such numbers into its rules."""
    lines = []
    for model in range(models):
        of_model = f'model="m{model}",version="1"'
        lines.append(f"tritonobs_model_info{{{of_model}}} 1")
        lines += [
            f'tritonobs_slo_objective_ratio{{{of_model},slo="{slo}"}} {objective}'
            for slo, objective in history.OBJECTIVES.items()
        ]
        target = f'{of_model},slo="latency",stage="total",le="0.5"'
        lines.append(f"tritonobs_latency_target_seconds{{{target}}} 0.5")
    return "\n".join(lines) + "\n"


def _sloth(models: int) -> list[dict[str, Any]]:
    """One group for each SLO, evaluated as often as our own error budgets are."""
    buckets = 'tritonobs_stage_duration_seconds_bucket{{model="m{0}",stage="total",le="{1}"}}'
    groups = []
    for model in range(models):
        chosen = f'{{model="m{model}"}}'
        counters = {
            "availability": (
                f"nv_inference_request_failure{chosen}",
                f"nv_inference_request_success{chosen}",
            ),
            "latency": (buckets.format(model, "0.5"), buckets.format(model, "+Inf")),
        }
        groups += [
            {
                "name": f"m{model}-{slo}",
                "interval": "30s",
                "rules": sloth_shape.rules(f"m{model}", slo, objective, *counters[slo]),
            }
            for slo, objective in history.OBJECTIVES.items()
        ]
    return groups


def _watch(
    folder: Path, data: Path, given: tuple[Sequence[dict[str, Any]], Sequence[dict[str, Any]]], seconds: int
) -> dict[str, float]:
    """Run Prometheus on the data with rules and servers; what it spent in the second half of the time."""
    groups, servers = given
    (folder / "rules.yml").write_text(
        yaml.dump({"groups": list(groups)}, Dumper=yaml.CSafeDumper), encoding="utf-8"
    )
    config = {
        "global": {"evaluation_interval": "30s"},
        "rule_files": [str(folder / "rules.yml")],
        "scrape_configs": list(servers),
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [
        str(programs.find("prometheus")), f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={data}", f"--web.listen-address={address}", "--storage.tsdb.retention.time=90d",
    ]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            time.sleep(seconds / 2)
            watched = psutil.Process(process.pid)
            before, started = watched.cpu_times(), time.monotonic()
            looks = []
            for _ in range(LOOKS):
                time.sleep(seconds / 2 / LOOKS)
                looks.append(_evaluation_seconds(address))
            after, minutes = watched.cpu_times(), (time.monotonic() - started) / 60
            return {
                "rules": sum(len(group["rules"]) for group in groups),
                "evaluation": statistics.mean(looks),
                "cpu": (after.user + after.system - before.user - before.system) / minutes,
                "samples": _samples_read(address, groups),
                "rss": watched.memory_info().rss / 2**20,
            }
        finally:
            process.terminate()


def _evaluation_seconds(address: str) -> float:
    """What a minute of evaluation costs, by the last duration and the interval of every group."""
    seen = read_page(f"http://{address}/metrics", prefixes=("prometheus_rule_group_",)).by_name
    intervals = {
        sample.labels["rule_group"]: sample.value for sample in seen["prometheus_rule_group_interval_seconds"]
    }
    return sum(
        sample.value * 60 / intervals[sample.labels["rule_group"]]
        for sample in seen["prometheus_rule_group_last_duration_seconds"]
    )


def _samples_read(address: str, groups: Sequence[dict[str, Any]]) -> float:
    """How many samples a minute of evaluation reads, by a hundred groups: what no other process changes."""
    # Odd: of Sloth's shape every second group is about latency.
    step = max(1, len(groups) // 100) | 1
    read = 0.0
    for group in groups[::step]:
        for rule in group["rules"]:
            asked = {"query": rule["expr"], "stats": "all"}
            answer = requests.post(f"http://{address}/api/v1/query", data=asked, timeout=60).json()
            samples = answer["data"]["stats"]["samples"]["totalQueryableSamples"]
            read += samples * 60 / float(parse_duration(group["interval"]))
    return read * len(groups) / len(groups[::step])


if __name__ == "__main__":
    main()
