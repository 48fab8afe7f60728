"""One Prometheus that watches a simulated fleet, and another way to watch it beside that: the same pages."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

import yaml

from support.programs import Program, PrometheusProgram, free_port
from support.steady_pages import SERVE, Fleet, Pool, Served, asks_as, served
from tritonobs import programs
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.plan.build import build_plan
from tritonobs.render.everything import render_fleet
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from typing_extensions import Self

    from tritonobs.plan.fleet import Plan

OVER, LIMIT, TIMES = "c", 40, 8
POOLS: Final = (
    Pool(
        name="vision",
        servers=3,
        down=1,
        models=(
            Served(model="a", qps=4),
            Served(model="a", version="2", qps=2, failing=0.25),
            # With a request waiting at each server, 80 % of its limit for five minutes would be a full queue.
            Served(model="b", qps=7),
        ),
    ),
    Pool(name="text", servers=3, models=(Served(model=OVER, qps=5),)),
    Pool(
        name="flow",
        servers=2,
        models=(
            Served(model="f", qps=3, failing=0.2, ensemble=True),
            Served(model="g", qps=8),
            Served(model="p", qps=2),
        ),
    ),
    # On all shards.
    Pool(name="", servers=6, models=(Served(model="w", qps=3, failing=0.05),)),
)
FLEET: Final = """\
fleet: shop
cluster: east
limits_source: rules
slo_period: 7d
replicas: {{file: {{path: servers.json}}}}
addresses: {{prometheus: "{own}", serve: "http://{serve}:{port}"}}
prometheus: {{scrape_interval: {scrape}s, evaluation_interval: {scrape}s{others}}}
rules: {rules}
defaults:
  slos:
    availability: {{objective: 99%}}
    latency: {{objective: 98%, stage: total, threshold: 500ms}}
models:
  a: {{qps_limit: 60, versions: {{"1": {{}}, "2": {{qps_limit: 30}}}}}}
  b: {{qps_limit: 30, versions: {{"1": {{}}}}}}
  c: {{qps_limit: {limit}, versions: {{"1": {{}}}}}}
  f: {{pipeline: ensemble, calls: {{g: 1}}, versions: {{"1": {{}}}}}}
  g: {{versions: {{"1": {{}}}}}}
  p: {{pipeline: bls, calls: {{g: 2}}, versions: {{"1": {{}}}}}}
  w: {{qps_limit: 100, versions: {{"1": {{}}}}}}
  gone: {{versions: {{"1": {{}}}}}}
