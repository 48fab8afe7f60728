"""A second rule engine: VictoriaMetrics stores a world, vmalert evaluates rules over it afterwards."""

from __future__ import annotations

import json
import re
import subprocess
import time
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import requests
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed

from support.case import rule_name
from support.simulate import series_name
from tritonobs.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from support.case import Groups, Rule, Samples
    from support.simulate import World

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*(?::[a-zA-Z0-9_]+)+")
_ALERT = re.compile(r'ALERTS\{[^}]*alertname="(\w+)"')
_ANSWER_SECONDS = 30
_START_SECONDS = 30
# VictoriaMetrics guesses from the samples how long one of them counts; Prometheus says 5 minutes.
_LOOKBACK = "5m"


@contextmanager
def victoria_metrics(program: Path, folder: Path, port: int) -> Iterator[str]:
    """A VictoriaMetrics on a port of loopback that keeps its data in `folder`; its address."""
    command = [
        str(program), f"-storageDataPath={folder / 'data'}", f"-httpListenAddr=127.0.0.1:{port}",
        f"-search.maxLookback={_LOOKBACK}", "-search.disableCache", "-loggerLevel=ERROR",
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _answers(f"http://127.0.0.1:{port}/health")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


class Past:
    """A world in VictoriaMetrics; its minute 0 lies as far back as it takes for its end to be over."""

    def __init__(self, address: str, world: World) -> None:
        self._address = address
        self._world = world
        now = int(time.time()) // 60 * 60
        self._start = now - int(world.minutes * 60) - 600
        lines = [
            f"{name} {value:.12g} {(self._start + at) * 1000:.0f}"
            for name, values in world.series.items()
            for at, value in zip(world.times, values, strict=True)
            if value is not None
        ]
        self._post("/api/v1/import/prometheus", "\n".join(lines))
        self._post("/internal/force_flush", "")

    def evaluate(self, vmalert: Path, groups: Groups, folder: Path) -> None:
        """Evaluate the rules from the world's beginning to its end; what reads a record comes after it."""
        for number, step in enumerate(_levels(groups)):
            rules = [rule for rule in step if rule_name(rule) not in _read(rule["expr"])]
            self._turn_by_turn([rule for rule in step if rule not in rules])
            file = folder / f"level-{number}.yml"
            interval = format_duration(self._world.scrape_seconds)
            group = {"name": f"level-{number}", "interval": interval, "rules": rules}
            file.write_text(json.dumps({"groups": [group]}), encoding="utf-8")
            command = [
                str(vmalert), f"-rule={file}", f"-datasource.url={self._address}",
                f"-remoteWrite.url={self._address}", "-remoteWrite.flushInterval=100ms",
                f"-replay.timeFrom={_moment(self._start)}", "-replay.rulesDelay=0s",
                f"-datasource.queryStep={interval}",
                f"-replay.timeTo={_moment(self._start + self._world.minutes * 60)}",
                "-replay.maxDatapointsPerQuery=10000", "-disableAlertgroupLabel",
                "-httpListenAddr=127.0.0.1:0",
            ]  # fmt: skip
            subprocess.run(command, check=True, capture_output=True, text=True)
            self._post("/internal/force_flush", "")

    def _turn_by_turn(self, rules: Sequence[Rule]) -> None:
        """Evaluate records that read themselves, as vmalert does: a replay asks once for all."""
        for turn in range(int(self._world.minutes * 60 / self._world.scrape_seconds) + 1 if rules else 0):
            at = self._start + turn * self._world.scrape_seconds
            lines = [
                f"{series_name(rule['record'], dict(row['metric']) | rule.get('labels', {}))}"
                f" {row['value'][1]} {at * 1000}"
                for rule in rules
                for row in self._ask(rule["expr"], at)
            ]
            self._post("/api/v1/import/prometheus", "\n".join(lines))
            self._post("/internal/force_flush", "")

    def reads(self, expr: str, minute: float) -> Samples:
        """What an expression reads at a minute."""
        rows = self._ask(expr, self._start + minute * 60)
        return {frozenset(row["metric"].items()): float(row["value"][1]) for row in rows}

    def _ask(self, expr: str, at: float) -> list[dict[str, Any]]:
        asked = {"query": expr, "time": str(at)}
        answer = requests.get(f"{self._address}/api/v1/query", params=asked, timeout=_ANSWER_SECONDS)
        answer.raise_for_status()
        rows: list[dict[str, Any]] = answer.json()["data"]["result"]
        return rows

    def _post(self, path: str, text: str) -> None:
        requests.post(self._address + path, data=text.encode(), timeout=_ANSWER_SECONDS).raise_for_status()


def _read(expr: str) -> set[str]:
    """The records that an expression reads, and the alerts whose states it asks for."""
    return {*_NAME.findall(expr), *_ALERT.findall(expr)}


def _levels(groups: Groups) -> Iterator[Sequence[Rule]]:
    """The rules in steps: each reads what earlier ones record. No replay fills templates with `query`."""
    left = [
        {name: value for name, value in rule.items() if name != "annotations"}
        for group in groups
        for rule in group["rules"]
    ]
    while left:
        names = {rule_name(rule) for rule in left}
        step = [rule for rule in left if (names - {rule_name(rule)}).isdisjoint(_read(rule["expr"]))]
        assert step, f"these read each other: {sorted(names)}"
        yield step
        left = [rule for rule in left if rule not in step]


@retry(
    stop=stop_after_delay(_START_SECONDS),
    wait=wait_fixed(0.1),
    retry=retry_if_exception_type(requests.RequestException),
    reraise=True,
)
def _answers(url: str) -> None:
    requests.get(url, timeout=_ANSWER_SECONDS).raise_for_status()


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, tz=timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
