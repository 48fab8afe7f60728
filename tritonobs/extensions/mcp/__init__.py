"""Answers for agents over the Model Context Protocol: the commands as tools, runbooks as resources.

`server.make_server` puts it together. `ask` runs a command in a process of its own and bounds it, `schemas`
says what its JSON holds, `answers` cuts that to the size that was asked for, and `tools` has a function for
each tool. `web` serves it over HTTP.
"""

from tritonobs.registry import Command, Extension

EXTENSION = Extension(
    summary="the same answers for agents, over the Model Context Protocol",
    commands=(
        Command(
            under="On call",
            name="mcp",
            help="Answer agents over the Model Context Protocol.",
            at="tritonobs.extensions.mcp.commands:mcp",
            order=60,
        ),
    ),
    extras={"mcp": ("mcp", "mcp_types")},
)
