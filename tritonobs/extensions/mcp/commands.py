"""`mcp`: the same answers for agents."""

from __future__ import annotations

import logging
from pathlib import Path

import click

from tritonobs.cli.say import say
from tritonobs.cli.values import Address
from tritonobs.serve.server import log_handler


@click.command(epilog="Example: tritonobs mcp fleet.yaml")
@click.argument("fleet", required=False, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http"]),
    default="stdio",
    show_default=True,
    help="stdio for a client that starts it, http (streamable) for others.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="With http: address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help="With http: port.  [default: 9920]")
@click.option(
    "--name", "names", multiple=True, help="With http: another host name under which clients reach it."
)
@click.option("--without-auth", is_flag=True, help="With http: answer every machine that reaches HOST.")
@click.option(
    "--prometheus",
    "prometheus_url",
    type=Address(),
    envvar="TRITONOBS_PROMETHEUS",
    show_envvar=True,
    help="Prometheus to ask.  [default: that of the fleet file, or of the stack running here]",
)
@click.option(
    "--cluster",
    default="",
    envvar="TRITONOBS_CLUSTER",
    show_envvar=True,
    help="Which cluster, where Prometheus has several.  [default: that of the fleet file]",
)
@click.option(
    "--allow-changes", is_flag=True, help="Offer a tool that sets limits; a person must agree to each change."
)
@click.option("--answers", is_flag=True, help="Print the fields of every answer in Markdown, and end.")
@click.option("-v", "--verbose", is_flag=True, help="Log every call.")
def mcp(
    *,
    fleet: Path | None,
    transport: str,
    host: str,
    port: int | None,
    names: tuple[str, ...],
    without_auth: bool,
    prometheus_url: str | None,
    cluster: str,
    allow_changes: bool,
    answers: bool,
    verbose: bool,
) -> None:
    """Answer agents over the Model Context Protocol: triage, stages, limits, runbooks and more, as tools.

    FLEET is a fleet file; the default is the stack running here. It reads only, unless --allow-changes. It
    ends with its client, or with http at Ctrl-C.
    """
    if answers:
        from tritonobs.extensions.mcp.fields import markdown

        say(markdown())
        return
    from tritonobs.extensions.mcp.ask import Fleet
    from tritonobs.extensions.mcp.server import make_server

    # Standard output carries the protocol.
    level = logging.INFO if verbose else logging.WARNING
    logging.basicConfig(level=level, handlers=[log_handler()])
    # What the SDK logs: a line for each call with --verbose, and otherwise only what went wrong.
    logging.getLogger("mcp").setLevel(level)
    logging.getLogger("urllib3").setLevel(logging.WARNING)
    asked = Fleet(fleet, prometheus=prometheus_url or "", cluster=cluster)
    # Mistakes of the file are said at the start, not in the first answer.
    plan = asked.plan()
    server = make_server(asked, allow_changes=allow_changes)
    if transport == "stdio":
        server.run("stdio")
        return
    from tritonobs.extensions.mcp import web
    from tritonobs.serve.server import Listen

    listen = Listen(
        host=host, port=port, without_auth=without_auth, names=frozenset(name.lower() for name in names)
    )
    web.run(server, plan, listen, lambda url: say(f"answering at {url}", err=True))
