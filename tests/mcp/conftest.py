"""A server in this process and the SDK's own client; commands run as they do for users."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from support.agents import Answered, asked
from tritonobs import assets
from tritonobs.extensions.mcp.ask import Fleet
from tritonobs.extensions.mcp.server import make_server

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tritonobs.extensions.mcp.ask import Commands

    Ask = Callable[..., Answered]


@pytest.fixture(name="fleet_file")
def _fleet_file(tmp_path: Path) -> Path:
    """The example fleet, in a folder of its own."""
    return shutil.copy(assets.folder("examples") / "fleet.yaml", tmp_path / "fleet.yaml")


@pytest.fixture(name="ask")
def _ask(fleet_file: Path) -> Ask:
    """A call of a tool; each has a server of its own, as with stdio."""

    def call(
        tool: str, /, *, commands: Commands | None = None, prometheus: str = "", **arguments: Any
    ) -> Answered:
        fleet = Fleet(fleet_file, prometheus=prometheus)
        return asked(make_server(fleet, commands=commands), tool, arguments)

    return call
