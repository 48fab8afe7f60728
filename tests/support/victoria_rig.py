"""vmagents, VictoriaMetrics and vmalert beside one Prometheus with the same rules, over the same pages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import requests
import yaml

from support.beside import Beside, groups, labelled, loaded
from support.programs import AlertmanagerProgram, Program, free_port
from support.receivers import ReceiverDoubles
from support.steady_pages import asks_as
from tritonobs import programs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import ExitStack
    from pathlib import Path

    from support.beside import Configs, Row

AGENTS: Final = 3
PROGRAMS: Final = ("victoria-metrics", "vmagent", "vmalert")
STORE_FLAGS: Final = ("-search.maxLookback=5m", "-search.latencyOffset=1s")
VMALERT_FLAGS: Final = (
    "-remoteWrite.flushInterval=1s",
    "-rule.resendDelay=1m",
    "-disableAlertgroupLabel",
    "-datasource.lookback=5s",
)
"""As docs/scale.md says."""
_ANSWER_SECONDS: Final = 10
_ALERTMANAGER: Final = """\
route: {{receiver: all, group_by: ['...'], group_wait: 0s, group_interval: 1s, repeat_interval: 4h}}
receivers: [{{name: all, webhook_configs: [{{url: "{url}", send_resolved: true}}]}}]
"""


@dataclass(slots=True, kw_only=True)
class Setup:
    """What the programs are started with; a plant changes it."""

    configs: Configs
    store: list[str]
    vmalert: list[str]


@dataclass(slots=True)
class Victoria(Beside):
    """Both ways to watch the fleet, while the block runs: `one`, and `whole`, which is VictoriaMetrics."""

    UNSTEADY: ClassVar[str] = (
        # What was bad is recorded later than what was counted: until a window is full it holds less of it.
        r"slo:sli_error:ratio_rate(?:30m|1h|2h|6h|1d|3d)|slo:error_budget_burn_.+"
        r"|.+:(?:p75_1h|mean15m|mean1d|breath|breath5m)"
        # Counters as they stand, and what is but the noise of a difference.
        r"|replica:triton_requests_succeeded:sum|slo:sli_unmeasured_requests:increase"
    )

    JITTERY: ClassVar[str] = r".+:(?:increase|sampled)"
    JITTER: ClassVar[float] = 0.1

    pages: ReceiverDoubles | None = None
    """What Alertmanager sends of vmalert's alerts."""

    def start(self, held: ExitStack) -> None:
        """One, and all parts of the other."""
        setup = self._setup()
        self.plant(setup)
        for name in ("whole", "agents"):
            (self.folder / name).mkdir()
            asks_as(name, setup.configs[name])
        rules = self._written("whole/rules.yml", setup.configs["whole"].pop("rules"))
        store = self._written("whole/prometheus.yml", setup.configs["whole"])
        shared = self._written("agents/agents.yml", setup.configs["agents"])
        self.prometheus(held, "one", setup.configs["one"])
        self._victoria(held, "victoria-metrics", "whole", f"-promscrape.config={store}", *setup.store)
        for number in range(AGENTS):
            self._victoria(
                held, "vmagent", str(number),
                f"-promscrape.config={shared}",
                f"-promscrape.cluster.membersCount={AGENTS}",
                f"-promscrape.cluster.memberNum={number}",
                f"-remoteWrite.url={self.urls['whole']}/api/v1/write",
            )  # fmt: skip
        alertmanager = self._alertmanager(held)
        self._victoria(
            held, "vmalert", "vmalert",
            f"-rule={rules}", f"-notifier.url={alertmanager}", *setup.vmalert,
        )  # fmt: skip

    def _setup(self) -> Setup:
        agents = [self.address(str(number)) for number in range(AGENTS)]
        one = self.built("one", rules="{keep_firing: false}")
        whole = self.built("whole", rules="{keep_firing: false}", others=f", agents: {agents}")
        store = yaml.safe_load(whole["prometheus/prometheus.yml"])
        store["scrape_configs"] = [
            job for job in store["scrape_configs"] if job["job_name"] != "alertmanager"
        ]
        rules = sorted(path for path in whole if path.startswith("prometheus/rules/"))
        configs = {
            "one": loaded(one, "prometheus/prometheus.yml"),
            "whole": {**store, "rules": {"groups": groups(whole, rules)}},
            "agents": yaml.safe_load(whole["prometheus/agents.yml"]),
        }
        url = self.urls["whole"]
        written = [f"-{what}.url={url}" for what in ("datasource", "remoteWrite", "remoteRead")]
        asked = f"-vmalert.proxyURL={self.address('vmalert')}"
        return Setup(configs=configs, store=[*STORE_FLAGS, asked], vmalert=[*written, *VMALERT_FLAGS])

    def settles(self) -> float:
        """Each rule on the way costs an evaluation."""
        return 16 + 8 * self.scrape_seconds

    def part_of(self, address: str) -> str:
        """Which agent scrapes a server."""
        (found,) = [name for name in map(str, range(AGENTS)) if address in self._scraped_by(name)]
        return found

    def missing(self, part: str) -> Mapping[str, str]:
        """What is said of an agent that is gone."""
        return {"alertname": "TritonobsAgentMissing", "shard": part}

    def on_call(self) -> dict[Row, str]:
        """The alerts that fire for Alertmanager, each with the moment since when."""
        answer = requests.get(f"{self.urls['alertmanager']}/api/v2/alerts", timeout=_ANSWER_SECONDS)
        answer.raise_for_status()
        return {labelled(alert["labels"]): alert["startsAt"] for alert in answer.json()}

    def notified(self) -> list[Row]:
        """Every alert in every call of Alertmanager's, begun or over, in their order."""
        calls = self.pages.webhook if self.pages else ()
        return [labelled(alert["labels"]) for _, said in calls for alert in said["alerts"]]

    def window(self, interval: int) -> int:
        """A sample has the time that its interval began, and is there up to an interval later."""
        return max(12, 2 * interval + 4)

    def _scraped_by(self, agent: str) -> set[str]:
        answer = requests.get(f"{self.urls[agent]}/api/v1/targets", timeout=_ANSWER_SECONDS)
        targets = answer.json()["data"]["activeTargets"]
        return {target["labels"]["replica"].partition(":")[0] for target in targets}

    def _victoria(self, held: ExitStack, program: str, name: str, *flags: str) -> None:
        """One of VictoriaMetrics' programs; all keep their data in a folder of their name."""
        url = self.address(name)
        folder = self.folder / f"{name}-data"
        folder.mkdir()
        where = {"victoria-metrics": "-storageDataPath", "vmagent": "-remoteWrite.tmpDataPath"}.get(program)
        argv = [
            str(programs.find(program)), *flags, *([f"{where}={folder}"] if where else ()),
            f"-httpListenAddr={url.removeprefix('http://')}", "-loggerLevel=WARN",
        ]  # fmt: skip
        started = Program(argv, folder / "log", f"{url}/health")
        self.programs[name] = held.enter_context(started)

    def _alertmanager(self, held: ExitStack) -> str:
        self.pages = held.enter_context(ReceiverDoubles())
        config = self.folder / "alertmanager.yml"
        config.write_text(_ALERTMANAGER.format(url=self.pages.webhook_url("all")), encoding="utf-8")
        started = AlertmanagerProgram(
            programs.find("alertmanager"), config, self.folder / "alertmanager", port=free_port()
        )
        self.urls["alertmanager"] = held.enter_context(started).url
        return self.urls["alertmanager"]

    def _written(self, path: str, what: object) -> Path:
        file = self.folder / path
        # JSON is YAML.
        file.write_text(json.dumps(what), encoding="utf-8")
        return file
