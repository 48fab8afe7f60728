"""Where benchmarks leave their results: one section of RESULTS.md each, and JSON for machines."""

from __future__ import annotations

import json
import platform
import re
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Sequence

RESULTS = Path(__file__).parent / "RESULTS.md"
_TITLE = (
    "# Results\n\nEach section is written by the program it names; run it again to replace the section.\n"
)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A markdown table whose columns line up in plain text, too."""
    widths = [max(len(row[at]) for row in (header, *rows)) for at in range(len(header))]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"
        for line in lines
    )


def publish(name: str, text: str, values: object, *, as_json: bool, write: bool) -> None:
    """Print the result as text or JSON; with `write`, replace the section `name` of RESULTS.md."""
    when = datetime.now(tz=timezone.utc).strftime("%Y-%m-%d")
    command = f"python {' '.join((str(Path('bench') / Path(sys.argv[0]).name), *sys.argv[1:]))}"
    if as_json:
        print(json.dumps({"bench": name, "date": when, "machine": _machine(), "values": values}, indent=2))
    else:
        print(text)
    if write:
        section = f"## {name}\n\n{when} · {_machine()} · `{command}`\n\n{text.strip()}\n"
        _replace(name, section)


def _machine() -> str:
    memory = psutil.virtual_memory().total / 2**30
    return f"{psutil.cpu_count()} cores, {memory:.0f} GiB, {_cpu()}, Python {platform.python_version()}"


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    text = info.read_text(encoding="utf-8") if info.exists() else ""
    named = re.search(r"model name\s*:\s*(.+)", text)
    return named[1] if named else platform.machine()


def _replace(name: str, section: str) -> None:
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else _TITLE
    block = f"{start}\n{section}{end}"
    if start in text:
        head, rest = text.split(start, 1)
        text = head + block + rest.split(end, 1)[1]
    else:
        text = f"{text.rstrip()}\n\n{block}\n"
    RESULTS.write_text(text, encoding="utf-8")


def after(seconds: float | None) -> str:
    """How long something took that may never have come."""
    return "never" if seconds is None else f"{seconds:.1f} s"
