"""`discover`: a fleet file from what runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from tritonobs.cli.say import say
from tritonobs.cli.values import Address
from tritonobs.errors import ClientError
from tritonobs.files import read_text, replace

if TYPE_CHECKING:
    from tritonobs.extensions.discover.survey import FoundReplica  # brings ruamel.yaml

_SIDE_BY_SIDE: Final = 64

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
    help="Metrics endpoint of each URL, in order.  [default: port 8002]",
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
    from tritonobs.extensions.discover.survey import draft, merge
    from tritonobs.spec.load import MAX_BYTES

    if pages and len(pages) != len(urls):
        raise click.BadParameter(
            f"{len(pages)} pages for {len(urls)} servers; name one for each", param_hint="--metrics"
        )
    if not urls:
        if into is None:
            raise click.UsageError("name the URL of a server, or with --into a fleet file that finds servers")
        urls, pages = _known(into)
    found = _asked(urls, pages or ("",) * len(urls), dict(headers))
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


def _asked(urls: Sequence[str], pages: Sequence[str], headers: Mapping[str, str]) -> tuple[FoundReplica, ...]:
    """What each server serves; they are asked side by side, because each is watched for seconds.

    Raises:
        ClientError: some do not answer; all of those are named.
    """
    from tritonobs.clients.triton import TritonClient
    from tritonobs.extensions.discover.survey import discover as ask

    def one(url: str, page: str) -> FoundReplica | ClientError:
        try:
            return ask(TritonClient(url, headers=headers), page)
        except ClientError as error:
            return error

    with ThreadPoolExecutor(max_workers=min(len(urls), _SIDE_BY_SIDE)) as pool:
        answers = tuple(pool.map(one, urls, pages))
    failed = [answer for answer in answers if isinstance(answer, ClientError)]
    if len(failed) == 1:
        raise failed[0]
    if failed:
        lines = "".join(f"\n  {error}" for error in failed)
        raise ClientError(f"{len(failed)} of {len(urls)} servers did not answer, nothing is written:{lines}")
    return tuple(answer for answer in answers if not isinstance(answer, ClientError))


def _known(fleet: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The addresses of the servers of a fleet file, and their metrics pages."""
    from tritonobs.cli.values import load_plan
    from tritonobs.replicas import find_replicas

    replicas = find_replicas(load_plan(fleet))
    if not replicas:
        raise click.BadParameter(f"no server of {fleet} is there now", param_hint="--into")
    return tuple(one.http_url for one in replicas), tuple(one.metrics_url for one in replicas)
