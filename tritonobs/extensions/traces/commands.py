"""`traces serve | on | off | slow`: every model's times from Triton's own traces."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

import click

from tritonobs.cli.say import say
from tritonobs.cli.values import (
    FLEET,
    Address,
    Duration,
    Group,
    Parsed,
    format_option,
    load_plan,
    running_url,
)
from tritonobs.extensions.traces.switch import MOST_RATE, Change, Follower, Traffic
from tritonobs.files import replace

_ROUND_SECONDS = 15.0
# At this rate a model that does nothing keeps 0.99 of its throughput (docs/traces.md, cost).
_DEFAULT_RATE = 100
_LONG = 20
_POST_PATH = "/v1/traces"
MODELS = click.option(
    "--model",
    "models",
    multiple=True,
    help="Only this model; may be repeated.  [default: all that are ready]",
)


def _rate(value: object) -> int:
    """`auto`, or a whole number N: every Nth request. Gives 0 for `auto`."""
    if value == "auto":
        return 0
    text = str(value)
    # `isdigit` alone takes ², which `int` refuses, as it does thousands of digits.
    if not (text.isascii() and text.isdigit() and len(text) < _LONG and 0 < int(text) <= MOST_RATE):
        raise ValueError(f"{text[:_LONG]!r} is neither auto nor a number from 1 to {MOST_RATE}")
    return int(text)


@click.group(cls=Group, epilog="Example: tritonobs traces slow --model detector --since 10m")
def traces() -> None:
    """Every model's P99 from Triton's own traces, and its slowest requests."""


@traces.command(epilog="Example: tritonobs traces serve fleet.yaml")
@FLEET
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port.  [default: that of traces.receiver]")
def serve(*, fleet: Path, host: str, port: int | None) -> None:
    """Receive traces in a process of its own, apart from `tritonobs serve`."""
    from tritonobs.extensions.traces.routes import run
    from tritonobs.serve.server import Listen, log_handler

    logging.basicConfig(level=logging.WARNING, handlers=[log_handler()])
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    listen = Listen(host=host, port=port)
    run(load_plan(fleet), listen, ready=lambda url: say(f"receiving at {url}{_POST_PATH}", err=True))


@traces.command(epilog="Example: tritonobs traces on fleet.yaml --rate auto")
@FLEET
@MODELS
@click.option(
    "--rate",
    type=Parsed("rate", _rate),
    default=_DEFAULT_RATE,
    show_default=True,
    help="Trace every Nth request, or `auto`: follow the traffic until Ctrl-C, then restore it. "
    "A server that would make more than 20 traces/s is left unchanged: Triton 24.10 crashed at 30.",
)
@click.option("--force", is_flag=True, help="Set the rate even if it makes too many traces.")
def on(*, fleet: Path, models: tuple[str, ...], rate: int, force: bool) -> int:
    """Let the running servers of FLEET trace a sample of requests.

    Exit status 3 when a server could not be reached, cannot trace to the receiver, or has too much traffic.
    """
    from tritonobs.clients.triton import TritonClient
    from tritonobs.errors import ClientError
    from tritonobs.extensions.traces.switch import danger, hindrance, ready_models, set_rate, traffic_of
    from tritonobs.replicas import find_replicas

    plan, followers, well = load_plan(fleet), [], True
    receiver = plan.traces.receiver_url.rstrip("/") + _POST_PATH
    servers = {replica.name: TritonClient(replica.http_url) for replica in find_replicas(plan)}
    # Watching takes a second; `auto` stays below the most traces a second by itself.
    traffic = traffic_of(servers, models) if rate and not force else {}
    for name, server in servers.items():
        try:
            why_not = hindrance(server.trace_setting(), receiver) or danger(traffic.get(name, {}), rate)
            if not why_not and rate:
                chosen = models or ready_models(server)
                set_rate(server, chosen, rate)
                say(f"{name}: 1 in {rate} requests to {', '.join(chosen)} is traced")
        except ClientError as error:
            why_not = str(error)
        if why_not:
            say(f"{name}: {why_not}", err=True)
            well = False
        else:
            followers.append(Follower(replica=name, traffic=Traffic(server=server, models=models)))
    if not rate and followers:
        _follow(followers)
    return 0 if well else 3


@traces.command(epilog="Example: tritonobs traces off fleet.yaml")
@FLEET
@MODELS
def off(*, fleet: Path, models: tuple[str, ...]) -> int:
    """Stop tracing on the running servers of FLEET.

    Exit status 3 when a server could not be reached.
    """
    from tritonobs.clients.triton import TritonClient
    from tritonobs.errors import ClientError
    from tritonobs.extensions.traces.switch import ready_models, set_rate
    from tritonobs.replicas import find_replicas

    plan, well = load_plan(fleet), True
    for replica in find_replicas(plan):
        server = TritonClient(replica.http_url)
        try:
            # "" is the setting of models without one of their own, including models that are loaded later.
            chosen = models or ("", *ready_models(server))
            set_rate(server, chosen, 0)
            say(f"{replica.name}: no longer traced: {', '.join(filter(None, chosen)) or 'nothing'}")
        except ClientError as error:
            say(f"{replica.name}: {error}", err=True)
            well = False
    return 0 if well else 3


@traces.command(epilog="Example: tritonobs traces slow --model detector --since 10m --html slow.html")
@click.option("--model", required=True, help="The model; also one that only pipelines call.")
@click.option("--since", type=Duration(), default="10m", show_default=True, help="How far back to read.")
@click.option(
    "--receiver",
    type=Address(),
    default=lambda: running_url("serve", "http://127.0.0.1:9900"),
    show_default="serve of the stack running here, or http://127.0.0.1:9900",
    help="The receiver of traces to ask.",
)
@click.option("--count", type=click.IntRange(0, 20), default=1, show_default=True, help="How many to draw.")
@click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), help="Draw all of them into this file, too."
)
@format_option
def slow(*, model: str, since: float, receiver: str, count: int, html: Path | None, form: str) -> int:
    """Show the slowest traced requests to a model, and where each of them waited.

    Exit status 1 when there is none.
    """
    from tritonobs.extensions.traces.waterfall import asked, slow_page, slow_table, waterfall
    from tritonobs.report.console import print_table
    from tritonobs.report.formats import json_text
    from tritonobs.timings.ask import unknown_word

    answer = asked(receiver, model, since)
    found = answer.requests
    if not found and model not in answer.models:
        raise click.BadParameter(unknown_word(model, answer.models, "model was traced"), param_hint="--model")
    if html:
        replace(html, slow_page(model, found).encode())
        say(f"drawn in {html}", err=True)
    if form == "json":
        say(json_text(list(found)))
    elif found:
        print_table(slow_table(model, found))
        for each in found[:count]:
            print_table(waterfall(each))
    else:
        say(f"no traced request to {model} in that time", err=True)
    return int(not found)


def _follow(followers: list[Follower]) -> None:
    """Adapt the rates to the traffic until a signal comes, then restore the earlier rates."""
    import time

    from tritonobs.undo import Undo

    with Undo(on_wait=lambda: say("restoring the rates", err=True)) as undo:
        # All of it is registered before the first rate is set: a signal may come right after that.
        for follower in followers:
            undo.callback(_put_back, follower)
        say("following the traffic; Ctrl-C restores the earlier rates", err=True)
        while True:
            for follower in followers:
                _tell(follower.round())
            time.sleep(_ROUND_SECONDS)


def _put_back(follower: Follower) -> None:
    _tell(follower.put_back())


def _tell(changes: Iterable[Change]) -> None:
    for change in changes:
        where = f"{change.replica}: {change.model}" if change.model else change.replica
        if change.trouble:
            say(f"{where}: {change.trouble}", err=True)
        elif change.rate:
            say(f"{where}: 1 in {change.rate} requests is traced")
        else:
            say(f"{where}: earlier rate restored")
