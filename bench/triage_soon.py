"""How soon after a planted fault begins triage names it: looks as `serve` makes them of a young incident.

python bench/triage_soon.py [--folder FOLDER] [--json] [--write]

A look compares the time from half a minute before the fault, a minute at least, with the time before that.
The faults are those of `bench/triage_faults.py`, and so is what counts as right. With --folder what was
played is kept, and not played again.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

from planted.scenes import OUTSIDE, SCENES
from planted.world import look, named, played, prometheus
from results import publish, table
from triage_faults import PARTS, right_parts

from tritonobs.extensions.triage.judge import triage

AFTER_SECONDS = (15, 30, 45, 60, 75, 90, 120, 150)
_LEAD_SECONDS, _SHORTEST_SECONDS = 30.0, 60.0
"""As in `tritonobs/extensions/incidents/part.py`."""


def main() -> None:
    """Play every fault, look several times, count what was right."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--folder", type=Path, help="where what was played is kept")
    options.add_argument("--json", action="store_true")
    options.add_argument("--write", action="store_true")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        right, wrong = _looked(chosen.folder or Path(name))
    faults = len(next(iter(right.values())))
    rows = [
        [f"{after} s", *(str(sum(one[part] for one in ones)) for part in PARTS), str(len(wrong[after]))]
        for after, ones in right.items()
    ]
    head = ["after", *(f"{part} right of {faults}" for part in PARTS), "another cause"]
    late = ", ".join(sorted(wrong[60]))
    text = f"{table(head, rows)}\n\nAnother cause after 60 s: {late or 'none'}."
    publish("triage soon", text, {"right": right, "wrong": wrong}, as_json=chosen.json, write=chosen.write)


def _looked(folder: Path) -> tuple[dict[int, list[dict[str, bool]]], dict[int, list[str]]]:
    """What was right at each time, and which faults had another cause then."""
    right: dict[int, list[dict[str, bool]]] = {after: [] for after in AFTER_SECONDS}
    wrong: dict[int, list[str]] = {after: [] for after in AFTER_SECONDS}
    scenes = [scene for scene in (*SCENES, *OUTSIDE) if scene.truth]
    folder.mkdir(parents=True, exist_ok=True)
    known = played(scenes, folder)
    with prometheus(folder) as url:
        for scene in scenes:
            zero = known.began[scene.name]
            for after in AFTER_SECONDS:
                looks = min(float(after), scene.looks)
                seen = replace(scene, looks=looks, since=max(_SHORTEST_SECONDS, looks + _LEAD_SECONDS))
                causes = named(triage(look(url, seen, known.servers[scene.name], zero)))
                parts = right_parts(seen, causes, zero + scene.begins)
                right[after].append(parts)
                if causes and not parts["headline"]:
                    wrong[after].append(scene.name)
    return right, wrong


if __name__ == "__main__":
    main()
