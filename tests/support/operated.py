"""What the operator makes of our objects, and a Prometheus with it: without nodes nobody starts one."""

from __future__ import annotations

import base64
import gzip
import json
import time
from typing import TYPE_CHECKING, Any

import requests
import yaml

from support.control_plane import parts, prometheus_object, wait
from support.programs import AlertmanagerProgram, Program, free_port
from tritonobs.programs import find

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from support.control_plane import ControlPlane

_TRITON_JOB = "tritonobs-triton"


def rule_files(plane: ControlPlane) -> dict[str, str]:
    """The rules that the operator would mount into Prometheus, by the name of the file."""
    files: dict[str, str] = {}
    for one in plane.objects("configmaps"):
        if "rulefiles" in one["metadata"]["name"]:
            files |= one.get("data", {})
            packed = one.get("binaryData", {})
            files |= {name: gzip.decompress(base64.b64decode(text)).decode() for name, text in packed.items()}
    return files


def built_groups(folder: Path) -> list[str]:
    """Every group of the objects in a folder `kubernetes`, as a text to compare."""
    files = sorted((folder / "base").glob("prometheusrule-*.yaml"))
    return sorted(_text(group) for file in files for group in _load(file.read_text())["spec"]["groups"])


def arrived_groups(plane: ControlPlane) -> list[str]:
    """Every group that the operator has taken."""
    return sorted(_text(group) for text in rule_files(plane).values() for group in _load(text)["groups"])


def refusals(plane: ControlPlane) -> list[str]:
    """What the operator wrote of objects that it did not take."""
    return [line for line in plane.log("operator").splitlines() if "skipping" in line or "invalid" in line]


def _load(text: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
    return loaded


def _text(group: dict[str, Any]) -> str:
    return json.dumps(group, sort_keys=True)


def scrape_config(plane: ControlPlane) -> dict[str, Any]:
    """The configuration that the operator made of our monitors; empty while there is none."""
    words = ("-n", "monitoring", "get", "secret", "prometheus-k8s", "--ignore-not-found", "-o", "json")
    secret = json.loads(plane.kubectl(*words) or "{}")
    packed = secret.get("data", {}).get("prometheus.yaml.gz", "")
    text = gzip.decompress(base64.b64decode(packed)).decode() if packed else "{}"
    # The operator's sidecar puts these in before Prometheus reads the file.
    return _load(text.replace("$(SHARD)", "0").replace("$(POD_NAME)", "prometheus-k8s-0"))


def triton_jobs(config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The parts of the configuration that scrape servers."""
    return [job for job in config.get("scrape_configs", ()) if _TRITON_JOB in job["job_name"]]


def operated_config(plane: ControlPlane, *, release: str = "kps") -> dict[str, Any]:
    """Ask the operator for a Prometheus, and wait until our monitors are in its configuration."""
    (plane.folder / "token").touch(mode=0o600)
    (plane.folder / "token").write_text(plane.token)
    access = {
        "host": plane.url,
        "authorization": {"credentialsFile": str(plane.folder / "token")},
        "tlsConfig": {"insecureSkipVerify": True},
    }
    plane.apply(prometheus_object(release, apiserverConfig=access))
    wait(lambda: triton_jobs(scrape_config(plane)), "the operator's configuration")
    wait(lambda: rule_files(plane), "the operator's rules")
    return scrape_config(plane)


def alertmanager_object() -> dict[str, Any]:
    """An Alertmanager of the operator that takes our AlertmanagerConfig as it is."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "Alertmanager",
        "metadata": {"name": "main", "namespace": "monitoring"},
        "spec": {
            "version": "v0.25.0",
            "replicas": 1,
            "alertmanagerConfigSelector": {},
            "alertmanagerConfigMatcherStrategy": {"type": "None"},
        },
    }


def alertmanager_config(plane: ControlPlane) -> str:
    """The configuration that the operator made of our AlertmanagerConfig; empty while there is none."""
    words = ("-n", "monitoring", "get", "secret", "alertmanager-main-generated", "--ignore-not-found", "-o")
    packed = plane.kubectl(*words, r"jsonpath={.data.alertmanager\.yaml\.gz}")
    return gzip.decompress(base64.b64decode(packed)).decode() if packed else ""


def plain_alertmanager(folder: Path) -> AlertmanagerProgram:
    """It tells nobody; tests ask it."""
    config = folder / "am.yml"
    config.write_text("route: {receiver: none, group_wait: 1s}\nreceivers: [{name: none}]\n")
    return AlertmanagerProgram(find("alertmanager"), config, folder / "am")


class OperatedPrometheus(Program):
    """Prometheus 3 with the operator's rules and its jobs of servers; `url` is where it answers."""

    def __init__(
        self,
        folder: Path,
        config: Mapping[str, Any],
        rules: Mapping[str, str],
        *,
        alertmanager: str,
        flags: Sequence[str] = (),
    ) -> None:
        (folder / "rules").mkdir()
        for name, text in rules.items():
            (folder / "rules" / name).write_text(text)
        managers = [{"static_configs": [{"targets": [alertmanager.removeprefix("http://")]}]}]
        own = {
            "global": config["global"],
            "scrape_configs": triton_jobs(config),
            "rule_files": [f"{folder}/rules/*.yaml"],
            "alerting": {"alertmanagers": managers},
        }
        file = folder / "prometheus.yml"
        file.write_text(yaml.safe_dump(own))
        address = f"127.0.0.1:{free_port()}"
        self.url = f"http://{address}"
        words = [f"--config.file={file}", f"--storage.tsdb.path={folder / 'tsdb'}"]
        argv = [str(parts() / "prometheus"), *words, f"--web.listen-address={address}", *flags]
        super().__init__(argv, folder / "engine.log", f"{self.url}/-/ready")

    def own(self, name: str) -> float:
        """A number without labels of its own metrics."""
        page = requests.get(f"{self.url}/metrics", timeout=30).text
        return next(float(line.split()[1]) for line in page.splitlines() if line.startswith(f"{name} "))


def ask(url: str, query: str) -> list[dict[str, Any]]:
    """What a Prometheus says now."""
    asked = {"query": query, "time": str(time.time())}
    found: dict[str, Any] = requests.get(f"{url}/api/v1/query", params=asked, timeout=30).json()
    return list(found["data"]["result"])


def number(url: str, query: str) -> float:
    """The only value of a query; 0 without one."""
    return sum(float(row["value"][1]) for row in ask(url, query)[:1])


def firing(manager: str) -> dict[str, dict[str, str]]:
    """The labels of each alert that an Alertmanager has, by its name."""
    alerts = requests.get(f"{manager}/api/v2/alerts", timeout=10).json()
    return {one["labels"]["alertname"]: one["labels"] for one in alerts}
