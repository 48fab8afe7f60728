"""`tritonobs serve`, Alertmanager and Prometheus as processes on free loopback ports, for tests."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from typing import TYPE_CHECKING, Any

from tritonobs.programs import free_ports

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from typing_extensions import Self

_START_SECONDS = 180.0
_STOP_SECONDS = 60.0
_LOOK_SECONDS = 0.05


def free_port() -> int:
    """A free loopback port."""
    (port,) = free_ports(1)
    return port


def _end_by_exception() -> None:
    # By default SIGTERM ends Python at once, and what it started stays behind.
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


class Program:
    """One process; what it says goes to a log file. A context manager that leaves nothing running."""

    def __init__(
        self, argv: Sequence[str], log: Path, ready_url: str, env: Mapping[str, str] | None = None
    ) -> None:
        self.log = log
        self._argv = tuple(argv)
        self._ready_url = ready_url
        self._env = {**os.environ, **(env or {})}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start, and return once it answers.

        Raises:
            RuntimeError: it died or did not answer in time; the text has the end of its log.
        """
        _end_by_exception()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(self._argv, stdout=log, stderr=log, env=self._env)
        deadline = time.monotonic() + _START_SECONDS
        while not _answers(self._ready_url):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"{self._argv[0]} is not ready:\n{self.log.read_text()[-2000:]}")
            time.sleep(_LOOK_SECONDS)

    @property
    def pid(self) -> int:
        """Its process; 0 before it was started."""
        return self._process.pid if self._process else 0

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Ask it to end; its exit status."""
        return self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> int:
        if self._process is None:
            return 0
        if self._process.poll() is None:
            self._process.send_signal(number)
        try:
            return self._process.wait(_STOP_SECONDS)
        finally:
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()


class ServeProgram(Program):
    """`tritonobs serve` for a fleet file; `url` is where it answers; `files` is how many it may open."""

    def __init__(
        self,
        fleet: Path,
        *,
        port: int = 0,
        env: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
        files: int = 0,
    ) -> None:
        port = port or free_port()
        self.url = f"http://127.0.0.1:{port}"
        argv = [sys.executable, "-m", "tritonobs", "serve", str(fleet), "--port", str(port), "-v", *options]
        if files:
            argv = ["/bin/sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *argv]
        super().__init__(argv, fleet.parent / "serve.log", f"{self.url}/readyz", env)


class AlertmanagerProgram(Program):
    """Alertmanager with a configuration file; `url` is where it answers. `peers` are cluster addresses."""

    def __init__(
        self,
        binary: Path,
        config: Path,
        data: Path,
        *,
        port: int = 0,
        cluster: str = "",
        peers: Sequence[str] = (),
    ) -> None:
        port = port or free_port()
        self.url = f"http://127.0.0.1:{port}"
        argv = [
            str(binary),
            f"--config.file={config}",
            f"--storage.path={data}",
            f"--web.listen-address=127.0.0.1:{port}",
            f"--cluster.listen-address={cluster}",
            "--log.level=debug",
            *(f"--cluster.peer={peer}" for peer in peers),
        ]
        data.mkdir(parents=True, exist_ok=True)
        super().__init__(argv, data / "alertmanager.log", f"{self.url}/-/ready")

    def post_alerts(self, *alerts: Mapping[str, Any]) -> None:
        """Tell it of alerts, as Prometheus does."""
        request = urllib.request.Request(
            f"{self.url}/api/v2/alerts",
            data=json.dumps(alerts).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=10):
            pass


class PrometheusProgram(Program):
    """Prometheus with a configuration, in a folder of its own; `url` is where it answers."""

    def __init__(
        self,
        binary: Path,
        config: Mapping[str, Any],
        folder: Path,
        *,
        port: int = 0,
        options: Sequence[str] = (),
    ) -> None:
        port = port or free_port()
        self.url = f"http://127.0.0.1:{port}"
        folder.mkdir(parents=True, exist_ok=True)
        # JSON is YAML.
        (folder / "prometheus.yml").write_text(json.dumps(config), encoding="utf-8")
        argv = [
            str(binary),
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
            *options,
        ]
        super().__init__(argv, folder / "prometheus.log", f"{self.url}/-/ready")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:
            return bool(answer.status == http.client.OK)
    except OSError:
        return False
