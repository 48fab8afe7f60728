"""`load`: real images, or prompts, in an open loop."""

from __future__ import annotations

import re

import click

from tritonobs.cli.say import say
from tritonobs.cli.values import Address, Duration, format_option, running_url
from tritonobs.extensions.lab.load.schedule import Segment

_INTERRUPTED = 130
_SEGMENT = re.compile(r"(\d+(?:\.\d+)?)(?:-(\d+(?:\.\d+)?))?:(.+)")


class SegmentType(click.ParamType[Segment]):
    """`20:30s` for a steady rate, `5-50:2m` for a ramp."""

    name = "qps[-qps]:duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Segment:
        """The segment, or what is allowed."""
        match = _SEGMENT.fullmatch(str(value))
        if match is None:
            self.fail(f"{value!r} is not a segment; write 20:30s, or 5-50:2m for a ramp", param, ctx)
        seconds = Duration().convert(match[3], param, ctx)
        return Segment(qps=float(match[1]), end_qps=float(match[2]) if match[2] else None, seconds=seconds)


@click.command(epilog="Example: tritonobs load --qps 20 --duration 1m --mix 1280x720=8,corrupt=1")
@click.option(
    "--url",
    "urls",
    type=Address(),
    multiple=True,
    default=lambda: (running_url("triton", "http://127.0.0.1:8000"),),
    show_default="that of the stack running here, or http://127.0.0.1:8000",
    help="Replica to send to; several get requests in turn.",
)
@click.option(
    "--model",
    default="inspect",
    show_default=True,
    help="A model whose only input is an image's bytes, or one with the input text_input for prompts.",
)
@click.option("--version", default="", help="Its version.  [default: the server's choice]")
@click.option(
    "--qps",
    type=click.FloatRange(min=0, min_open=True),
    default=5.0,
    show_default=True,
    help="Requests a second.",
)
@click.option(
    "--duration",
    "seconds",
    type=Duration(),
    default="30s",
    show_default=True,
    help="How long to send.",
)
@click.option(
    "--segment",
    "segments",
    type=SegmentType(),
    multiple=True,
    help="Instead of --qps and --duration: 20:30s or 5-50:2m, one after the other.",
)
@click.option(
    "--mix",
    default="1280x720",
    show_default=True,
    help="Kinds of images and their weights: WIDTHxHEIGHT (with grey:, png:, alpha:, cmyk: or turned: before "
    "it), corrupt, empty, huge, unsupported; or prompt:WORDSxTOKENS for a language model.",
)
@click.option(
    "--arrivals",
    type=click.Choice(["even", "poisson"]),
    default="even",
    show_default=True,
    help="Evenly spaced requests, or those of independent clients.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed sends the same images.")
@click.option(
    "--timeout",
    type=Duration(),
    default="30s",
    show_default=True,
    help="The longest time to wait for a response.",
)
@click.option(
    "--max-in-flight",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="The most requests in flight; further ones wait, and count as late.",
)
@format_option
def load(
    *,
    urls: tuple[str, ...],
    model: str,
    version: str,
    qps: float,
    seconds: float,
    segments: tuple[Segment, ...],
    mix: str,
    arrivals: str,
    seed: int,
    timeout: float,
    max_in_flight: int,
    form: str,
) -> int:
    """Send real images, or prompts, in an open loop: the rate does not depend on responses.

    The times of sending are fixed before the run. Ctrl-C ends the run and shows its results. Exit status 1
    when a valid image was not accepted.
    """
    from tritonobs.extensions.lab.load.images import parse_mix, usable  # noqa: PLC0415 (brings OpenCV and numpy)
    from tritonobs.extensions.lab.load.run import LoadPlan, run_load  # noqa: PLC0415 (brings tritonclient)
    from tritonobs.extensions.lab.report import load_progress, load_tables  # noqa: PLC0415
    from tritonobs.report.console import print_table  # noqa: PLC0415 (brings rich)
    from tritonobs.report.formats import json_text  # noqa: PLC0415

    try:
        ingredients = parse_mix(mix)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--mix") from None
    plan = LoadPlan(
        urls=urls,
        model=model,
        version=version,
        segments=segments or (Segment(qps=qps, seconds=seconds),),
        mix=ingredients,
        arrivals="poisson" if arrivals == "poisson" else "even",
        seed=seed,
        timeout_seconds=timeout,
        max_in_flight=max_in_flight,
    )
    with load_progress(f"load on {model}") as show:
        result = run_load(plan, show)
    if form == "json":
        say(json_text(result))
    else:
        for table in load_tables(result):
            print_table(table)
    if result.stopped:
        return _INTERRUPTED
    # Broken images are sent to be refused, so their errors are no finding.
    return int(any(image.errors for image in result.images if usable(image.kind)))
