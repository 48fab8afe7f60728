"""`serve`, `notify test`: the daemon, and a test message."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import click

from tritonobs.chats.registry import robot_chats
from tritonobs.cli.say import say
from tritonobs.cli.values import FLEET, Group, load_plan
from tritonobs.serve import trial
from tritonobs.serve.app import run
from tritonobs.serve.server import Listen, log_handler

_Command = TypeVar("_Command", bound=Callable[..., object])

# As Kubernetes names them: a namespace is a DNS label, a Lease a DNS subdomain.
_LEASE = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?/[a-z0-9]([a-z0-9.-]*[a-z0-9])?")


def _lease(_: click.Context, __: click.Parameter, value: str) -> str:
    """Both parts of the name, or nothing."""
    if value and not _LEASE.fullmatch(value):
        raise click.BadParameter(f"found {value!r}; allowed is NAMESPACE/NAME, like monitoring/tritonobs")
    return value


def _chat_urls(help_text: str) -> Callable[[_Command], _Command]:
    """An option `--CHAT-url` for each chat with robots."""

    def add(command: _Command) -> _Command:
        for chat in reversed(tuple(robot_chats())):
            option = click.option(
                f"--{chat.name}-url", default="", metavar="BASE", help=help_text.format(chat.title)
            )
            command = option(command)
        return command

    return add


def _given(urls: Mapping[str, str]) -> dict[str, str]:
    """By chat, what was given."""
    return {name.removesuffix("_url"): url for name, url in urls.items() if url}


@click.command(epilog="Example: tritonobs serve fleet.yaml")
@FLEET
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port.  [default: that of addresses.serve]")
@_chat_urls("Send to this address instead of {}'s.")
@click.option("--without-auth", is_flag=True, help="Accept alerts from every machine that reaches HOST.")
@click.option("--name", "names", multiple=True, help="Another host name under which clients reach it.")
@click.option(
    "--lease",
    default="",
    metavar="NAMESPACE/NAME",
    callback=_lease,
    help="Leader election: only the process that holds this Kubernetes Lease delivers alerts.",
)
@click.option("-v", "--verbose", is_flag=True, help="Log successes too.")
def serve(
    *,
    fleet: Path,
    host: str,
    port: int | None,
    without_auth: bool,
    names: tuple[str, ...],
    lease: str,
    verbose: bool,
    **urls: str,
) -> None:
    """Serve limits as series, and deliver alerts to chats."""
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[log_handler()])
    # Its debug lines carry the robots' tokens.
    logging.getLogger("urllib3").setLevel(logging.WARNING)
    listen = Listen(
        host=host,
        port=port,
        without_auth=without_auth,
        names=frozenset(name.lower() for name in names),
        lease=lease,
    )
    run(fleet, listen, chat_urls=_given(urls), ready=lambda url: say(f"serving at {url}", err=True))


@click.group(cls=Group, epilog="Example: tritonobs notify test oncall")
def notify() -> None:
    """Test the delivery of alerts."""


@notify.command(epilog="Example: tritonobs notify test oncall")
@click.argument("robot")
@click.option(
    "--fleet",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    default=Path("fleet.yaml"),
    show_default=True,
    help="The fleet file.",
)
@click.option(
    "--via",
    type=click.Choice(trial.PATHS),
    default="serve",
    show_default=True,
    help="direct: from this process; serve: from the running daemon; alertmanager: as an alert, through the "
    "whole path.",
)
@_chat_urls("With `direct`: this address instead of {}'s.")
def test(*, robot: str, fleet: Path, via: trial.Via, **urls: str) -> None:
    """Send a test message to ROBOT and wait until its chat has accepted it."""
    trial.try_robot(load_plan(fleet), robot, via, chat_urls=_given(urls))
    say(f"robot {robot} accepted a test message")
