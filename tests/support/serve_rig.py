"""A running `tritonobs serve` among doubles, and callers that repeat a call as Alertmanager does."""

from __future__ import annotations

import json
import re
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import requests

from support.kubernetes import KubernetesDouble
from support.programs import ServeProgram
from tritonobs.extensions.lab.robot import RobotDouble

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from typing_extensions import Self

JSON = {"Content-Type": "application/json"}
PATIENCE_SECONDS = 120.0
FILES = 1024
"""As many as a service of systemd may open, by default."""
_LOOK_SECONDS = 0.2
_NEWS = re.compile(r"(🔴|🟠|✅).*?\bAttack\*\* (\S+)")
_FLEET: dict[str, Any] = {
    "fleet": "attacked",
    "replicas": [{"name": "a", "url": "http://10.0.0.1:8000"}],
    "models": {"inspect": {"qps_limit": 8, "versions": {"1": {}}}},
    "notify": {
        "dingtalk": {"oncall": {"webhook_file": "webhook", "secret_file": "secret"}},
        "webhook": {"pager": {"url_file": "pager"}},
    },
}


@dataclass(kw_only=True)
class Rig:
    """A context manager; while it is open, serve runs with one robot, and with an API server if asked for."""

    folder: Path
    options: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    sent: list[str] = field(default_factory=list)
    _open: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        self.robot = self._open.enter_context(RobotDouble(timeout_seconds=8))
        self.cluster = self._open.enter_context(KubernetesDouble())
        self.fleet = json.loads(json.dumps(_FLEET))
        self.fleet["addresses"] = {"prometheus": "http://127.0.0.1:1"}
        self.fleet["kubernetes"] = {"api": self.cluster.url, "token_file": "token"}
        self.secret("webhook", self.robot.webhook_url)
        self.secret("secret", self.robot.secret)
        self.secret("pager", f"{self.robot.base_url}/messages")
        self.secret("token", self.cluster.token)
        self.write()
        self.serve = ServeProgram(self.path, env=self.env, options=self.options, files=FILES)
        self._open.enter_context(self.serve)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def path(self) -> Path:
        """The fleet file."""
        return self.folder / "fleet.yaml"

    def secret(self, name: str, text: str) -> None:
        """Put a secret into its file."""
        (self.folder / name).touch(mode=0o600)
        (self.folder / name).write_text(text)

    def write(self) -> None:
        """Put the fleet file in its place, as editors do. JSON is YAML."""
        new = self.folder / "new.yaml"
        new.write_text(json.dumps(self.fleet), encoding="utf-8")
        new.replace(self.path)

    def get(self, path: str, seconds: float = 10.0) -> str:
        """A page of serve's; "" when it does not answer in time."""
        with suppress(requests.RequestException):
            return requests.get(self.serve.url + path, timeout=seconds).text
        return ""

    def alert(self, model: str, **more: object) -> dict[str, object]:
        """An alert as Alertmanager posts it."""
        labels = {"alertname": "Attack", "severity": "warning", "model": model}
        return {"status": "firing", "labels": labels, "fingerprint": model, **more}

    def post(self, *alerts: Mapping[str, object], path: str = "/alertmanager/dingtalk/oncall") -> int:
        """One call; its status, 0 when there was no answer."""
        body = json.dumps({"version": "4", "groupKey": str(alerts[0].get("fingerprint")), "alerts": alerts})
        with suppress(requests.RequestException):
            return requests.post(self.serve.url + path, data=body, headers=JSON, timeout=60).status_code
        return 0

    def tell(self, *models: str) -> threading.Thread:
        """A caller for these, each in a call of its own, until each is accepted; ends with the thread."""
        self.sent += models

        def call() -> None:
            for model in models:
                deadline = time.monotonic() + PATIENCE_SECONDS
                while self.post(self.alert(model)) != requests.codes.ok and time.monotonic() < deadline:
                    time.sleep(1)

        caller = threading.Thread(target=call, daemon=True)
        caller.start()
        return caller

    def named(self) -> list[str]:
        """Every alert in every accepted message."""
        return [name for message in list(self.robot.messages) for _, name in _NEWS.findall(message.text)]

    def wait(self, wanted: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> bool:
        """Whether it came true in time."""
        deadline = time.monotonic() + seconds
        while not wanted():
            if time.monotonic() > deadline:
                return False
            time.sleep(_LOOK_SECONDS)
        return True

    def shows(self, pattern: str, page: str = "/metrics") -> bool:
        """Whether a page of serve's has a line like this."""
        return re.search(pattern, self.get(page), re.MULTILINE) is not None

    def well(self) -> bool:
        """Whether serve says that nothing is wrong."""
        return self.get("/readyz") == "ready\n" and self.shows(r"^tritonobs_config_valid 1\.0$")

    def follows(self) -> bool:
        """Whether a change of the fleet file is in force within the usual time."""
        model = self.fleet["models"]["inspect"]
        model["qps_limit"] += 1
        self.write()
        return self.wait(lambda: self.shows(rf"^tritonobs_qps_limit{{.*}} {model['qps_limit']}\.0$"))
