"""An agent: the SDK's own client of a server in this process, and commands that read a saved snapshot."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mcp import Client

from tritonobs.extensions.mcp.ask import Commands, Said

if TYPE_CHECKING:
    from pathlib import Path


class Answered:
    """What a tool gave: `answer` is its structured content, `text` what a client without that reads."""

    def __init__(self, result: Any) -> None:
        self.failed = result.is_error
        self.text = result.content[0].text if result.content else ""
        self.answer = result.structured_content

    @property
    def size(self) -> int:
        """Bytes that a model reads."""
        return len(self.text.encode())


class Recorded(Commands):
    """Commands whose triage and stages read a saved snapshot instead of servers."""

    def __init__(self, snapshot: Path) -> None:
        super().__init__()
        self._snapshot = snapshot

    async def json(self, *words: str, **more: Any) -> Said:
        """As it is, but for what is read."""
        if words[0] in {"triage", "stages"}:
            words = (words[0], f"--load={self._snapshot}")
        return await super().json(*words, **more)


def asked(server: Any, tool: str, arguments: dict[str, Any], **client: Any) -> Answered:
    """One call of a tool by the SDK's client."""

    async def call() -> Answered:
        async with Client(server, **client) as agent:
            await agent.list_tools()
            return Answered(await agent.call_tool(tool, arguments))

    return asyncio.run(call())
