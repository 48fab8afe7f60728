"""How long `tritonobs lint` takes: a thousand expressions, our own files, boards of a public repository.

python bench/lint_cost.py [--boards FOLDER] [--json] [--write]

The thousand are those of the corpus, each a few times with a remark of its own, so that none is read from the
cache. FOLDER is a checkout of a repository with many boards. The command is timed as a user starts it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psutil
import yaml
from results import publish, table

from support.lint_corpus import FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator

TIMES: Final = 3
EXPRESSIONS: Final = 1000
ROOT: Final = Path(__file__).parent.parent
_READ = re.compile(r"([\d,]+) files?, ([\d,]+) expressions?: (nothing|[\d,]+)")


def main() -> None:
    """Run the command three times on each; the best counts, because a busy machine only adds."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--boards", type=Path, help="a checkout of a repository with many boards")
    options.add_argument("--called", default="", help="what that repository is called")
    options.add_argument("--json", action="store_true")
    options.add_argument("--write", action="store_true")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        many = Path(name) / "many.yml"
        many.write_text(_thousand(), encoding="utf-8")
        measured = {
            "a thousand expressions of the corpus": _run(str(many)),
            "our boards": _run("--grafana", str(ROOT / "dashboards" / "generated")),
            "our files as they are built": _run(str(ROOT / "tests" / "golden")),
        }
    if chosen.boards:
        measured[chosen.called or chosen.boards.name] = _run("--grafana", str(chosen.boards))
    rows = [
        [name, *(f"{one[key]:,}" for key in ("files", "expressions", "findings")), *_spent(one)]
        for name, one in measured.items()
    ]
    header = ["", "files", "expressions", "findings", "wall", "CPU"]
    publish("lint cost", table(header, rows), measured, as_json=chosen.json, write=chosen.write)


def _thousand() -> str:
    expressions = [
        one["expr"].strip()
        for part in ("seen", "unseen", "fresh")
        for one in yaml.safe_load((FOLDER / f"{part}.yaml").read_text(encoding="utf-8"))
        if one["kind"] not in ("hpa", "adapter")
    ]

    def rules() -> Iterator[dict[str, str]]:
        for number in count():
            expression = expressions[number % len(expressions)]
            yield {"alert": f"TritonCase{number}", "expr": f"{expression}\n# {number}"}

    held = {"groups": [{"name": "many", "rules": list(islice(rules(), EXPRESSIONS))}]}
    return yaml.safe_dump(held, allow_unicode=True)


def _run(*words: str) -> dict[str, Any]:
    looks = [_once(*words) for _ in range(TIMES)]
    return min(looks, key=lambda one: one["seconds"])


def _once(*words: str) -> dict[str, Any]:
    before, began = psutil.Process().cpu_times(), time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "tritonobs", "lint", *words], capture_output=True, text=True, check=False
    )
    spent, after = time.monotonic() - began, psutil.Process().cpu_times()
    read = _READ.search(done.stdout + done.stderr)
    if not read:
        raise RuntimeError(done.stdout[-500:] + done.stderr[-500:])
    files, expressions, found = (
        0 if one == "nothing" else int(one.replace(",", "")) for one in read.groups()
    )
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return {
        "files": files,
        "expressions": expressions,
        "findings": found,
        "seconds": round(spent, 2),
        "cpu_seconds": round(cpu, 2),
    }


def _spent(one: dict[str, Any]) -> tuple[str, str]:
    return f"{one['seconds']:.1f} s", f"{one['cpu_seconds']:.1f} s"


if __name__ == "__main__":
    main()
