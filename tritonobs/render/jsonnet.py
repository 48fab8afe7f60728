"""Jsonnet: our own rules are evaluated in this process, files of others in one of their own.

What others wrote may loop forever, want any amount of memory or import any file, and the library cannot be
stopped from within. A process of its own can be ended, and reads only files below the folders it is given.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import _gojsonnet

from tritonobs.errors import FileUnusable
from tritonobs.files import read_bytes

SECONDS: Final = 10.0
"""Of computing, however long that takes on a busy machine."""
_PATIENCE: Final = 30
"""How many times as long may pass meanwhile."""
MEMORY_BYTES: Final = 1 << 30
MOST_BYTES: Final = 16 * 1024 * 1024
"""Of one file that is read, and of what comes of it."""
FIELDS: Final = ("prometheusAlerts", "prometheusRules", "grafanaDashboards")
"""What a mixin has. They are hidden fields, which jsonnet does not show by itself."""
_ITSELF: Final = "<tritonobs>"
_CHILD: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from tritonobs.render import jsonnet; jsonnet.answer()"
)
_SNIPPET: Final = """\
local written = import %s;
local value = if std.isFunction(written) then written() else written;
local fields = [name for name in %s if std.isObject(value) && std.objectHasAll(value, name)];
"""
_PARTS: Final = "{ [name]: value[name] for name in fields }"
_WHOLE: Final = f"if fields == [] then value else {_PARTS}"
_PLACE = re.compile(
    r"(?P<file>[^\t\n]+?):(?:(?P<line>\d+):(?P<column>\d+)(?:-\d+)?|\((?P<first>\d+):(?P<at>\d+)\)-\(\d+:\d+\))(?=\s|$)"
)
_UNKNOWN = re.compile(r"Undefined external variable|Missing argument", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class External:
    """Variables that a file asks for with `std.extVar`: texts, and code that is evaluated."""

    texts: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, str] = field(default_factory=dict)


NOTHING: Final = External()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """JSON that a file evaluates to, and every file that was read for it, itself the first.

    Where only some fields of a mixin have a value, `refused` says why the others have none.
    """

    text: str
    read: tuple[str, ...]
    refused: Refused | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Why a file has no value: jsonnet's own error and its place, line 0 where there is none.

    `incomplete` says that it wants arguments or variables that only its user knows.
    """

    reason: str
    file: str
    line: int = 0
    column: int = 0
    incomplete: bool = False


def evaluate(file: Path, codes: Mapping[str, str]) -> str:
    """The JSON of a file of our own, with these expressions as its arguments.

    Our own files do not change while a process runs, and a build asks for some of them many times.

    Raises:
        ValueError: jsonnet refuses it; the text is its own.
    """
    try:
        return _own(str(file), tuple(sorted(codes.items())))
    except RuntimeError as error:
        raise ValueError(str(error)) from error


@lru_cache(maxsize=32)
def _own(file: str, codes: tuple[tuple[str, str], ...]) -> str:
    text: str = _gojsonnet.evaluate_file(file, tla_codes=dict(codes))
    return text


def evaluate_apart(
    file: str,
    text: str,
    *,
    within: Sequence[Path],
    libraries: Sequence[Path] = (),
    external: External = NOTHING,
    seconds: float = SECONDS,
) -> Evaluated | Refused:
    """What `text`, which stands in `file`, evaluates to: a mixin's rules and boards, or else all of it.

    Imports are looked for beside the file that has them, then in `libraries`. Only files below `within` and
    `libraries` are read, links followed. It takes at most `seconds` of computing and `MEMORY_BYTES`.
    """
    asked = {
        "file": file,
        "text": text,
        "within": [os.path.realpath(folder) for folder in (*within, *libraries)],
        "libraries": [str(folder) for folder in libraries],
        "texts": dict(external.texts),
        "codes": dict(external.codes),
        "seconds": seconds,
        "memory": MEMORY_BYTES,
        "most": MOST_BYTES,
    }
    # Isolated, because the working folder may hold a file of others that is called like a module.
    command = [sys.executable, "-I", "-c", _CHILD, json.dumps([one for one in sys.path if one])]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(asked).encode(),
            stdout=subprocess.PIPE,
            # `std.trace` writes there without an end.
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE * seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Refused(reason=f"was not evaluated within {_PATIENCE * seconds:g} s, the limit", file=file)
    if done.returncode == -signal.SIGPROF:
        return Refused(reason=f"was not evaluated within {seconds:g} s of computing, the limit", file=file)
    if done.returncode:
        most = f"{MEMORY_BYTES >> 20} MiB"
        return Refused(
            reason=f"ended the evaluator: it may need more than {most} of memory, the limit", file=file
        )
    answer: dict[str, Any] = json.loads(done.stdout)
    refused = _refused(answer["error"], file, answer["read"]) if "error" in answer else None
    if refused and "text" not in answer:
        return refused
    return Evaluated(text=answer["text"], read=tuple(answer["read"]), refused=refused)


