"""A real Alertmanager and a real `tritonobs serve` between a test's alerts and strict robots."""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import requests

from support.account import Account, named, settle
from support.chosen import CHAT
from support.programs import AlertmanagerProgram, ServeProgram, free_port
from tritonobs.chats.registry import robot_chat
from tritonobs.extensions.lab.robot import RobotDouble
from tritonobs.plan.build import build_plan
from tritonobs.programs import find
from tritonobs.render.alertmanager import render_alertmanager
from tritonobs.render.artifact import write_artifacts
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tritonobs.plan.fleet import Plan

FLEET = """\
fleet: shop
replicas: [{{name: a, url: "http://10.0.0.1:8000"}}]
addresses:
  prometheus: http://127.0.0.1:1
  alertmanager: http://127.0.0.1:{alertmanager}
  serve: http://127.0.0.1:{serve}
models:
  inspect: {{pipeline: bls, calls: {{nms: 1}}, versions: {{"1": {{}}}}}}
  nms: {{versions: {{"1": {{}}}}}}
notify:
  auth: {{{auth}}}
  {chat}: {{{robots}}}
{notify}
"""
TOKEN = "tok-5a1b9c"
A_TICK_SECONDS = 11.5
"""A little more than a critical group's interval: by then Alertmanager has had its next chance to tell."""
SIDE_BY_SIDE = 4
"""Scenarios mostly wait; more of them at once, and two cores are slower than what they wait for."""
RECORDS = "TRITONOBS_FAULT_RECORDS"
"""Names a file that gets the account of every fault, one JSON object a line; bench/delivery.py reads it."""


@dataclass(kw_only=True)
class Way:
    """The way of alerts: managers, serve, robots by name. `posted` is each piece of news and its moment."""

    folder: Path
    serve: ServeProgram
    managers: list[AlertmanagerProgram]
    robots: dict[str, RobotDouble]
    secrets: list[str] = field(default_factory=list)
    clock: Callable[[], float] = time.time
    posted: dict[str, float] = field(default_factory=dict)

    @property
    def robot(self) -> RobotDouble:
        """The first robot."""
        return next(iter(self.robots.values()))

    def post(self, *models: str, resolved: bool = False, **labels: str) -> None:
        """Tell every Alertmanager of one firing (or resolved) page for each model."""
        now = datetime.now(timezone.utc)
        ends_at = now - timedelta(seconds=1) if resolved else now + timedelta(minutes=10)
        alerts = [
            {
                "labels": {
                    "alertname": "TritonQpsAboveLimit",
                    "severity": "critical",
                    "model": model,
                    **labels,
                },
                "annotations": {"description": f"{model} gets 12 requests/s, the limit is 8."},
                "endsAt": ends_at.isoformat(),
            }
            for model in models
        ]
        for model in models:
            self.posted.setdefault(f"{model} {'resolved' if resolved else 'firing'}", self.clock())
        for manager in self.managers:
            manager.post_alerts(*alerts)

    def call(self, robot: str, payload: Mapping[str, object]) -> requests.Response:
        """Post to serve's webhook, as an Alertmanager that is not here would."""
        url = f"{self.serve.url}/alertmanager/{CHAT}/{robot}"
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return requests.post(url, json=payload, headers=headers, timeout=40)

    def page(self) -> str:
        """Serve's metrics."""
        return requests.get(f"{self.serve.url}/metrics", timeout=10).text

    def named(self, robot: str = "oncall") -> list[str]:
        """The news in this robot's messages, as `model firing` and `model resolved`, in their order."""
        return [news for news, _ in named(self.robots[robot].messages)]

    def account(self, fault: str, *robots: str, wanted: Sequence[str] = ()) -> Account:
        """What became of `wanted` (all that was posted, unless said) at these robots (all of them)."""
        moments = {news: at for news, at in self.posted.items() if not wanted or news in wanted}
        messages = [message for name in robots or self.robots for message in self.robots[name].messages]
        return settle(fault, moments, messages)

    def wait(self, wanted: Callable[[], object], *, seconds: float = 90.0) -> None:
        """Until that comes true; fails with what the parts wrote when it does not."""
        deadline = time.monotonic() + seconds
        while not wanted():
            assert time.monotonic() < deadline, self.evidence()
            time.sleep(0.05)

    def a_tick_later(self) -> None:
        """What was not sent by then will not be sent."""
        time.sleep(A_TICK_SECONDS)

    def evidence(self) -> str:
        """What the parts wrote, for a failing test."""
        attempts = {name: [one.outcome for one in robot.attempts] for name, robot in self.robots.items()}
        said = {name: self.named(name) for name in self.robots}
        return f"{attempts}\n{said}\n{self.serve.log.read_text()[-3000:]}"

    def require_no_secret_written(self) -> None:
        """Neither in a log nor in what was built."""
        files = [self.serve.log, *(manager.log for manager in self.managers)]
        files += [file for file in (self.folder / "alertmanager").rglob("*") if file.is_file()]
        written = "".join(file.read_text() for file in files)
        assert written
        assert [secret for secret in self.secrets if secret in written] == []


