"""Grafana itself, started with the provisioning that `tritonobs build` writes."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import requests

from support.grafana_look import PASSWORD
from tritonobs.programs import LOOPBACK, free_ports
from tritonobs.render.artifact import write_artifacts
from tritonobs.render.grafana import render_grafana


@dataclass(frozen=True, kw_only=True)
class GrafanaServer:
    """One that was started; it may need a minute until it answers."""

    url: str
    log: Path
    process: subprocess.Popen

    def answers(self):
        """Whether it does; a failure when it ended."""
        assert self.process.poll() is None, f"Grafana ended: {self.log.read_text()[-2000:]}"
        try:
            return requests.get(f"{self.url}/api/health", timeout=2).ok
        except requests.RequestException:
            return False


def provisioned(plan, root):
    """The provisioning folder of a fleet, below `root`."""
    folder = root / "built" / "grafana"
    write_artifacts(render_grafana(plan, PurePosixPath(folder)), root / "built")
    return folder


@contextmanager
def grafana_server(program, home, provisioning, root):
    """Grafana on a free port until the block ends; its data and its log below `root`."""
    (port,) = free_ports(1)
    env = {
        **os.environ,
        "GF_PATHS_DATA": str(root / "data"),
        "GF_PATHS_LOGS": str(root / "logs"),
        "GF_PATHS_PLUGINS": str(root / "plugins"),
        "GF_PATHS_PROVISIONING": str(provisioning),
        "GF_SERVER_HTTP_ADDR": LOOPBACK,
        "GF_SERVER_HTTP_PORT": str(port),
        "GF_SECURITY_ADMIN_PASSWORD": PASSWORD,
        "GF_ANALYTICS_REPORTING_ENABLED": "false",
        "GF_ANALYTICS_CHECK_FOR_UPDATES": "false",
        "GF_PLUGINS_PREINSTALL_DISABLED": "true",
    }
    words = [program, *(["server"] if Path(program).name == "grafana" else []), "--homepath", home]
    log = root / "log"
    with log.open("w") as out:
        process = subprocess.Popen(words, env=env, stdout=out, stderr=out)
        try:
            yield GrafanaServer(url=f"http://{LOOPBACK}:{port}", log=log, process=process)
        finally:
            process.terminate()
            process.wait()
