"""What programs hold, seen from outside, at minute 10 and at the end of a soak."""

from __future__ import annotations

import re
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from results import table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

LOOK_SECONDS = 10.0
EARLY_MINUTES = 10.0
"""What is compared with the end; before it things are still made for the first time."""
_AROUND_MINUTES = 3.0
"""A look may fall into a moment of work: the least of so many minutes is what is held at rest."""
MOST_GROWTH = 0.05
_EXPORT_ERROR = re.compile(r"(?i)reset by peer|broken pipe|connection refused|otlp.*(?:error|fail)")
Held = dict[str, float]
"""What a program holds: MiB, open files, threads; MiB of its folder; series of Prometheus."""


@dataclass(slots=True)
class Seen:
    """The looks: by the name of a program, minutes since the begin and what it held then."""

    looks: dict[str, list[tuple[float, Held]]] = field(default_factory=dict)

    def rows(self) -> list[list[str]]:
        """A row for each program and thing that it holds: early, at the end, and the growth."""
        rows = []
        for program, looks in self.looks.items():
            last = looks[-1][0]
            early = [one for at, one in looks if EARLY_MINUTES <= at <= EARLY_MINUTES + _AROUND_MINUTES]
            late = [one for at, one in looks if at >= last - _AROUND_MINUTES]
            for what in dict.fromkeys(name for one in late for name in one):
                parts = [[one[what] for one in part if what in one] for part in (early, late)]
                if all(parts):
                    before, after = map(min, parts)
                    growth = f"{after / before - 1:+.1%}" if before else ""
                    rows.append([program, what, f"{before:,.0f}", f"{after:,.0f}", growth])
        return rows

    def table(self) -> str:
        """The rows as Markdown."""
        return table(("program", "holds", "minute 10", "at the end", "growth"), self.rows())


def held_by(pid: int, folder: Path | None = None) -> Held:
    """What a process and its children hold; the folder is what it writes into."""
    sums = {"MiB": 0.0, "files": 0.0, "threads": 0.0}
    with suppress(psutil.NoSuchProcess):
        whole = psutil.Process(pid)
        for one in (whole, *whole.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                sums["MiB"] += one.memory_info().rss / 2**20
                sums["files"] += one.num_fds()
                sums["threads"] += one.num_threads()
    if folder:
        sums["MiB on disk"] = _size(folder) / 2**20
    return sums


def _size(folder: Path) -> int:
    total = 0
    for file in folder.rglob("*"):
        # What is compacted goes while one looks.
        with suppress(OSError):
            total += file.stat().st_size if file.is_file() else 0
    return total


@contextmanager
def watched(looks: Callable[[], Mapping[str, Held]]) -> Iterator[Seen]:
    """Look every ten seconds while the block runs."""
    seen, ended, began = Seen(), threading.Event(), time.monotonic()

    def watch() -> None:
        while not ended.wait(LOOK_SECONDS):
            at = (time.monotonic() - began) / 60
            for program, held in looks().items():
                seen.looks.setdefault(program, []).append((at, dict(held)))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield seen
    finally:
        ended.set()
        watching.join()


def lines(log: Path) -> int:
    """Lines of a log."""
    return len(log.read_text(encoding="utf-8", errors="replace").splitlines()) if log.exists() else 0


def failed_exports(log: Path) -> int:
    """Lines of Triton's log that tell of spans it could not hand over."""
    text = log.read_text(encoding="utf-8", errors="replace")
    return sum(1 for line in text.splitlines() if _EXPORT_ERROR.search(line))
