"""Prompts for language models, as Triton's generate endpoint takes them."""

from __future__ import annotations

import json
import re

_PROMPT = re.compile(r"prompt:([1-9]\d{0,4})x([1-9]\d{0,4})")


def is_prompt(kind: str) -> bool:
    """Whether a kind is `prompt:WORDSxTOKENS`: so many words, and at most so many tokens of an answer."""
    return bool(_PROMPT.fullmatch(kind))


def draw_prompt(kind: str, number: int) -> bytes:
    """The body of a request; prompts of other numbers begin otherwise, so no cache of prefixes knows them.

    Raises:
        ValueError: the kind is not a prompt.
    """
    size = _PROMPT.fullmatch(kind)
    if size is None:
        raise ValueError(f"{kind!r} is not a prompt")
    words = " ".join(f"w{number}.{word}" for word in range(int(size[1])))
    return json.dumps({"text_input": words, "max_tokens": int(size[2])}).encode()