@dataclass(kw_only=True)
class Builder:
    """Starts ways below a folder; they end with `running`."""

    folder: Path
    running: ExitStack
    ways: list[Way] = field(default_factory=list)

    def __call__(
        self,
        *robots: str,
        notify: str = "",
        fields: Mapping[str, str] | None = None,
        auth: str = "token_file: secrets/token",
        managers: int = 1,
        more_secrets: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.time,
        edit: Callable[[str], str] = str,
    ) -> Way:
        """A running way with robots of these names (`oncall` alone, unless said).

        `edit` changes Alertmanager's configuration, where a test cannot use it as generated.
        """
        (self.folder / "secrets").mkdir()
        doubles = {
            name: self.running.enter_context(RobotDouble(chat=CHAT, clock=clock))
            for name in robots or ("oncall",)
        }
        secrets = {"token": TOKEN, **(more_secrets or {})}
        for name, robot in doubles.items():
            secrets |= {f"{name}-webhook": robot.webhook_url}
            if robot.secret:
                secrets |= {f"{name}-secret": robot.secret}
        for name, text in secrets.items():
            (self.folder / "secrets" / name).touch(mode=0o600)
            (self.folder / "secrets" / name).write_text(text)
        fleet = self.folder / "fleet.yaml"
        fleet.write_text(
            FLEET.format(
                alertmanager=free_port(),
                serve=free_port(),
                auth=auth,
                chat=CHAT,
                robots=_entries(doubles, fields or {}),
                notify=notify,
            )
        )
        plan = build_plan(load_fleet(fleet), self.folder)
        config = self._configure(plan, edit)
        serve = ServeProgram(fleet, port=_port_of(plan.addresses.serve_url))
        way = Way(
            folder=self.folder,
            serve=self.running.enter_context(serve),
            managers=[self.running.enter_context(one) for one in _managers(config, plan, managers)],
            robots=doubles,
            secrets=[*secrets.values(), *(robot.rules.token for robot in doubles.values())],
            clock=clock,
        )
        self.ways.append(way)
        return way

    def _configure(self, plan: Plan, edit: Callable[[str], str]) -> Path:
        write_artifacts(render_alertmanager(plan), self.folder)
        config = self.folder / "alertmanager" / "alertmanager.yml"
        config.write_text(edit(config.read_text()))
        return config


@pytest.fixture(scope="session")
def builder() -> type[Builder]:
    """Makes builders of ways."""
    return Builder


@pytest.fixture(scope="session")
def accounts_of(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[object], list[Account]]]:
    """The accounts of a scenario. All that this run asks for are played side by side, from now on."""
    asked = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    scenarios = [params["scenario"] for params in asked if "scenario" in params]
    with ThreadPoolExecutor(SIDE_BY_SIDE) as stage:
        played: dict[object, Future[list[Account]]] = {
            scenario: stage.submit(_play, scenario, tmp_path_factory.mktemp(scenario.__name__))
            for scenario in scenarios
        }
        yield lambda scenario: played[scenario].result()


def _play(scenario: Callable[[Builder], list[Account]], folder: Path) -> list[Account]:
    with ExitStack() as running:
        build = Builder(folder=folder, running=running)
        accounts = scenario(build)
        for made in build.ways:
            made.require_no_secret_written()
    records = os.environ.get(RECORDS)
    if records:
        with Path(records).open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(account)) + "\n" for account in accounts)
    return accounts


def _entries(robots: Mapping[str, RobotDouble], fields: Mapping[str, str]) -> str:
    more = "".join(f", {key}: {value}" for key, value in robot_chat(CHAT).example.items())
    return ", ".join(
        f"{name}: {{webhook_file: secrets/{name}-webhook"
        f"{f', secret_file: secrets/{name}-secret' if robot.secret else ''}{more}{fields.get(name, '')}}}"
        for name, robot in robots.items()
    )


def _port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


def _managers(config: Path, plan: Plan, count: int) -> list[AlertmanagerProgram]:
    clusters = [f"127.0.0.1:{free_port()}" for _ in range(count)] if count > 1 else [""]
    return [
        AlertmanagerProgram(
            find("alertmanager"),
            config,
            config.parents[1] / f"data-{number}",
            port=0 if number else _port_of(plan.addresses.alertmanager_url),
            cluster=cluster,
            peers=[other for other in clusters if other != cluster],
        )
        for number, cluster in enumerate(clusters)
    ]
