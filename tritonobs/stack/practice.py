"""A fleet file to practise with: the user's or the example's, on free ports, with DingTalk's robots played locally.

The file is a copy in the state folder; the user's own is never changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ruamel.yaml import YAML

from tritonobs.stack.ports import LOOPBACK, free_ports, port_of

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping

ROBOT_SECRET = "SECpractice0000000000000000000000000000000000"  # noqa: S105 (the stand-in's; no robot of DingTalk has it)
ROBOT_TOKEN = "practice"  # noqa: S105 (the same)


def write_practice_fleet(source: Path, target: Path, *, move_ports: bool) -> None:
    """Write a copy of `source` whose DingTalk robots are the stand-in, on free ports if asked.

    The stand-in's own address is noted in `<target folder>/robot-url`.
    """
    yaml = YAML()
    document = yaml.load(source.read_text(encoding="utf-8"))
    if move_ports:
        _move(document)
    (robot_port,) = free_ports(1)
    target.parent.mkdir(parents=True, exist_ok=True)
    robot_url = f"http://{LOOPBACK}:{robot_port}"
    robot_url_file(target.parent).write_text(robot_url, encoding="utf-8")
    webhook = _secret(target.parent / "secrets" / "robot-webhook", f"{robot_url}/robot/send?access_token={ROBOT_TOKEN}")
    secret = _secret(target.parent / "secrets" / "robot-secret", ROBOT_SECRET)
    for section in _sections(document):
        for key in [key for key in section if str(key).endswith("_file")]:
            section[key] = str((source.parent / str(section[key])).absolute())
    for robot in document.get("notify", {}).get("dingtalk", {}).values():
        for key in ("webhook_env", "secret_env"):
            robot.pop(key, None)
        robot.update(webhook_file=str(webhook), secret_file=str(secret))
    with target.open("w", encoding="utf-8") as file:
        yaml.dump(document, file)


def robot_url_file(folder: Path) -> Path:
    """Where the stand-in's address is noted."""
    return folder / "robot-url"


def robot_port(folder: Path) -> int | None:
    """The stand-in's port, or None when this stack talks to the real DingTalk."""
    file = robot_url_file(folder)
    return port_of(file.read_text(encoding="utf-8")) if file.exists() else None


def _move(document: Any) -> None:  # noqa: ANN401 (ruamel's round-trip nodes have no types)
    addresses = document.setdefault("addresses", {})
    names = [name for name in ("prometheus", "alertmanager", "serve") if name in addresses]
    ports = iter(free_ports(len(names) + 2 * len(document["replicas"])))
    for name in names:
        addresses[name] = _with_port(addresses[name], next(ports))
    for replica in document["replicas"]:
        replica["url"] = _with_port(replica["url"], next(ports))
        replica["metrics_url"] = _with_port(replica.get("metrics_url", f"http://{LOOPBACK}/metrics"), next(ports))


def _with_port(url: str, port: int) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=f"{LOOPBACK}:{port}").geturl()


def _secret(path: Path, text: str) -> Path:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
    return path.absolute()


def _sections(node: Any) -> Iterator[MutableMapping[str, Any]]:  # noqa: ANN401
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from _sections(value)
    elif isinstance(node, list):
        for value in node:
            yield from _sections(value)
