"""`discover`: a fleet file from what runs."""

from __future__ import annotations

from pathlib import Path

import click

from tritonobs.cli.values import Address


@click.command(epilog="Example: tritonobs discover http://127.0.0.1:8000 > fleet.yaml")
@click.argument("urls", nargs=-1, required=True, type=Address(), metavar="URL...")
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
    help="Add what this fleet file lacks; nothing in it is changed, comments stay.",
)
@click.option("--fleet", default="fleet", show_default=True, help="Name of the fleet in a new file.")
def discover(*, urls: tuple[str, ...], pages: tuple[str, ...], into: Path | None, fleet: str) -> int:
    """Ask running servers what they serve and write a fleet file of it.

    Models, versions and ensembles are read from the servers, measured traffic stands in comments. What Python
    pipelines call cannot be seen from outside; the draft says where that matters.
    """
    from tritonobs.clients.triton import TritonClient  # noqa: PLC0415 (brings requests)
    from tritonobs.live.discover import discover as ask  # noqa: PLC0415
    from tritonobs.live.draft import draft, merge  # noqa: PLC0415 (brings ruamel.yaml)

    if pages and len(pages) != len(urls):
        raise click.BadParameter(
            f"{len(pages)} pages for {len(urls)} servers; name one for each", param_hint="--metrics"
        )
    found = tuple(
        ask(TritonClient(url), page) for url, page in zip(urls, pages or ("",) * len(urls), strict=True)
    )
    if into is None:
        click.echo(draft(found, fleet=fleet), nl=False)
        return 0
    try:
        text, added = merge(into.read_text(encoding="utf-8"), found)
    except ValueError as error:
        raise click.BadParameter(f"{into} {error}", param_hint="--into") from None
    if added:
        into.write_text(text, encoding="utf-8")
    for line in added or ("nothing",):
        click.echo(f"added {line}")
    return 0
