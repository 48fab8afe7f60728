"""Changes written into files: whole files or none, everything else in them stays as it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tritonobs.extensions.lint.linter import MAX_BYTES, Change, Problem
from tritonobs.files import read_bytes, replace

_MARK: Final = b"\xef\xbb\xbf"


def fix(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Write the certain changes; the problems that they mend.

    Where two overlap, the first is made. Where a file is not as it was read, none is.

    Raises:
        FileUnusable: a file cannot be read or written; those before it are written.
    """
    by_file: dict[str, list[Problem]] = defaultdict(list)
    for one in problems:
        if one.changes:
            by_file[one.finding.place.file].append(one)
    mended: list[Problem] = []
    for file, those in by_file.items():
        path = Path(file)
        data = read_bytes(path, most=MAX_BYTES)
        mark = _MARK if data.startswith(_MARK) else b""
        text = data.decode("utf-8-sig")
        made, done = _changed(text, those)
        if made != text:
            replace(path, mark + made.encode())
        mended += done
    return tuple(mended)


def _changed(text: str, problems: list[Problem]) -> tuple[str, list[Problem]]:
    taken: dict[Change, None] = {}
    done: list[Problem] = []
    for problem in problems:
        fresh = [one for one in problem.changes if one not in taken]
        # Someone has written the file since it was read.
        if any(text[one.start : one.end] != one.was for one in fresh):
            continue
        if any(one.start < other.end and other.start < one.end for one in fresh for other in taken):
            continue
        taken.update(dict.fromkeys(fresh))
        done.append(problem)
    for one in sorted(taken, key=lambda change: change.start, reverse=True):
        text = text[: one.start] + one.text + text[one.end :]
    return text, done
