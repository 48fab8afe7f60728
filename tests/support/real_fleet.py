"""Two real tritonservers whose models do what a request says, and a Prometheus with the product's rules."""

from __future__ import annotations

import json
import shutil
import signal
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import yaml

from support.programs import PrometheusProgram
from tritonobs import programs
from tritonobs.clients.triton import TritonClient
from tritonobs.extensions.lab.stack.native import lone_triton
from tritonobs.plan.build import build_plan
from tritonobs.render.everything import render_fleet
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Self

    from tritonobs.extensions.lab.stack.native import LoneTriton

A, B = "triton-a", "triton-b"
OWN = {
    A: ("gapped", "shared", "near", "over"),
    B: ("shared", "short", "lonely", "outage"),
}
"""Which server has which models."""
LIMITS = {"near": 8.0, "over": 12.0}
_FLEET = {
    "fleet": "night",
    "cluster": "lab",
    "replicas": [],
    "addresses": {
        "prometheus": "http://127.0.0.1:9090",
        "alertmanager": "http://127.0.0.1:9093",
        "serve": "http://127.0.0.1:9900",
    },
    "prometheus": {"scrape_interval": "5s", "evaluation_interval": "5s"},
    "limits_source": "rules",
    "models": {
        "gapped": {"versions": {"1": {}}, "slos": {"availability": {"objective": "99.9%"}}},
        "shared": {"versions": {"1": {}}},
        "near": {"versions": {"1": {}}, "qps_limit": LIMITS["near"]},
        "over": {"versions": {"1": {}}, "qps_limit": LIMITS["over"]},
        "short": {"versions": {"1": {}}, "slos": {"availability": {"objective": "99.9%"}}},
        "lonely": {"versions": {"1": {}}},
        "outage": {"versions": {"1": {}}, "slos": {"availability": {"objective": "99.9%"}}},
    },
    "notify": {"dingtalk": {}},
}
_MODEL = """
import time

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        (request,) = requests
        said = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()
        command, _, seconds = said[0].decode().partition(" ")
        if command == "fail":
            raise RuntimeError("planted")
        time.sleep(float(seconds or 0))
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", said)])]
"""
_CONFIG = """
backend: "python"
input [ { name: "IN" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "OUT" data_type: TYPE_STRING dims: [ 1 ] } ]
instance_group [ { kind: KIND_CPU count: 1 } ]
version_policy { all { } }
"""


class Servers:
    """The fleet while it runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self.triton: dict[str, LoneTriton] = {}

    def __enter__(self) -> Self:
        try:
            for name, models in OWN.items():
                for model in models:
                    self.version(name, model, "1")
                root = self._folder / f"{name}-root"
                root.mkdir()
                self.triton[name] = self._stack.enter_context(lone_triton(self._folder / name, root))
            self.prometheus = self._stack.enter_context(self._prometheus())
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def api(self, name: str) -> TritonClient:
        """A server's repository API."""
        return TritonClient(self.triton[name].http_url, timeout_seconds=60)

    def url(self, name: str) -> str:
        """Where a server takes requests."""
        return self.triton[name].http_url

    def version(self, name: str, model: str, version: str) -> None:
        """Put a version of a model into a server's repository."""
        code = self._folder / name / model / version
        code.mkdir(parents=True)
        (code / "model.py").write_text(_MODEL, encoding="utf-8")
        (code.parent / "config.pbtxt").write_text(_CONFIG, encoding="utf-8")

    def remove(self, name: str, model: str, version: str) -> None:
        """Take a version of a model out of a server's repository."""
        shutil.rmtree(self._folder / name / model / version)

    @contextmanager
    def frozen(self, name: str) -> Iterator[None]:
        """The server's process stands still while the block runs."""
        process = self.triton[name].part.process()
        assert process is not None
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.send_signal(signal.SIGCONT)

    def discovery(self, names: tuple[str, ...]) -> None:
        """What service discovery answers from now on."""
        groups = [
            {
                "targets": [urlsplit(self.triton[name].metrics_url).netloc],
                "labels": {"replica": name, "cluster": "lab"},
            }
            for name in names
        ]
        new = self._folder / "targets.new"
        new.write_text(json.dumps(groups), encoding="utf-8")
        new.rename(self._folder / "targets.json")

    def _prometheus(self) -> PrometheusProgram:
        replicas = [
            {"name": name, "url": one.http_url, "metrics_url": one.metrics_url}
            for name, one in self.triton.items()
        ]
        file = self._folder / "fleet.yaml"
        file.write_text(yaml.safe_dump({**_FLEET, "replicas": replicas}), encoding="utf-8")
        built = render_fleet(build_plan(load_fleet(file), self._folder))
        rules = []
        for item in built:
            if item.path.endswith(".rules.yml"):
                path = self._folder / Path(item.path).name
                path.write_text(item.text, encoding="utf-8")
                rules.append(str(path))
        config: dict[str, Any] = {
            "global": {"scrape_interval": "5s", "evaluation_interval": "5s"},
            "rule_files": rules,
            "scrape_configs": [
                {
                    "job_name": "triton",
                    "file_sd_configs": [
                        {"files": [str(self._folder / "targets.json")], "refresh_interval": "1s"}
                    ],
                }
            ],
        }
        self.discovery(tuple(self.triton))
        return PrometheusProgram(programs.find("prometheus"), config, self._folder / "prometheus")
