"""The server: tools, resources and prompts of this installation, as the SDK serves them."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.tools import Tool
from mcp_types import ToolAnnotations
from pydantic import ConfigDict

import tritonobs
from tritonobs.extensions.mcp.ask import Commands
from tritonobs.extensions.mcp.changes import Changes
from tritonobs.extensions.mcp.reading import INSTRUCTIONS, add_prompts, add_resources
from tritonobs.extensions.mcp.tools import OFFERED, Tools, is_there
from tritonobs.extensions.mcp.where import Fleet

_READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_CHANGES = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)


def make_server(
    fleet: Fleet, *, allow_changes: bool = False, commands: Commands | None = None
) -> MCPServer[Any]:
    """The server for a fleet; it reads only, unless `allow_changes`."""
    commands = commands or Commands()
    tools = [
        _strict(call, name=name, title=OFFERED[name].title, annotations=_READS)
        for name, call in Tools(fleet, commands).each().items()
    ]
    if allow_changes and is_there("limits"):
        change = Changes(fleet, commands).set_limit
        tools.append(_strict(change, name="set_limit", title="Set a limit", annotations=_CHANGES))
    server: MCPServer[Any] = MCPServer(
        name="tritonobs",
        title="tritonobs",
        version=tritonobs.__version__,
        instructions=INSTRUCTIONS,
        tools=tools,
        subscriptions=False,
        log_level="WARNING",
    )
    add_resources(server, fleet)
    add_prompts(server)
    return server


def quiet(*, verbose: bool) -> None:
    """What the SDK logs: a line for each call with --verbose, and otherwise only what went wrong."""
    logging.getLogger("mcp").setLevel(logging.INFO if verbose else logging.WARNING)


def _strict(call: Callable[..., Any], *, name: str, title: str, annotations: ToolAnnotations) -> Tool:
    """The tool; it refuses arguments that it does not have, which the SDK would pass over."""
    made = Tool.from_function(
        call,
        name=name,
        title=title,
        # Without the indentation of the code, which each agent would read with each list.
        description=inspect.getdoc(call) or "",
        annotations=annotations,
        structured_output=True,
    )
    loose = made.fn_metadata.arg_model
    config = {"model_config": ConfigDict(extra="forbid"), "__module__": __name__}
    strict: Any = type(loose.__name__, (loose,), config)
    made.fn_metadata.arg_model = strict
    made.parameters = strict.model_json_schema(by_alias=True)
    return made
