"""The chats: each module beside this one and `chat` is one. Everything else asks here.

To add a chat, write its module and its page `docs/chats/NAME.md`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from tritonobs.chats.chat import Chat, RobotChat

NAMES: Final = tuple(
    sorted(
        module.name
        for module in pkgutil.iter_modules([str(Path(__file__).parent)])
        if module.name not in {"chat", "registry"}
    )
)


@cache
def chats() -> Mapping[str, Chat]:
    """Every chat by its name, in the order of `NAMES`."""
    return {name: importlib.import_module(f"tritonobs.chats.{name}").CHAT for name in NAMES}


def robot_chats() -> Iterator[RobotChat]:
    """The chats whose robots `tritonobs serve` delivers to."""
    return (chat for chat in chats().values() if isinstance(chat, RobotChat))


def robot_chat(name: str) -> RobotChat:
    """The chat of a robot; the plan knows no others."""
    chat = chats()[name]
    assert isinstance(chat, RobotChat)  # noqa: S101 (a slip of the caller)
    return chat
