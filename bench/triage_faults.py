"""Whether triage tells planted faults as they are, and says nothing of fleets that do well.

python bench/triage_faults.py [--only KIND] [--scene NAME …] [--json] [--write]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from planted.fault import Named, Truth, score
from planted.kept import FOLDER, known, replay
from planted.kept import look as look_again
from planted.plot import outside
from planted.scenes import OUTSIDE, SCENES, Scene, healthy, held_out
from planted.world import look, named, played, prometheus
from results import publish, table

from tritonobs.extensions.triage.judge import triage
from tritonobs.extensions.triage.saved import save_snapshot

HEALTHY_LOOKS = 50
KINDS = ("open", "held-out", "outside, frozen", "outside", "real", "healthy")
PARTS = ("headline", "place", "since", "advice")


def main() -> None:
    """Play every scene, judge each, count what was right."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--only", choices=KINDS)
    options.add_argument("--scene", nargs="*", default=[])
    options.add_argument("--json", action="store_true")
    options.add_argument("--write", action="store_true")
    options.add_argument("--keep", type=Path, help="keep the snapshots in this folder")
    options.add_argument("--real", type=Path, default=FOLDER, help="what was kept of faults on a real stack")
    options.add_argument("--folder", type=Path, help="what was played, to be judged again without playing it")
    chosen = options.parse_args()
    scenes = [
        scene
        for scene in (*SCENES, *OUTSIDE, *map(healthy, range(HEALTHY_LOOKS)))
        if _wanted(scene, chosen.only, chosen.scene)
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = chosen.folder or Path(name)
        rows = [row for kind in KINDS for row in _judged(scenes, kind, folder, chosen.keep)]
        if chosen.only in {None, "real"} and not chosen.scene:
            rows += _real(chosen.real)
    faults = [row for row in rows if row["kind"] != "healthy"]
    quiet = [row for row in rows if row["kind"] == "healthy"]
    for row in rows:
        if not (chosen.only is None and row["kind"] == "held-out") and not all(row["right"].values()):
            print(
                row["kind"],
                row["name"],
                {part: right for part, right in row["right"].items() if not right},
                *row["said"][:3],
                sep="\n    ",
            )
    values: dict[str, object] = {}
    for kind in KINDS[:-1]:
        those = [row for row in faults if row["kind"] == kind]
        for part in PARTS:
            if those:
                values[f"{kind}, {part} right of {len(those)}"] = sum(row["right"][part] for row in those)
        if those:
            values[f"{kind}, all four right of {len(those)}"] = sum(
                all(row["right"].values()) for row in those
            )
    if quiet:
        values[f"verdicts in {len(quiet)} healthy looks"] = sum(
            not all(row["right"].values()) for row in quiet
        )
    publish(
        "triage faults",
        table(("", ""), [(name, str(value)) for name, value in values.items()]),
        values,
        as_json=chosen.json,
        write=chosen.write,
    )


def _wanted(scene: Scene, only: str | None, names: list[str]) -> bool:
    if names:
        return scene.name in names
    return only in {None, _kind(scene)}


def _kind(scene: Scene) -> str:
    if scene in OUTSIDE:
        return "outside, frozen" if scene in outside.SCENES else "outside"
    if scene not in SCENES:
        return "healthy"
    return "held-out" if held_out(scene) else "open"


def _judged(scenes: list[Scene], kind: str, played_in: Path, keep: Path | None) -> list[dict]:
    """The scenes of a kind; each kind is played into a database of its own."""
    rows: list[dict] = []
    scenes = [scene for scene in scenes if _kind(scene) == kind]
    if not scenes:
        return rows
    folder = played_in / kind.replace(", ", "-")
    folder.mkdir(parents=True, exist_ok=True)
    known = played(scenes, folder)
    with prometheus(folder) as url:
        for scene in scenes:
            began = known.began[scene.name]
            snapshot = look(url, scene, known.servers[scene.name], began)
            if keep:
                save_snapshot(snapshot, keep / f"{scene.name}.json")
            causes = named(triage(snapshot))
            rows.append(
                {"kind": _kind(scene), "name": scene.name} | _right(scene, causes, began + scene.begins)
            )
    return rows


def _real(kept: Path) -> list[dict]:
    """The faults on the real stack, judged again."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        replay(kept, folder / "data")
        with prometheus(folder) as url:
            for fault in known(kept):
                causes = named(triage(look_again(url, fault)))
                right = score(fault.truth, causes[0] if causes else None, fault.began)
                said = [_said(cause, fault.began) for cause in causes] or ["nothing"]
                rows.append({"kind": "real", "name": fault.name, "right": right, "said": said})
    return rows


def _right(scene: Scene, causes: tuple[Named, ...], began: float) -> dict:
    """What was right, and what was said."""
    if scene.truth is None:
        right = dict.fromkeys(PARTS, not causes) if scene in (*SCENES, *OUTSIDE) else {"silent": not causes}
    else:
        right = right_parts(scene, causes, began)
    return {"right": right, "said": [_said(cause, began) for cause in causes] or ["nothing"]}


def right_parts(scene: Scene, causes: tuple[Named, ...], began: float) -> dict[str, bool]:
    """What was right about the first cause; a scene with two faults wants the other one next."""
    assert scene.truth is not None
    right = score(scene.truth, causes[0] if causes else None, began)
    if scene.also and not any(_same(scene.also, each, began) for each in causes[1:3]):
        right["headline"] = False
    return right


def _said(cause: Named, began: float) -> str:
    since = "" if cause.since is None else f"{cause.since - began:+.0f} s"
    return f"{cause.check} {cause.place} {since}: {cause.sentence}"


def _same(truth: Truth, cause: Named, began: float) -> bool:
    found = score(truth, cause, began)
    return found["headline"] and found["place"]


if __name__ == "__main__":
    main()