"""

_ANSWER_SECONDS: Final = 60
"""On a busy machine."""
Configs = dict[str, dict[str, Any]]
"""What each program is configured with, by its name; `rules` is what its rules files hold."""
Row = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Beside:
    """Both ways to watch the fleet, while the block runs: `one`, and `whole`."""

    UNSTEADY: ClassVar[str] = r".+:(?:mean1d|breath|breath5m)"
    """Records that `one` and `whole` need not agree on while windows are not full."""
    JITTERY: ClassVar[str] = r"(?!)"
    """Those that agree on average: a scrape counts in one evaluation or in the next."""
    JITTER: ClassVar[float] = 0.0
    """How much farther apart these may be than others."""
    JITTER_SECONDS: ClassVar[int] = 60
    """Over how long they are averaged."""

    folder: Path
    scrape_seconds: int = 2
    speed: float = 5.0
    """Waits, and windows of two minutes and more, are so many times shorter."""
    page_seconds: float = 0.0
    """How long a server takes to write its page."""
    plant: Callable[[Any], None] = lambda _: None
    """Changes what `whole` is made with, to see what comes of it."""
    fleet: Fleet = field(init=False)
    programs: dict[str, Program] = field(default_factory=dict)
    stopped: dict[str, Program] = field(default_factory=dict)
    urls: dict[str, str] = field(default_factory=dict)
    port: int = 0
    """Of all pages."""
    _held: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        self.fleet = Fleet(POOLS, self.scrape_seconds, page_seconds=self.page_seconds)
        with ExitStack() as held:
            self.port = held.enter_context(served(self.fleet))
            groups = [
                {"targets": [f"{address}:{self.port}"], "labels": {"pool": pool.name} if pool.name else {}}
                for address, (pool, _, _) in self.fleet.addresses().items()
            ]
            (self.folder / "servers.json").write_text(json.dumps(groups), encoding="utf-8")
            self.start(held)
            self.fleet.start(time.time() + self.settles())
            self._held = held.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def start(self, held: ExitStack) -> None:
        """Start every program."""
        raise NotImplementedError

    def client(self, name: str) -> PrometheusClient:
        """To ask one of them."""
        return PrometheusClient(self.urls[name], timeout_seconds=_ANSWER_SECONDS)

    def settles(self) -> float:
        """Seconds until objectives are there: what comes before them counts for none."""
        return 16

    def holders(self) -> Sequence[str]:
        """Who of `whole` may have alerts."""
        return ("whole",)

    def part_of(self, address: str) -> str:
        """The program that scrapes a server for `whole`."""
        raise NotImplementedError

    def missing(self, part: str) -> Mapping[str, str]:
        """The alert, as labels, that says a part of `whole` is missing."""
        raise NotImplementedError

    def alerts(self, name: str, since: float, states: str = "firing") -> dict[Row, float]:
        """What has fired since then, in `one` or in `whole`, and since when."""
        fired: dict[Row, float] = {}
        for each in ("one",) if name == "one" else self.holders():
            rows = self.client(each).query_range(
                f'ALERTS{{alertstate=~"{states}"}}', start=since, end=time.time(), step_seconds=1
            )
            for row in rows:
                key = labelled({**row.labels, "alertstate": ""})
                fired[key] = min(row.points[0][0], fired.get(key, row.points[0][0]))
        return fired

    def stop(self, part: str) -> None:
        """End a program as a crash would."""
        self.stopped[part] = self.programs.pop(part)
        self.stopped[part].kill()

    def start_again(self, part: str) -> None:
        """Start a program that was stopped."""
        self.stopped[part].start()
        self.programs[part] = self.stopped.pop(part)

    def window(self, interval: int) -> int:
        """Seconds in which a record of `whole` that is made so often has a sample."""
        return max(12, interval + 1)

    def prometheus(self, held: ExitStack, name: str, config: dict[str, Any]) -> None:
        """Start a Prometheus, at the address that it already has."""
        folder = self.folder / name
        folder.mkdir(parents=True)
        (folder / "rules.yml").write_text(json.dumps(config.pop("rules")), encoding="utf-8")
        config["rule_files"] = [str(folder / "rules.yml")]
        asks_as(name, config)
        program = PrometheusProgram(
            programs.find("prometheus"),
            config,
            folder,
            port=int(self.urls[name].rpartition(":")[2]),
            # The most that Prometheus allows scrapes to be late without noting it: 1 % of their interval.
            options=[f"--scrape.timestamp-tolerance={self.scrape_seconds * 10 - 1}ms"],
        )
        self.programs[name] = held.enter_context(program)

    def address(self, name: str) -> str:
        """The address of a program, on a port that was free."""
        return self.urls.setdefault(name, f"http://127.0.0.1:{free_port()}")

    def built(self, name: str, *, rules: str, others: str = "") -> dict[str, str]:
        """What `tritonobs build` writes for `one` or for `whole`."""
        path = self.folder / f"{name}.yaml"
        text = FLEET.format(
            own=self.address(name), serve=SERVE, port=self.port, scrape=self.scrape_seconds, others=others,
            rules=rules, limit=LIMIT,
        )  # fmt: skip
        path.write_text(text, encoding="utf-8")
        return {one.path: one.text for one in render_fleet(self.plan(name))}

    def plan(self, name: str) -> Plan:
        """The plan of `one` or of `whole`."""
        plan = build_plan(load_fleet(self.folder / f"{name}.yaml"), self.folder)
        return replace(plan, rules=replace(plan.rules, speed=self.speed))


def labelled(labels: Mapping[str, str]) -> Row:
    """Labels as a row, without the name and those that are empty."""
    return tuple(sorted((name, value) for name, value in labels.items() if value and name != "__name__"))


def loaded(built: Mapping[str, str], path: str) -> dict[str, Any]:
    """The configuration, with the groups of the files it names as `rules`, and nobody to tell."""
    config: dict[str, Any] = yaml.safe_load(built[path])
    folder = path.rpartition("/")[0]
    config["rules"] = {"groups": groups(built, [f"{folder}/{file}" for file in config.pop("rule_files")])}
    config.pop("alerting", None)
    config["scrape_configs"] = [job for job in config["scrape_configs"] if job["job_name"] != "alertmanager"]
    return config


def groups(built: Mapping[str, str], paths: Sequence[str]) -> list[dict[str, Any]]:
    """The groups of rules files; objectives are evaluated soon."""
    found = [group for path in paths for group in yaml.load(built[path], Loader=yaml.CSafeLoader)["groups"]]
    for group in found:
        if group["name"].startswith("tritonobs-objectives"):
            group["interval"] = "2s"
    return found
