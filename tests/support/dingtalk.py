"""A message to DingTalk, and one of its answers, as our chat writes and reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.chats.chat import Digest, Heard, People, json_body
from tritonobs.chats.dingtalk import CHAT

if TYPE_CHECKING:
    from tritonobs.chats.chat import Message, Reply


_NO_ONE = People()


def markdown(*, title: str, text: str, people: People = _NO_ONE) -> Message:
    """A message that mentions these people."""
    return CHAT.write(Digest(title=title, text=text, people=people))


def reply(*, errcode: int, errmsg: str) -> Reply:
    """What an answer with this number and these words means."""
    return CHAT.read(Heard(status=200, body=json_body({"errcode": errcode, "errmsg": errmsg})))
