"""What is wrong with a text that is not YAML, explained for its author."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yaml.reader import ReaderError

from tritonobs.findings import Finding, Place
from tritonobs.spec.reading import NESTED

if TYPE_CHECKING:
    import yaml
    from yaml.error import Mark

_HINTS = {
    "mapping values are not allowed": "a text that contains a colon and a space needs quotes",
    "cannot start any token": "indent with spaces, not tabs; a text that begins with @, ` or % needs quotes",
    "could not find expected ':'": "every line of a mapping is `name: value`",
    "did not find expected key": "the lines of one mapping begin in the same column",
    "unexpected end of stream": "a quote is not closed",
    "expected ',' or": "a bracket is not closed",
}


def syntax_finding(error: yaml.YAMLError, text: str, file: str) -> Finding:
    """The parser's complaint at its place, with a hint for the usual causes."""
    if isinstance(error, ReaderError):
        return Finding(
            place=_offset(text, error.position, file), path="", message=f"not YAML: {error.reason}"
        )
    problem = str(getattr(error, "problem", None) or error)
    context = getattr(error, "context", None)
    mark: Mark | None = getattr(error, "problem_mark", None)
    place = Place(file=file, line=mark.line + 1, column=mark.column + 1) if mark else Place(file=file)
    if "maximum nesting depth" in problem:
        # libyaml 0.2.6 looks ahead, and refuses a thousand levels before our reader has counted the 65th.
        return Finding(place=place, path="", message=NESTED)
    begun: Mark | None = getattr(error, "context_mark", None)
    apart = context and begun and mark and begun.line != mark.line
    since = f", {context} that begins in line {begun.line + 1}" if begun and apart else ""
    hint = next((hint for part, hint in _HINTS.items() if part in problem), "")
    return Finding(place=place, path="", message=f"not YAML: {problem}{since}", hint=hint)


def decode(data: bytes, file: str) -> tuple[str, list[Finding]]:
    """The UTF-8 text of a file, or a finding at the first byte that is none."""
    try:
        # Without `-sig` a byte order mark, which some editors write, would be part of the first name.
        return data.decode("utf-8-sig"), []
    except UnicodeDecodeError as error:
        place = _offset(data[: error.start].decode("utf-8-sig"), -1, file)
        return "", [
            Finding(place=place, path="", message=f"byte 0x{data[error.start]:02x} is not UTF-8 text")
        ]


def _offset(text: str, position: int, file: str) -> Place:
    before = text if position < 0 else text[:position]
    return Place(file=file, line=before.count("\n") + 1, column=len(before) - (before.rfind("\n") + 1) + 1)