def answer() -> None:
    """In the process of its own: one question on the standard input, its answer on the standard output."""
    asked = json.loads(sys.stdin.buffer.read())
    _bound(asked["seconds"], asked["memory"])
    result = _answered(asked, _SNIPPET + _WHOLE, FIELDS)
    if "error" in result:
        # A mixin's boards may need a library that is not there, and its alerts not.
        parts = [_answered(asked, _SNIPPET + _PARTS, [name]) for name in FIELDS]
        held = {name: value for one in parts for name, value in json.loads(one.get("text", "{}")).items()}
        read = dict.fromkeys(path for one in (result, *parts) for path in one["read"])
        result = {**result, **({"text": json.dumps(held)} if held else {}), "read": list(read)}
    sys.stdout.write(json.dumps(result))


def _answered(asked: Mapping[str, Any], snippet: str, fields: Sequence[str]) -> dict[str, Any]:
    importer = _Importer(asked)
    question = snippet % (json.dumps(asked["file"]), json.dumps(fields))
    try:
        text = _gojsonnet.evaluate_snippet(
            _ITSELF,
            question,
            ext_vars=asked["texts"],
            ext_codes=asked["codes"],
            import_callback=importer,
        )
        result = {"text": text}
        if len(text) > asked["most"]:
            result = {"error": f"gives more than {asked['most']} characters, the most that is read"}
    except (RuntimeError, UnicodeDecodeError) as error:
        # Jsonnet quotes what it could not read.
        result = {"error": "is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)}
    if importer.refused and "error" not in result:
        # As a text, a file that was refused would be taken for what it holds.
        result = {"error": importer.refused[0]}
    return {**result, "read": list(importer.read)}


class _Importer:
    """Finds what is imported; what may not be read becomes an error of the place that imports it."""

    def __init__(self, asked: Mapping[str, Any]) -> None:
        self._file, self._text, self._most = asked["file"], asked["text"], asked["most"]
        self._within = [Path(folder) for folder in asked["within"]]
        self._libraries: list[str] = asked["libraries"]
        self.read: dict[str, None] = {}
        self.refused: list[str] = []

    def __call__(self, folder: str, wanted: str) -> tuple[str, bytes]:
        """The path and the content of an import, as jsonnet asks for it."""
        if not folder and wanted == self._file:
            self.read[self._file] = None
            return self._file, str(self._text).encode()
        for path in self._candidates(folder, wanted):
            if not os.path.lexists(path):
                continue
            if not any(Path(os.path.realpath(path)).is_relative_to(one) for one in self._within):
                return self._refuse(
                    wanted, "is outside the given paths; give its folder, too, or name it with --jpath"
                )
            try:
                data = read_bytes(Path(path), most=self._most)
            except FileUnusable as error:
                return self._refuse(wanted, error.reason)
            self.read[path] = None
            return path, data
        return self._refuse(wanted, "is neither beside the file nor in vendor/ or a folder of --jpath")

    def _candidates(self, folder: str, wanted: str) -> Iterator[str]:
        for at in (folder, *self._libraries):
            yield os.path.normpath(os.path.join(at, wanted))  # noqa: PTH118 (jsonnet's own way, with absolute ones)

    def _refuse(self, wanted: str, reason: str) -> tuple[str, bytes]:
        message = f"import {wanted!r}: {reason}"
        self.refused.append(message)
        # An exception would lose its text, and the place of the import.
        return f"refused/{wanted}", f"error {json.dumps(message)}".encode()


def _bound(seconds: float, memory: int) -> None:
    """Memory for jsonnet itself, and time of all its threads; both hold where the caller has gone."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    # Jsonnet's runtime starts beside us and reserves 1.5 GB of addresses; only what comes after counts.
    _gojsonnet.evaluate_snippet(_ITSELF, "null")
    with suppress(ValueError, OSError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + memory
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _refused(error: str, file: str, read: Sequence[str]) -> Refused:
    """An error of jsonnet with the first place that is in a file that was read."""
    error = error.removeprefix("RUNTIME ERROR: ")
    places = list(_PLACE.finditer(error))
    known = next((one for one in places if one["file"] in read), None)
    said = error.split("\n\t", 1)[0].split("\n\n", 1)[0]
    if known and said.startswith(known[0]):
        said = said.removeprefix(known[0])
    reason = " ".join(said.split())
    # What the caller of a function lacks is missing where we call it.
    ours = not places or places[0]["file"] == _ITSELF
    unknown = _UNKNOWN.search(said)
    incomplete = bool(unknown) and (ours or "external" in said.lower())
    if not known:
        return Refused(reason=reason, file=file, incomplete=incomplete)
    line, column = known["line"] or known["first"], known["column"] or known["at"]
    return Refused(
        reason=reason, file=known["file"], line=int(line), column=int(column), incomplete=incomplete
    )
