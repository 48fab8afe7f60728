"""What a thousand servers with twenty models each cost one Prometheus 3 with all our rules.

Pages are fakes of healthy servers; limits and objectives are those of a real `tritonobs serve`. For what is
promised let it run three hours: --minutes 180. tools/setup_kubernetes.sh builds this Prometheus.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import requests
import yaml
from results import publish, table
from scale_pages import BOUNDS, Pages, write_fleet

from support.control_plane import missing, parts
from support.operated import plain_alertmanager
from support.programs import PrometheusProgram, ServeProgram, free_port
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.plan.build import build_plan
from tritonobs.render.everything import render_fleet
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MODELS, _SECONDS = 20, 15
_LOOK_SECONDS = 60
_MOST_CORES, _MOST_GIBIBYTES, _SLOWEST_SECONDS = 1.2, 8, 5.0
_SHOWN = 6
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What Prometheus had used `minutes` after the begin; `others_seconds` is the CPU of other programs."""

    minutes: float
    cpu_seconds: float
    others_seconds: float
    mebibytes: float
    series: float
    slowest_seconds: float


def main() -> int:
    """Read the command line, measure, publish; 1 when something is not as it must be."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--servers", type=int, default=1000)
    parser.add_argument("--pools", type=int, default=1, help="the servers of each have models of their own")
    parser.add_argument("--minutes", type=float, default=180)
    parser.add_argument(
        "--block-minutes", type=int, default=120, help="how often the head is cut; 120 as Prometheus does"
    )
    parser.add_argument(
        "--gogc", type=int, default=75, help="growth of the heap, in percent, at which Go collects garbage"
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into bench/RESULTS.md")
    options = parser.parse_args()
    if why := missing("prometheus"):
        sys.exit(why)
    with tempfile.TemporaryDirectory() as name, ExitStack() as held:
        folder = Path(name)
        url, pid = _start(folder, held, options)
        looks = _watch(url, pid, options.minutes)
        seen = _asked(url, options.minutes * 60)
    half = [one for one in looks if one.minutes >= options.minutes / 2]
    spent = 60 * (half[-1].minutes - half[0].minutes)
    cores = (half[-1].cpu_seconds - half[0].cpu_seconds) / spent
    others = (half[-1].others_seconds - half[0].others_seconds) / spent
    peak, slowest = seen["peak_gibibytes"], max(seen["groups"].values())
    rows = [
        ["series", "", f"{looks[-1].series:,.0f}"],
        ["cores of Prometheus, second half", f"{_MOST_CORES}", f"{cores:.2f}"],
        ["cores of all other programs then", "", f"{others:.2f}"],
        ["peak of its memory", f"{_MOST_GIBIBYTES} GiB", f"{peak:.2f} GiB"],
        ["missed iterations", "0", f"{seen['missed']:.0f}"],
        ["evaluations that failed", "0", f"{seen['failed']:.0f}"],
        ["scrapes that failed", "0", f"{seen['dark']:.0f} of {seen['scrapes']:,.0f}"],
        ["slowest group", f"{_SLOWEST_SECONDS:g} s", f"{slowest:.2f} s"],
        ["alerts that fired", "Watchdog", ", ".join(seen["alerts"]) or "none"],
    ]
    text = (
        f"{options.servers:,} servers with {_MODELS} models each, {_MODELS * options.pools:,} models in all, "
        f"watched for {options.minutes:g} minutes. A page has {seen['page']:.0f} series: Triton's own, and "
        f"two stages of {len(BOUNDS)} bounds. Scrapes and evaluations are {_SECONDS} s apart, the rules are "
        "those of `tritonobs build`, with `rules.latency_thresholds`; limits and two SLOs of each model come "
        "from `tritonobs serve`. "
        f"Prometheus is 3.9.1, cuts its head every {options.block_minutes} minutes and has "
        f"`runtime: {{gogc: {options.gogc}}}`; transparent huge pages are `{_huge_pages()}`.\n\n"
        f"{table(['', 'at most', 'was'], rows)}\n\n"
        "The slowest groups, by the longest evaluation that a scrape of Prometheus itself saw:\n\n"
        f"{table(['group', 'longest', 'last'], _slowest(seen['groups'], seen['last']))}\n\n"
        "The rules that took longest when they were evaluated last:\n\n"
        f"{table(['rule', 'last'], [[name, f'{took:.2f} s'] for name, took in seen['rules']])}"
    )
    values = {"cores": cores, "others": others, "looks": [asdict(one) for one in looks], **seen}
    name = "scale" if options.pools == 1 else f"scale {options.pools} pools"
    publish(name, text, values, as_json=options.json, write=options.write)
    good = cores <= _MOST_CORES and peak <= _MOST_GIBIBYTES and slowest <= _SLOWEST_SECONDS
    wrong = (seen["missed"], seen["failed"], seen["dark"])
    return int(not good or any(wrong) or seen["alerts"] != ["Watchdog"])


def _start(folder: Path, held: ExitStack, options: argparse.Namespace) -> tuple[str, int]:
    """All programs; the address and the process of Prometheus."""
    pages = held.enter_context(Pages(options.servers, _MODELS, options.pools))
    manager = held.enter_context(plain_alertmanager(folder))
    own, serve = free_port(), free_port()
    fleet = write_fleet(
        folder,
        pages,
        seconds=_SECONDS,
        prometheus=f"http://127.0.0.1:{own}",
        serve=serve,
        manager=manager.url,
    )
    built = {one.path: one.text for one in render_fleet(build_plan(load_fleet(fleet), folder))}
    held.enter_context(ServeProgram(fleet, port=serve))
    config: dict[str, Any] = yaml.safe_load(built["prometheus/prometheus.yml"])
    (folder / "rules").mkdir()
    for file in config["rule_files"]:
        (folder / file).write_text(built[f"prometheus/{file}"], encoding="utf-8")
    config["runtime"] = {"gogc": options.gogc}
    config["rule_files"] = [str(folder / file) for file in config["rule_files"]]
    prometheus = PrometheusProgram(
        parts() / "prometheus",
        config,
        folder / "prometheus",
        port=own,
        options=[f"--storage.tsdb.min-block-duration={options.block_minutes}m"],
    )
    held.enter_context(prometheus)
    return prometheus.url, prometheus.pid


def _watch(url: str, pid: int, minutes: float) -> list[_Look]:
    """A look each minute and at the end, told as it comes."""
    client, process = PrometheusClient(url, timeout_seconds=60), psutil.Process(pid)
    began = time.monotonic()
    looks: list[_Look] = []
    while not looks or looks[-1].minutes < minutes:
        passed = time.monotonic() - began
        time.sleep(max(0.0, min(minutes * 60, _LOOK_SECONDS * (len(looks))) - passed))
        used, all_used = process.cpu_times(), psutil.cpu_times()
        cpu = used.user + used.system
        busy = sum(all_used) - all_used.idle - all_used.iowait - all_used.guest - all_used.guest_nice
        look = _Look(
            minutes=(time.monotonic() - began) / 60,
            cpu_seconds=cpu,
            others_seconds=busy - cpu,
            mebibytes=process.memory_info().rss / 2**20,
            series=_number(client, "prometheus_tsdb_head_series"),
            slowest_seconds=_number(client, "max(prometheus_rule_group_last_duration_seconds)"),
        )
        before = looks[-1] if looks else look
        looks.append(look)
        cores = (cpu - before.cpu_seconds) / max(1e-9, 60 * (look.minutes - before.minutes))
        print(
            f"minute {look.minutes:.1f}: {look.series:,.0f} series, {cores:.2f} cores, "
            f"{look.mebibytes:,.0f} MiB, slowest group {look.slowest_seconds:.2f} s",
            file=sys.stderr,
            flush=True,
        )
    return looks


def _asked(url: str, seconds: float) -> dict[str, Any]:
    """What Prometheus says of the run."""
    client = PrometheusClient(url, timeout_seconds=60)
    span = f"[{seconds + _SECONDS:.0f}s]"
    page = requests.get(f"{url}/api/v1/rules", timeout=60).json()
    rules = [rule for group in page["data"]["groups"] for rule in group["rules"]]
    took = sorted(((rule["name"], rule["evaluationTime"]) for rule in rules), key=lambda one: -one[1])
    memory = f'max_over_time(process_resident_memory_bytes{{job="prometheus"}}{span})'
    alerts = client.query(f'count by (alertname) (last_over_time(ALERTS{{alertstate="firing"}}{span}))')
    return {
        "peak_gibibytes": _number(client, memory) / 2**30,
        "missed": _number(client, "sum(prometheus_rule_group_iterations_missed_total)"),
        "failed": _number(client, "sum(prometheus_rule_evaluation_failures_total)"),
        "scrapes": _number(client, f'sum(count_over_time(up{{job="triton"}}{span}))'),
        "dark": _number(client, f'sum(count_over_time(up{{job="triton"}}{span}) - sum_over_time(up{span}))'),
        "page": _number(client, 'max(scrape_samples_scraped{job="triton"})'),
        "groups": _by_group(client, f"max_over_time(prometheus_rule_group_last_duration_seconds{span})"),
        "last": _by_group(client, "prometheus_rule_group_last_duration_seconds"),
        "alerts": sorted(row.labels["alertname"] for row in alerts),
        "rules": took[:_SHOWN],
    }


def _huge_pages() -> str:
    """How the kernel gives out huge pages: Prometheus reads millions of small things all over its memory."""
    if not _HUGE_PAGES.exists():
        return "never"
    return _HUGE_PAGES.read_text(encoding="ascii").partition("[")[2].partition("]")[0]


def _number(client: PrometheusClient, query: str) -> float:
    """The only value; 0 without one."""
    return sum(row.value for row in client.query(query)[:1])


def _by_group(client: PrometheusClient, query: str) -> dict[str, float]:
    return {row.labels["rule_group"].rpartition(";")[2]: row.value for row in client.query(query)}


def _slowest(most: Mapping[str, float], last: Mapping[str, float]) -> Sequence[Sequence[str]]:
    names = sorted(most, key=lambda name: -most[name])[:_SHOWN]
    return [[name, f"{most[name]:.2f} s", f"{last[name]:.2f} s"] for name in names]


if __name__ == "__main__":
    sys.exit(main())
