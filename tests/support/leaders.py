"""Two `tritonobs serve` behind one address; the one that delivers is killed in the middle of a burst."""

from __future__ import annotations

import json
import time
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import requests

from support.account import settle
from support.balancer import Balancer
from support.fleets import build_objects
from support.programs import AlertmanagerProgram, ServeProgram, free_port
from tritonobs.extensions.lab.robot import RobotDouble
from tritonobs.plan.build import build_plan
from tritonobs.programs import find
from tritonobs.render.alertmanager import render_alertmanager
from tritonobs.render.artifact import write_artifacts
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from support.control_plane import ControlPlane

_RIGHTS = """\
fleet: shop
replicas: {kubernetes: {selector: app=triton, namespace: models}}
kubernetes: {namespace: models, kinds: [Deployment, StatefulSet], objects: {labels: {release: kps}}}
models: {inspect: {qps_limit: 8}}
"""
_PATIENCE_SECONDS = 150.0
_LOOK_SECONDS = 0.1
_MINUTE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """What became of a burst: alerts never told, told again, the most times, how long nobody delivered."""

    sent: int
    lost: tuple[str, ...]
    doubled: int
    most_times: int
    takeover_seconds: float
    most_in_a_minute: int


def serve_token(cluster: ControlPlane, folder: Path) -> str:
    """A token of the service account, with what the base grants it and nothing else."""
    base = build_objects(folder / "rights", _RIGHTS) / "base"
    files = [file for kind in ("serviceaccount", "role", "rolebinding") for file in base.glob(f"{kind}-*")]
    cluster.kubectl("apply", *(word for file in sorted(files) for word in ("-f", str(file))))
    return cluster.kubectl("-n", "monitoring", "create", "token", "tritonobs").strip()


def hand_over(
    folder: Path, cluster: Mapping[str, Any], *, alerts: int = 100, seconds: float = 5.0
) -> Handover:
    """Kill the holder of the Lease while `alerts` arrive in `seconds`; `cluster` is how to ask the API."""
    with ExitStack() as running:
        robot = running.enter_context(RobotDouble())
        ports = (free_port(), free_port())
        service = running.enter_context(Balancer(ports))
        fleet = _fleet(folder, robot, service.port, cluster)
        plan = build_plan(load_fleet(fleet), folder)
        write_artifacts(render_alertmanager(plan), folder)
        serves = []
        for number, port in enumerate(ports):
            own = folder / f"serve-{number}"
            own.mkdir()
            for name in ("fleet.yaml", "webhook", "secret", "token"):
                (own / name).write_bytes((folder / name).read_bytes())
                (own / name).chmod(0o600)
            program = ServeProgram(own / "fleet.yaml", port=port, options=("--lease", "monitoring/tritonobs"))
            serves.append(running.enter_context(program))
        manager = running.enter_context(
            AlertmanagerProgram(
                find("alertmanager"), folder / "alertmanager" / "alertmanager.yml", folder / "data"
            )
        )
        leader = _leader(serves)
        other = next(one for one in serves if one is not leader)
        posted: dict[str, float] = {}
        killed_at = 0.0
        for number in range(alerts):
            if number == alerts // 2:
                leader.kill()
                killed_at = time.time()
            model = f"model-{number:03d}"
            manager.post_alerts(_alert(model))
            posted[f"{model} firing"] = time.time()
            time.sleep(seconds / alerts)
        _leader([other])
        taken_at = time.time()
        _wait(lambda: settle("", posted, robot.messages).delivered == alerts)
        account = settle("leader killed", posted, robot.messages)
        accepted = [message.received_at for message in robot.messages]
        return Handover(
            sent=account.sent,
            lost=account.lost,
            doubled=len(account.repeated),
            most_times=account.most_times,
            takeover_seconds=taken_at - killed_at,
            most_in_a_minute=max(
                Counter(sum(at <= one < at + _MINUTE for one in accepted) for at in accepted), default=0
            ),
        )


def _fleet(folder: Path, robot: RobotDouble, port: int, cluster: Mapping[str, Any]) -> Path:
    value = {
        "fleet": "shop",
        "replicas": [{"name": "a", "url": "http://10.0.0.1:8000"}],
        "addresses": {"prometheus": "http://127.0.0.1:1", "serve": f"http://127.0.0.1:{port}"},
        "models": {"inspect": {}},
        "kubernetes": {"watch": False, "token_file": "token", **cluster["fleet"]},
        "notify": {"dingtalk": {"oncall": {"webhook_file": "webhook", "secret_file": "secret"}}},
    }
    for name, text in (
        ("webhook", robot.webhook_url),
        ("secret", robot.secret),
        ("token", str(cluster["token"])),
    ):
        (folder / name).touch(mode=0o600)
        (folder / name).write_text(text)
    (folder / "fleet.yaml").write_text(json.dumps(value))
    return folder / "fleet.yaml"


def _leader(serves: list[ServeProgram]) -> ServeProgram:
    found: list[ServeProgram] = []

    def look() -> bool:
        found.extend(one for one in serves if "\ntritonobs_delivers 1.0\n" in _page(one))
        return bool(found)

    _wait(look)
    return found[0]


def _page(serve: ServeProgram) -> str:
    with suppress(requests.RequestException):
        return requests.get(f"{serve.url}/metrics", timeout=30).text
    return ""


def _wait(wanted: Any) -> None:
    ends = time.monotonic() + _PATIENCE_SECONDS
    while not wanted() and time.monotonic() < ends:
        time.sleep(_LOOK_SECONDS)


def _alert(model: str) -> dict[str, Any]:
    return {
        "labels": {"alertname": "TritonQpsAboveLimit", "severity": "critical", "model": model},
        "annotations": {"description": f"{model} gets 12 requests/s, the limit is 8."},
        "endsAt": (datetime.now(timezone.utc) + timedelta(minutes=10)).isoformat(),
    }
