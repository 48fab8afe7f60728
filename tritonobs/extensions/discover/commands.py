"""`discover`: a fleet file from what runs."""

from __future__ import annotations

import re
from pathlib import Path

import click

from tritonobs.cli.say import say
from tritonobs.cli.values import Address
from tritonobs.files import read_text, replace

# What RFC 9110 allows in the name of a field (a token).
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


class _Header(click.ParamType[tuple[str, str]]):
    """`name: value`; in the environment one a line. The value is a secret, so no error repeats it."""

    name = "header"
    # click would split at every space, and there is one after the colon.
    envvar_list_splitter = "\n"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Name and value."""
        name, colon, text = str(value).partition(":")
        # A line break in the value would begin another header.
        if not colon or not _HEADER.fullmatch(name.strip()) or not text.strip().isprintable():
            self.fail("a header is a name, a colon and a value", param, ctx)
        return name.strip(), text.strip()


@click.command(epilog="Example: tritonobs discover http://127.0.0.1:8000 > fleet.yaml")
@click.argument("urls", nargs=-1, type=Address(), metavar="URL...")
@click.option(
    "--metrics",
    "pages",
    type=Address(),
    multiple=True,
    help="Metrics page of each URL, in order.  [default: port 8002]",
)
@click.option(
    "--into",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Add what is missing to this fleet file; its content and comments stay.",
)
@click.option(
    "--header",
    "headers",
    type=_Header(),
    multiple=True,
    envvar="TRITONOBS_TRITON_HEADER",
    show_envvar=True,
    help="Sent with every request, for endpoints that Triton restricts: 'admin-key: secret'.",
)
@click.option("--fleet", default="fleet", show_default=True, help="Name of the fleet in a new file.")
def discover(
    *,
    urls: tuple[str, ...],
    pages: tuple[str, ...],
    into: Path | None,
    headers: tuple[tuple[str, str], ...],
    fleet: str,
) -> int:
    """Write a fleet file of what running servers serve.

    Models, versions and ensembles come from the servers; measured traffic is added as comments. What Python
    pipelines call cannot be seen from outside; the draft says where that matters. Without a URL, the servers
    are those that the file of --into names or finds.
    """
    from tritonobs.clients.triton import TritonClient  # noqa: PLC0415 (brings requests)
    from tritonobs.extensions.discover.survey import discover as ask  # noqa: PLC0415
    from tritonobs.extensions.discover.survey import draft, merge  # noqa: PLC0415 (brings ruamel.yaml)
    from tritonobs.spec.load import MAX_BYTES  # noqa: PLC0415 (brings pydantic)

    if pages and len(pages) != len(urls):
        raise click.BadParameter(
            f"{len(pages)} pages for {len(urls)} servers; name one for each", param_hint="--metrics"
        )
    if not urls:
        if into is None:
            raise click.UsageError("name the URL of a server, or with --into a fleet file that finds servers")
        urls, pages = _known(into)
    sent = dict(headers)
    found = tuple(
        ask(TritonClient(url, headers=sent), page)
        for url, page in zip(urls, pages or ("",) * len(urls), strict=True)
    )
    if into is None:
        say(draft(found, fleet=fleet), nl=False)
        return 0
    try:
        text, added = merge(read_text(into, most=MAX_BYTES), found)
    except ValueError as error:
        raise click.BadParameter(f"{into} {error}", param_hint="--into") from None
    if added:
        replace(into, text.encode())
    for line in added or ("nothing",):
        say(f"added {line}")
    return 0


def _known(fleet: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The addresses of the servers of a fleet file, and their metrics pages."""
    from tritonobs.cli.values import load_plan  # noqa: PLC0415 (brings pydantic)
    from tritonobs.replicas import find_replicas  # noqa: PLC0415 (brings requests)

    replicas = find_replicas(load_plan(fleet))
    if not replicas:
        raise click.BadParameter(f"no server of {fleet} is there now", param_hint="--into")
    return tuple(one.http_url for one in replicas), tuple(one.metrics_url for one in replicas)
