"""`serve`, `notify test`: the daemon, and a message to see that it works."""

from __future__ import annotations

import logging
from pathlib import Path

import click

from tritonobs.cli.fleet_file import load_plan
from tritonobs.serve import trial
from tritonobs.serve.daemon import Listen, run


@click.command(epilog="Example: tritonobs serve fleet.yaml")
@click.argument("fleet", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port.  [default: that of addresses.serve]")
@click.option(
    "--dingtalk-url", default="", metavar="BASE", help="Send to this address instead of DingTalk's."
)
@click.option("--without-auth", is_flag=True, help="Let every machine that reaches HOST post alerts.")
@click.option("-v", "--verbose", is_flag=True, help="Log what goes well, too.")
def serve(
    *, fleet: Path, host: str, port: int | None, dingtalk_url: str, without_auth: bool, verbose: bool
) -> None:
    """Serve limits as series, and deliver alerts to DingTalk."""
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(message)s",
    )
    # Its debug lines carry the robots' tokens.
    logging.getLogger("urllib3").setLevel(logging.WARNING)
    listen = Listen(host=host, port=port, without_auth=without_auth)
    run(fleet, listen, dingtalk_url=dingtalk_url, ready=lambda url: click.echo(f"serving at {url}", err=True))


@click.group()
def notify() -> None:
    """Try the way alerts take."""


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
    help="Where to begin: with an alert, at the running daemon, or straight from here.",
)
@click.option(
    "--dingtalk-url", default="", metavar="BASE", help="With `direct`: instead of DingTalk's address."
)
def test(*, robot: str, fleet: Path, via: trial.Via, dingtalk_url: str) -> None:
    """Send a test message to ROBOT and wait until DingTalk has accepted it."""
    trial.try_robot(load_plan(fleet), robot, via, dingtalk_url=dingtalk_url)
    click.echo(f"robot {robot} accepted a test message")
