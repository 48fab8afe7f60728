"""A fleet file to practise with: the user's or the example's, on free ports, with a local DingTalk robot.

The file is a copy in the state folder; the user's own is never changed.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ruamel.yaml import YAML

from tritonobs.lab.stack.ports import LOOPBACK, free_ports

_SECRET = "SECpractice0000000000000000000000000000000000"  # noqa: S105 (the local one's; no robot of DingTalk has it)


@dataclass(frozen=True, slots=True, kw_only=True)
class PracticeRobot:
    """The local DingTalk robot: its address, and the files that hold its webhook and secret."""

    url: str
    webhook_file: Path
    secret_file: Path


def make_robot(folder: Path) -> PracticeRobot:
    """Choose a port for the robot and write its secrets below `folder`, readable by their owner alone."""
    url = f"http://{LOOPBACK}:{free_ports(1)[0]}"
    secrets = folder / "secrets"
    secrets.mkdir(mode=0o700, parents=True, exist_ok=True)
    return PracticeRobot(
        url=url,
        webhook_file=_write(secrets / "robot-webhook", f"{url}/robot/send?access_token=practice"),
        secret_file=_write(secrets / "robot-secret", _SECRET),
    )


def write_practice_fleet(
    source: Path, target: Path, robot: PracticeRobot | None, *, move_ports: bool
) -> None:
    """Copy `source` to `target`: if there is a `robot` it plays DingTalk; on free ports if asked."""
    yaml = YAML()
    document = yaml.load(source.read_text(encoding="utf-8"))
    if move_ports:
        _move(document)
    for section in _sections(document):
        for key in [key for key in section if str(key).endswith("_file")]:
            section[key] = str((source.parent / str(section[key])).absolute())
    if robot:
        _play(document, robot)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("w", encoding="utf-8") as file:
        yaml.dump(document, file)


def _play(document: Any, robot: PracticeRobot) -> None:  # noqa: ANN401 (ruamel's round-trip nodes have no types)
    for played in document.get("notify", {}).get("dingtalk", {}).values():
        for key in ("webhook_env", "secret_env"):
            played.pop(key, None)
        played.update(webhook_file=str(robot.webhook_file), secret_file=str(robot.secret_file))


def _move(document: Any) -> None:  # noqa: ANN401 (the same)
    addresses = document.setdefault("addresses", {})
    # Links have to follow the ports.
    addresses.pop("public", None)
    names = [name for name in ("prometheus", "alertmanager", "serve") if name in addresses]
    ports = iter(free_ports(len(names) + 2 * len(document["replicas"])))
    for name in names:
        addresses[name] = _with_port(addresses[name], next(ports))
    for replica in document["replicas"]:
        replica["url"] = _with_port(replica["url"], next(ports))
        replica["metrics_url"] = _with_port(
            replica.get("metrics_url", f"http://{LOOPBACK}/metrics"), next(ports)
        )


def _with_port(url: str, port: int) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=f"{LOOPBACK}:{port}").geturl()


def _write(path: Path, text: str) -> Path:
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
    return path.absolute()


def _sections(node: Any) -> Iterator[MutableMapping[str, Any]]:  # noqa: ANN401 (the same)
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from _sections(value)
    elif isinstance(node, list):
        for value in node:
            yield from _sections(value)
