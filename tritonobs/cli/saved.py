"""`--load`: what `triage --save` kept; no server is asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tritonobs.triage.snapshot import Snapshot

load_option = click.option(
    "--load",
    "saved",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Read a file of triage --save instead of servers.",
)


def loaded(path: Path) -> Snapshot:
    """The snapshot in a file.

    Raises:
        BadParameter: the file is none.
    """
    from tritonobs.errors import SnapshotUnusable  # noqa: PLC0415 (only a saved snapshot needs it)
    from tritonobs.triage.saved import load_snapshot  # noqa: PLC0415

    try:
        return load_snapshot(path)
    except SnapshotUnusable as error:
        raise click.BadParameter(str(error), param_hint="--load") from None
